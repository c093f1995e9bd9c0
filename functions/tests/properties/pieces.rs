//! A text in pieces against the same text in one.

use std::cell::Cell;
use std::collections::HashMap;

use functions::notes::chain::{Chain, Committed};
use functions::notes::operation::{Operation, Rejection, Shape, Text};
use functions::notes::pieces::{PIECE_UNITS_MAX, PIECE_UNITS_TARGET, Piece, Store, apply, check, fill, length};
use functions::notes::units::units;
use proptest::prelude::*;

/// Pieces in memory, counting what is done to them.
#[derive(Debug, Default)]
struct Memory {
    texts: HashMap<u32, String>,
    next: u32,
    read: Cell<usize>,
    added: usize,
    replaced: usize,
}

impl Store for Memory {
    type Key = u32;
    type Error = Rejection;

    fn text(&self, key: &u32) -> Result<String, Rejection> {
        self.read.set(self.read.get() + 1);
        Ok(self.texts[key].clone())
    }

    fn add(&mut self, text: &str) -> Result<u32, Rejection> {
        self.added += 1;
        self.next += 1;
        self.texts.insert(self.next, text.to_owned());
        Ok(self.next)
    }

    fn replace(&mut self, key: &u32, text: &str) -> Result<(), Rejection> {
        self.replaced += 1;
        self.texts.insert(*key, text.to_owned()).expect("what is replaced was there");
        Ok(())
    }

    fn remove(&mut self, key: &u32) -> Result<(), Rejection> {
        self.texts.remove(key).expect("what is removed was there");
        Ok(())
    }
}

/// A document in pieces, as the functions keep it.
#[derive(Debug)]
struct Document {
    store: Memory,
    pieces: Vec<Piece<u32>>,
}

impl Document {
    fn of(text: &str) -> Document {
        let mut store = Memory::default();
        let pieces = fill(&mut store, text).expect("memory refuses nothing");
        Document { store, pieces }
    }

    /// Applies one operation; returns how many texts were read, added and replaced.
    fn apply(&mut self, operation: &Operation) -> Result<[usize; 3], Rejection> {
        self.store.read.set(0);
        (self.store.added, self.store.replaced) = (0, 0);
        apply(&mut self.pieces, &mut self.store, operation)?;
        Ok([self.store.read.get(), self.store.added, self.store.replaced])
    }

    fn content(&self) -> String {
        self.pieces.iter().map(|piece| self.store.texts[&piece.key].as_str()).collect()
    }

    /// The list says what the store holds, and no piece is empty or too long.
    fn assert_sound(&self) {
        assert_eq!(self.pieces.len(), self.store.texts.len());
        for piece in &self.pieces {
            assert_eq!(units(&self.store.texts[&piece.key]), piece.units);
            assert!((1..=PIECE_UNITS_MAX).contains(&piece.units));
        }
    }
}

/// Text of about so many units, with letters of one and of two.
fn text(units: usize) -> String {
    "ab😀cdé".chars().cycle().take(units * 6 / 7).collect()
}

/// An edit at a place near a boundary of the text's pieces, or anywhere.
#[derive(Clone, Copy, Debug)]
struct Edit {
    inserts: bool,
    near_boundary: Option<usize>,
    at: usize,
    length: usize,
}

fn edit() -> impl Strategy<Value = Edit> {
    let length = prop_oneof![6 => 1..40usize, 2 => 1_000..9_000usize, 1 => 9_000..30_000usize];
    (any::<bool>(), prop::option::of(0..9usize), 0..100_000usize, length)
        .prop_map(|(inserts, near_boundary, at, length)| Edit { inserts, near_boundary, at, length })
}

