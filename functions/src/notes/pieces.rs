//! A long text in pieces, of which an operation rewrites one or two.
//!
//! The document has the keys and lengths of its pieces in order. Their texts are in a store, one row per piece. This
//! module decides which pieces an operation changes, how a piece is split, and when two are merged.

use std::ops::Range;

use super::operation::{Kind, Operation, Rejection, Shape};
use super::units::{byte_at, cut, units};

/// Approximate length of a new piece: short enough to rewrite it at every key stroke, long enough that a document of
/// 1,000,000 units has a few hundred.
pub const PIECE_UNITS_TARGET: usize = 4_096;
/// Length above which a piece is split: twice the target, so that typing at one position splits once per 4,096 units.
pub const PIECE_UNITS_MAX: usize = 8_192;
/// Length below which a shortened piece is merged with a neighbour, if both together are within the target. Much less
/// than the target, so that merging and splitting do not alternate.
pub const PIECE_UNITS_MIN: usize = 1_024;

/// A piece in the document's list: its key in the store, and the length of its text in UTF-16 units (at least one).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece<K> {
    pub key: K,
    pub units: usize,
}

/// The storage of the texts of pieces.
pub trait Store {
    type Key: Clone;
    type Error: From<Rejection>;

    fn text(&self, key: &Self::Key) -> Result<String, Self::Error>;
    fn add(&mut self, text: &str) -> Result<Self::Key, Self::Error>;
    fn replace(&mut self, key: &Self::Key, text: &str) -> Result<(), Self::Error>;
    fn remove(&mut self, key: &Self::Key) -> Result<(), Self::Error>;
}

/// Returns the length of the document in units.
pub fn length<K>(pieces: &[Piece<K>]) -> usize {
    pieces.iter().map(|piece| piece.units).sum()
}

/// Checks that operations can be applied one after the other: their ranges, and that no edge is inside a surrogate
/// pair.
///
/// They are the pieces of one operation: a single shape, or deletes at ascending positions. Reads only the texts at the
/// edges and writes nothing, so that an operation in two pieces is applied completely or not at all.
///
/// # Errors
/// [`Rejection`], or errors of the store.
pub fn check<S: Store>(pieces: &[Piece<S::Key>], store: &S, shapes: &[Shape]) -> Result<(), S::Error> {
    let total = length(pieces);
    let mut deleted = 0;
    for shape in shapes {
        // All earlier deletes are before this one, so their lengths are added to find its position in the current text.
        let today = Shape { position: shape.position.saturating_add(deleted), ..*shape };
        today.check_range(total)?;
        match shape.kind {
            Kind::Insert => check_edge(pieces, store, today.position, "position")?,
            Kind::Delete => {
                check_edge(pieces, store, today.position, "position")?;
                check_edge(pieces, store, today.end(), "length")?;
                deleted += shape.length;
            }
            Kind::Retain => check_edge(pieces, store, today.position, "position")?,
        }
    }
    Ok(())
}

/// Checks that a retain does not end inside a surrogate pair of the document on which it was made. Its length is not
/// transformed, so it means nothing in a later document, and neither does a length behind the end.
///
/// # Errors
/// [`Rejection`], or errors of the store.
pub fn check_retained<S: Store>(pieces: &[Piece<S::Key>], store: &S, shape: Shape) -> Result<(), S::Error> {
    match shape.kind {
        Kind::Retain => check_edge(pieces, store, shape.end(), "length"),
        Kind::Insert | Kind::Delete => Ok(()),
    }
}

/// Applies one operation to the list and to the store.
///
/// Rewrites the one or two pieces at its edges. Pieces inside a deleted range are removed unread, and text longer than
/// a piece makes new ones.
///
/// # Errors
/// [`Rejection`]: its range is not in the document or cuts a surrogate pair; list and store do not change. Errors of
/// the store: the transaction must be rolled back.
pub fn apply<S: Store>(pieces: &mut Vec<Piece<S::Key>>, store: &mut S, operation: &Operation) -> Result<(), S::Error> {
    let shape = operation.shape;
    shape.check_range(length(pieces))?;
    match shape.kind {
        Kind::Insert => insert(pieces, store, shape.position, &operation.content),
        Kind::Delete if shape.length > 0 => delete(pieces, store, shape),
        Kind::Delete | Kind::Retain => Ok(()),
    }
}

/// Creates the pieces of a whole text, for an empty document.
///
/// # Errors
/// Errors of the store.
pub fn fill<S: Store>(store: &mut S, text: &str) -> Result<Vec<Piece<S::Key>>, S::Error> {
    cut(text, PIECE_UNITS_TARGET, PIECE_UNITS_MAX)
        .into_iter()
        .map(|part| Ok(Piece { key: store.add(part)?, units: units(part) }))
        .collect()
}

/// A position in the list: the index of a piece, and the number of its units before the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PiecePosition {
    index: usize,
    offset: usize,
}

/// Returns the place of `position`. Between two pieces it is the end of the first one, so that typing continues there.
fn place_behind<K>(pieces: &[Piece<K>], position: usize) -> PiecePosition {
    let mut before = 0;
    for (index, piece) in pieces.iter().enumerate() {
        if position <= before + piece.units {
            return PiecePosition { index, offset: position - before };
        }
        before += piece.units;
    }
    PiecePosition { index: pieces.len(), offset: 0 }
}

/// Returns the place of `position`. Between two pieces it is the beginning of the second one.
fn place_before<K>(pieces: &[Piece<K>], position: usize) -> PiecePosition {
    let mut before = 0;
    for (index, piece) in pieces.iter().enumerate() {
        if position < before + piece.units {
            return PiecePosition { index, offset: position - before };
        }
        before += piece.units;
    }
    PiecePosition { index: pieces.len(), offset: 0 }
}

