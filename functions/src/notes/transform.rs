//! The transformation of an operation past another one that the server ordered before it.
//!
//! The server defines one total order per document, and a client has at most one operation in flight (as in Jupiter and
//! Google Wave). So one property is sufficient, TP1: `apply(apply(d, a), T(b, a)) = apply(apply(d, b), T(a, b))`.
//! `chain` transforms sequences of operations.

use super::operation::{Kind, Shape};

/// The role of an operation. It only decides the order of two insertions at the same position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Not in the log yet: its text goes to the right of text inserted at the same position.
    Incoming,
    /// In the log: its text stays on the left.
    Committed,
}

/// The result for one operation: the moved operation, or, for a delete with an insertion inside its range, two deletes.
///
/// They are applied one after the other; the second's position is that after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    pub first: Shape,
    pub second: Option<Shape>,
}

impl Pieces {
    fn one(shape: Shape) -> Pieces {
        Pieces { first: shape, second: None }
    }

    pub fn iter(&self) -> impl Iterator<Item = Shape> {
        std::iter::once(self.first).chain(self.second)
    }
}

/// Transforms `a` past `b`, where both were made on the same document and `a` has the role `side`.
///
/// Text is deleted once. An insertion inside a deleted range, or at its edge, survives. A delete whose text is
/// completely gone becomes a retain of 0 at its position.
pub fn transform(a: Shape, b: Shape, side: Side) -> Pieces {
    match b.kind {
        Kind::Insert => past_insert(a, b, side),
        Kind::Delete => Pieces::one(past_delete(a, b)),
        Kind::Retain => Pieces::one(a),
    }
}

/// Transforms two sequences made on the same document past each other: `(ours past theirs, theirs past ours)`.
///
/// `ours` are incoming operations (the pieces of one, or a chain), `theirs` is one committed operation.
pub fn cross(ours: &[Shape], theirs: Shape) -> (Vec<Shape>, Vec<Shape>) {
    if let [only] = ours {
        let moved = transform(*only, theirs, Side::Incoming);
        let carried = transform(theirs, *only, Side::Committed);
        return (moved.iter().collect(), carried.iter().collect());
    }
    let mut moved = Vec::with_capacity(ours.len());
    let mut carried = vec![theirs];
    for &our in ours {
        let mut pieces = vec![our];
        let mut onward = Vec::with_capacity(carried.len());
        for their in carried {
            let (past, after) = cross(&pieces, their);
            pieces = past;
            onward.extend(after);
        }
        moved.append(&mut pieces);
        carried = onward;
    }
    (moved, carried)
}

fn past_insert(a: Shape, b: Shape, side: Side) -> Pieces {
    let before = match (a.kind, side) {
        (Kind::Insert, Side::Committed) => b.position < a.position,
        (Kind::Insert, Side::Incoming) | (Kind::Delete | Kind::Retain, _) => b.position <= a.position,
    };
    if before {
        return Pieces::one(Shape { position: a.position + b.length, ..a });
    }
    match a.kind {
        Kind::Delete if b.position < a.end() => Pieces {
            first: Shape::delete(a.position, b.position - a.position),
            second: Some(Shape::delete(a.position + b.length, a.end() - b.position)),
        },
        Kind::Insert | Kind::Delete | Kind::Retain => Pieces::one(a),
    }
}

fn past_delete(a: Shape, b: Shape) -> Shape {
    let position = if a.position <= b.position {
        a.position
    } else if a.position >= b.end() {
        a.position - b.length
    } else {
        b.position
    };
    match a.kind {
        Kind::Insert | Kind::Retain => Shape { position, ..a },
        Kind::Delete => {
            let overlap = a.end().min(b.end()).saturating_sub(a.position.max(b.position));
            match a.length - overlap {
                0 => Shape::retain(position, 0),
                length => Shape::delete(position, length),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::operation::{Operation, Text};
    use super::*;

    /// Returns the text after `first` and then `second`, transformed past it.
    fn both(text: &str, first: &Operation, second: &Operation) -> String {
        let mut text = Text::from(text);
        text.apply(first).unwrap();
        for shape in transform(second.shape, first.shape, Side::Incoming).iter() {
            text.apply(&Operation { shape, content: second.content.clone() }).unwrap();
        }
        String::from(&text)
    }

    #[test]
    fn an_insertion_inside_a_deleted_range_survives_in_whichever_order_they_arrive() {
        let insert = Operation::insert(4, "XY");
        let delete = Operation::delete(2, 5);

        assert_eq!(both("abcdefghij", &insert, &delete), "abXYhij");
        assert_eq!(both("abcdefghij", &delete, &insert), "abXYhij");
    }

    #[test]
    fn text_deleted_by_two_is_deleted_once() {
        let long = Operation::delete(2, 5);
        let short = Operation::delete(2, 3);

        assert_eq!(both("abcdefghij", &long, &short), "abhij");
        assert_eq!(both("abcdefghij", &short, &long), "abhij");
    }

    #[test]
    fn of_two_insertions_at_one_place_the_committed_one_stays_left() {
        assert_eq!(both("ab", &Operation::insert(1, "1"), &Operation::insert(1, "2")), "a12b");
        assert_eq!(transform(Shape::insert(1, 1), Shape::insert(1, 1), Side::Committed).first.position, 1);
    }

    #[test]
    fn an_insertion_at_either_edge_of_a_deleted_range_survives() {
        let delete = Operation::delete(1, 2);

        assert_eq!(both("abcd", &Operation::insert(1, "X"), &delete), "aXd");
        assert_eq!(both("abcd", &Operation::insert(3, "X"), &delete), "aXd");
        assert_eq!(both("abcd", &delete, &Operation::insert(1, "X")), "aXd");
        assert_eq!(both("abcd", &delete, &Operation::insert(3, "X")), "aXd");
    }

    #[test]
    fn delete_of_removed_text_becomes_an_empty_retain() {
        let gone = transform(Shape::delete(3, 2), Shape::delete(1, 6), Side::Incoming);

        assert_eq!(gone, Pieces::one(Shape::retain(1, 0)));
    }

    #[test]
    fn the_second_piece_of_a_split_counts_from_after_the_first() {
        let split = transform(Shape::delete(2, 5), Shape::insert(4, 2), Side::Incoming);

        assert_eq!(split.iter().collect::<Vec<_>>(), [Shape::delete(2, 2), Shape::delete(4, 3)]);
    }

    #[test]
    fn a_retain_moves_and_keeps_its_length() {
        let retain = Shape::retain(4, 3);

        assert_eq!(transform(retain, Shape::insert(4, 2), Side::Incoming).first, Shape::retain(6, 3));
        assert_eq!(transform(retain, Shape::delete(2, 9), Side::Incoming).first, Shape::retain(2, 3));
        assert_eq!(transform(Shape::delete(2, 9), retain, Side::Incoming).first, Shape::delete(2, 9));
    }
}