impl Edit {
    fn on(self, document: &Document) -> Operation {
        let total = length(&document.pieces);
        let position = match self.near_boundary {
            Some(boundary) => {
                let before: usize = document.pieces.iter().take(boundary).map(|piece| piece.units).sum();
                (before + self.at % 5).saturating_sub(2)
            }
            None => self.at,
        } % (total + 1);
        if self.inserts {
            Operation::insert(position, text(self.length))
        } else {
            Operation::delete(position, self.length)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn pieces_accept_and_reject_the_same_edits_as_one_text(
        begin in 0..20_000usize, edits in prop::collection::vec(edit(), 1..25)
    ) {
        let begin = text(begin);
        let (mut document, mut whole) = (Document::of(&begin), Text::from(begin.as_str()));

        for edit in edits {
            let operation = edit.on(&document);
            let checked = check(&document.pieces, &document.store, &[operation.shape]);
            let work = document.apply(&operation);
            let expected = whole.apply(&operation);

            prop_assert_eq!(checked, expected);
            prop_assert_eq!(work.map(drop), expected);
            document.assert_sound();
        }
        prop_assert_eq!(document.content(), String::from(&whole));
    }

    #[test]
    fn an_operation_in_two_pieces_is_checked_as_it_is_applied(
        begin in 10..12_000usize, at in 0..12_000usize, long in 1..9_000usize, inside in 0..9_000usize
    ) {
        let begin = text(begin);
        let mut document = Document::of(&begin);
        let total = length(&document.pieces);
        let position = at % total;
        let delete = Operation::delete(position, 1 + long % (total - position));
        let insert = Operation::insert(position + inside % delete.shape.length, "xy");
        prop_assume!(document.apply(&insert).is_ok());
        let chain = Chain::new([Committed { key: 0, shape: insert.shape }]);
        let pieces = chain.walk(delete.shape, total + 2).unwrap().moved.pieces(String::new());

        let shapes: Vec<Shape> = pieces.iter().map(|piece| piece.shape).collect();
        let checked = check(&document.pieces, &document.store, &shapes);
        let applied = pieces.iter().try_for_each(|piece| document.apply(piece).map(drop));

        prop_assert_eq!(checked, applied);
    }
}

#[test]
fn in_a_document_of_a_million_units_an_operation_rewrites_one_or_two_pieces() {
    let mut document = Document::of(&"x".repeat(1_000_000));
    let mut total = 1_000_000;
    let mut number: usize = 12_345;

    for _ in 0..3_000 {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let position = (number >> 20) % (total - 100);
        let operation =
            if number >> 63 == 0 { Operation::insert(position, "typed") } else { Operation::delete(position, 5) };
        let [read, added, replaced] = document.apply(&operation).unwrap();
        total = operation.shape.length_after(total);

        assert!(read <= 3 && added <= 1 && added + replaced <= 2, "{read} {added} {replaced}");
    }
    document.assert_sound();
    assert_eq!(length(&document.pieces), total);
    assert!(document.pieces.len() < 2 * total / PIECE_UNITS_TARGET);
}

#[test]
fn typing_in_one_place_cuts_a_piece_once_in_a_while() {
    let mut document = Document::of("");
    let mut made = 0;

    for place in 0..20_000 {
        let [_, added, replaced] = document.apply(&Operation::insert(place, "x")).unwrap();
        assert!(added + replaced <= 2);
        made += added;
    }
    document.assert_sound();
    assert_eq!(document.pieces.len(), made);
    assert!(made <= 20_000 / PIECE_UNITS_TARGET + 1, "{made}");
}

#[test]
fn a_long_delete_reads_the_two_pieces_at_its_ends_only() {
    let mut document = Document::of(&"x".repeat(500_000));

    let [read, added, replaced] = document.apply(&Operation::delete(1_000, 498_000)).unwrap();

    assert!(read <= 3 && added == 0 && replaced <= 2, "{read} {added} {replaced}");
    document.assert_sound();
    assert_eq!(length(&document.pieces), 2_000);
    assert!(document.pieces.len() <= 2);
}

#[test]
fn deleting_piece_by_piece_leaves_no_trail_of_small_ones() {
    let mut document = Document::of(&"x".repeat(100_000));

    // Nine units of every ten go, from front to back.
    for place in 0..10_000 {
        document.apply(&Operation::delete(place, 9)).unwrap();
    }

    document.assert_sound();
    assert_eq!(length(&document.pieces), 10_000);
    assert!(document.pieces.len() <= 8, "{}", document.pieces.len());
}