/// A piece contains whole characters, so only a position inside one can cut a pair.
fn check_edge<S: Store>(
    pieces: &[Piece<S::Key>],
    store: &S,
    position: usize,
    field: &'static str,
) -> Result<(), S::Error> {
    let place = place_behind(pieces, position);
    let Some(piece) = pieces.get(place.index) else {
        return Ok(());
    };
    if place.offset == 0 || place.offset == piece.units {
        return Ok(());
    }
    byte_of(&store.text(&piece.key)?, place.offset, field)?;
    Ok(())
}

fn byte_of(text: &str, offset: usize, field: &'static str) -> Result<usize, Rejection> {
    byte_at(text, offset).ok_or(Rejection::SplitsPair { field })
}

fn insert<S: Store>(
    pieces: &mut Vec<Piece<S::Key>>,
    store: &mut S,
    position: usize,
    content: &str,
) -> Result<(), S::Error> {
    let place = roomy(pieces, place_behind(pieces, position), units(content));
    let Some(piece) = pieces.get(place.index) else {
        pieces.extend(fill(store, content)?);
        return Ok(());
    };
    let mut text = store.text(&piece.key)?;
    let byte = byte_of(&text, place.offset, "position")?;
    text.insert_str(byte, content);
    put(pieces, store, place.index..place.index + 1, &text)
}

/// Between two pieces, returns the second one if the text would make the first one too long and not the second one.
fn roomy<K>(pieces: &[Piece<K>], place: PiecePosition, added: usize) -> PiecePosition {
    let fits = |index: usize| pieces.get(index).is_some_and(|piece: &Piece<K>| piece.units + added <= PIECE_UNITS_MAX);
    let at_end = pieces.get(place.index).is_some_and(|piece| piece.units == place.offset);
    if at_end && !fits(place.index) && fits(place.index + 1) {
        return PiecePosition { index: place.index + 1, offset: 0 };
    }
    place
}

fn delete<S: Store>(pieces: &mut Vec<Piece<S::Key>>, store: &mut S, shape: Shape) -> Result<(), S::Error> {
    let first = place_before(pieces, shape.position);
    let last = place_behind(pieces, shape.end());
    let left = part(pieces, store, first, "position", Part::Before)?;
    let right = part(pieces, store, last, "length", Part::After)?;
    let touched = first.index..last.index + 1;
    let both = units(&left) + units(&right);
    // The rests of two pieces stay separate, unless they are short enough for one.
    if first.index != last.index && !left.is_empty() && !right.is_empty() && both > PIECE_UNITS_TARGET {
        put(pieces, store, last.index..last.index + 1, &right)?;
        return put(pieces, store, first.index..last.index, &left);
    }
    let (touched, text) = with_neighbour(pieces, store, touched, left + &right)?;
    put(pieces, store, touched, &text)
}

enum Part {
    Before,
    After,
}

/// Returns the text of a piece before or after a position; does not read the piece if nothing of it is needed.
fn part<S: Store>(
    pieces: &[Piece<S::Key>],
    store: &S,
    place: PiecePosition,
    field: &'static str,
    side: Part,
) -> Result<String, S::Error> {
    let piece = &pieces[place.index];
    let nothing = match side {
        Part::Before => place.offset == 0,
        Part::After => place.offset == piece.units,
    };
    if nothing {
        return Ok(String::new());
    }
    let mut text = store.text(&piece.key)?;
    let byte = byte_of(&text, place.offset, field)?;
    match side {
        Part::Before => text.truncate(byte),
        Part::After => drop(text.drain(..byte)),
    }
    Ok(text)
}

/// Merges a short rest with an adjacent piece if they fit into one; otherwise returns the rest alone.
fn with_neighbour<S: Store>(
    pieces: &[Piece<S::Key>],
    store: &S,
    touched: Range<usize>,
    rest: String,
) -> Result<(Range<usize>, String), S::Error> {
    let rest_units = units(&rest);
    let fits = |index: usize| pieces.get(index).is_some_and(|piece| piece.units + rest_units <= PIECE_UNITS_TARGET);
    if rest_units == 0 || rest_units >= PIECE_UNITS_MIN {
        return Ok((touched, rest));
    }
    if let Some(before) = touched.start.checked_sub(1).filter(|&index| fits(index)) {
        let text = store.text(&pieces[before].key)? + &rest;
        return Ok((before..touched.end, text));
    }
    if fits(touched.end) {
        let text = rest + &store.text(&pieces[touched.end].key)?;
        return Ok((touched.start..touched.end + 1, text));
    }
    Ok((touched, rest))
}

/// Replaces the touched pieces by `text`: reuses their keys and removes the others.
fn put<S: Store>(
    pieces: &mut Vec<Piece<S::Key>>,
    store: &mut S,
    touched: Range<usize>,
    text: &str,
) -> Result<(), S::Error> {
    let mut keys = pieces[touched.clone()].iter().map(|piece| piece.key.clone());
    let mut made = Vec::new();
    for part in cut(text, PIECE_UNITS_TARGET, PIECE_UNITS_MAX) {
        let key = match keys.next() {
            Some(key) => {
                store.replace(&key, part)?;
                key
            }
            None => store.add(part)?,
        };
        made.push(Piece { key, units: units(part) });
    }
    for key in keys {
        store.remove(&key)?;
    }
    pieces.splice(touched, made);
    Ok(())
}
