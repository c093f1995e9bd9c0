//! Random edits that fit whatever text they meet, and letters of which no two are alike.

use functions::notes::operation::{Kind, Operation, Shape, Text};
use functions::notes::transform::cross;
use proptest::prelude::*;

/// An edit before it is known what it edits: numbers that are folded into the bounds of a text later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft {
    kind: Kind,
    at: usize,
    length: usize,
}

/// Inserts and deletes in equal parts, and now and then a retain.
pub(super) fn draft() -> impl Strategy<Value = Draft> {
    let kind = prop_oneof![5 => Just(Kind::Insert), 5 => Just(Kind::Delete), 1 => Just(Kind::Retain)];
    (kind, 0..1_000usize, 0..1_000usize).prop_map(|(kind, at, length)| Draft { kind, at, length })
}

pub(super) fn drafts(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Draft>> {
    prop::collection::vec(draft(), count)
}

impl Draft {
    /// The edit on a text of `length` units. Nothing can be deleted from an empty text, so it inserts there.
    pub(super) fn on(self, length: usize, letters: &mut Letters) -> Operation {
        match self.kind {
            Kind::Delete if length > 0 => {
                let position = self.at % length;
                Operation::delete(position, 1 + self.length % (length - position).min(6))
            }
            Kind::Insert | Kind::Delete => Operation::insert(self.at % (length + 1), letters.take(1 + self.length % 4)),
            Kind::Retain => Operation::retain(self.at % (length + 1), self.length % 3),
        }
    }

    /// The edit on a text, applied to it.
    pub(super) fn apply(self, text: &mut Text, letters: &mut Letters) -> Operation {
        let operation = self.on(text.len(), letters);
        text.apply(&operation).expect("a draft fits its text");
        operation
    }
}

/// Hands out letters of one unit each, none twice, so that a text says which insertions are in it.
#[derive(Debug, Default)]
pub(super) struct Letters {
    count: u32,
}

const FIRST_LETTER: u32 = 0x3400;

impl Letters {
    pub(super) fn take(&mut self, count: usize) -> String {
        let from = self.count;
        self.count += u32::try_from(count).expect("a few letters");
        (from..self.count).map(letter).collect()
    }

    /// All letters handed out so far.
    pub(super) fn given(&self) -> impl Iterator<Item = char> {
        (0..self.count).map(letter)
    }
}

fn letter(number: u32) -> char {
    char::from_u32(FIRST_LETTER + number).expect("there are 42,000 letters up to the surrogates")
}

/// Carries operations made one after the other, with their texts, past one committed operation.
pub(super) fn carry(ours: &mut Vec<Operation>, theirs: Shape) -> Vec<Shape> {
    let mut theirs = vec![theirs];
    let mut moved = Vec::new();
    for our in ours.drain(..) {
        let mut pieces = vec![our.shape];
        let mut onward = Vec::new();
        for their in theirs {
            let (past, after) = cross(&pieces, their);
            pieces = past;
            onward.extend(after);
        }
        theirs = onward;
        moved.extend(pieces.into_iter().map(|shape| Operation { shape, content: our.content.clone() }));
    }
    *ours = moved;
    theirs
}

/// The letters that an operation takes away from a text.
pub(super) fn taken(text: &Text, shape: Shape) -> Vec<char> {
    let letters: Vec<char> = String::from(text).chars().collect();
    match shape.kind {
        Kind::Delete => letters[shape.position..shape.end()].to_vec(),
        Kind::Insert | Kind::Retain => Vec::new(),
    }
}
