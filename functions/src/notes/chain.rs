//! Transforms a client's chain of operations past operations that others committed in the meantime.
//!
//! The operations of a chain were made one after the other, so they are never transformed against each other. Each is
//! transformed past the committed operations *as they are after the operations before it*. These carried-over committed
//! operations are the bridge. It leads from the document that the chain has made so far to the current document, and a
//! later drain of the same chain needs nothing else. This module only transforms; callers decide rights, storage and
//! responses.

use super::operation::{Kind, Operation, Rejection, Shape};
use super::transform::{Side, cross, transform};

/// A committed operation: its key (an id, a sequence number) and its shape.
///
/// Passing it does not need its text. A delete carried past an insertion becomes two entries with one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed<K> {
    pub key: K,
    pub shape: Shape,
}

/// A chain on its way: the committed operations that its next operation must pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain<K> {
    bridge: Vec<Committed<K>>,
}

/// An operation on its way past committed ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved<K> {
    /// Its parts in order, including empty ones: at least one, and more than one only for a delete that was split.
    parts: Vec<Shape>,
    /// The committed operations that changed it, in order, without duplicates.
    pub changed_by: Vec<K>,
}

/// An operation of a chain after all operations that it had to pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked<K> {
    /// The transformed operation.
    pub moved: Moved<K>,
    /// The bridge after it, for [`Chain::accept`].
    bridge: Vec<Committed<K>>,
}

impl<K> Moved<K> {
    /// Creates an operation that has passed nothing yet.
    pub fn new(shape: Shape) -> Moved<K> {
        Moved { parts: vec![shape], changed_by: Vec::new() }
    }

    /// Returns the operations to apply and log, in order; never empty. The text belongs to the first one: only deletes
    /// are ever split.
    pub fn pieces(&self, content: String) -> Vec<Operation> {
        with_content(joined(&self.parts), content)
    }

    /// Returns the length after it of a document of `length` units.
    pub fn length_after(&self, length: usize) -> usize {
        self.parts.iter().fold(length, |length, part| part.length_after(length))
    }
}

impl<K: Clone + PartialEq> Chain<K> {
    /// Creates a chain on a base; `since` are the operations committed after it, in order.
    pub fn new(since: impl IntoIterator<Item = Committed<K>>) -> Chain<K> {
        let mut chain = Chain { bridge: Vec::new() };
        chain.extend(since);
        chain
    }

    /// Adds operations that others committed after the bridge was stored, in order.
    pub fn extend(&mut self, since: impl IntoIterator<Item = Committed<K>>) {
        self.bridge.extend(since.into_iter().filter(|committed| !committed.shape.is_idle()));
    }

    /// Returns the bridge for a later drain: pass it to [`Chain::new`], then [`Chain::extend`] with newer operations.
    pub fn bridge(&self) -> &[Committed<K>] {
        &self.bridge
    }

    /// Returns the length of the document that the chain has made so far, if the current document has `today` units.
    ///
    /// For a chain without operations it is the length at its base.
    pub fn length(&self, today: usize) -> usize {
        let (mut added, mut taken) = (0, 0);
        for committed in &self.bridge {
            match committed.shape.kind {
                Kind::Insert => added += committed.shape.length,
                Kind::Delete => taken += committed.shape.length,
                Kind::Retain => {}
            }
        }
        (today + taken).saturating_sub(added)
    }

    /// Transforms the next operation of the chain past the bridge, if the current document has `today` units.
    ///
    /// The chain does not move until the result is accepted. An operation that is rejected, here or because of the
    /// document (a surrogate pair, its size), counts for later ones as a retain of 0.
    ///
    /// # Errors
    /// [`Rejection`]: its range is not in the document that the chain has made so far.
    pub fn walk(&self, shape: Shape, today: usize) -> Result<Walked<K>, Rejection> {
        shape.check_range(self.length(today))?;
        Ok(self.carry(Moved::new(shape)))
    }

    /// Like [`Chain::walk`], for an operation whose range was checked at its origin and that has passed everything
    /// before this bridge.
    pub fn carry(&self, mut moved: Moved<K>) -> Walked<K> {
        let mut bridge = Vec::with_capacity(self.bridge.len() + 1);
        for committed in &self.bridge {
            // The parts of one committed operation are adjacent in the bridge, so comparing with the last key is
            // sufficient.
            if pass(&mut moved.parts, committed, &mut bridge) && moved.changed_by.last() != Some(&committed.key) {
                moved.changed_by.push(committed.key.clone());
            }
        }
        Walked { moved, bridge }
    }

    /// Moves the chain behind an operation that was applied.
    pub fn accept(&mut self, walked: Walked<K>) {
        self.bridge = walked.bridge;
    }
}

/// Transforms the parts of an operation and one committed operation past each other. Returns true if the parts changed.
fn pass<K: Clone>(pieces: &mut Vec<Shape>, committed: &Committed<K>, bridge: &mut Vec<Committed<K>>) -> bool {
    let onward = |shape: Shape| Committed { key: committed.key.clone(), shape };
    if let [only] = pieces[..] {
        // The common case, which occurs thousands of times for an old chain: nothing is allocated.
        let moved = transform(only, committed.shape, Side::Incoming);
        let carried = transform(committed.shape, only, Side::Committed);
        bridge.extend(carried.iter().filter(|shape| !shape.is_idle()).map(onward));
        pieces[0] = moved.first;
        pieces.extend(moved.second);
        return pieces[..] != [only];
    }
    let (moved, carried) = cross(pieces, committed.shape);
    bridge.extend(carried.into_iter().filter(|shape| !shape.is_idle()).map(onward));
    let changed = moved != *pieces;
    *pieces = moved;
    changed
}

/// Returns the pieces without empty ones, with adjacent ones merged. At least one is left.
fn joined(pieces: &[Shape]) -> Vec<Shape> {
    let mut kept: Vec<Shape> = Vec::with_capacity(pieces.len());
    for &piece in pieces.iter().filter(|piece| !piece.is_idle()) {
        match kept.last_mut() {
            // A delete at the end of the one before it deletes the text behind it.
            Some(last) if last.kind == Kind::Delete && last.position == piece.position => last.length += piece.length,
            Some(_) | None => kept.push(piece),
        }
    }
    if kept.is_empty() {
        kept.extend(pieces.first());
    }
    kept
}

/// Adds the text to its operation. Only deletes are ever split, so it has one owner.
fn with_content(shapes: Vec<Shape>, content: String) -> Vec<Operation> {
    let mut content = Some(content);
    shapes.into_iter().map(|shape| Operation { shape, content: content.take().unwrap_or_default() }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::operation::Text;
    use super::*;

    fn log(operations: &[Operation]) -> Vec<Committed<usize>> {
        operations.iter().enumerate().map(|(key, operation)| Committed { key, shape: operation.shape }).collect()
    }

    fn drain(
        chain: &mut Chain<usize>,
        text: &mut Text,
        operations: &[Operation],
    ) -> Vec<Result<Vec<usize>, Rejection>> {
        operations
            .iter()
            .map(|operation| {
                let walked = chain.walk(operation.shape, text.len())?;
                for piece in &walked.moved.pieces(operation.content.clone()) {
                    text.apply(piece)?;
                }
                let changed_by = walked.moved.changed_by.clone();
                chain.accept(walked);
                Ok(changed_by)
            })
            .collect()
    }

    #[test]
    fn siblings_are_not_transformed_against_each_other() {
        // "hello" became "abc hello" in the meantime; the client typed "X", then "Y" behind it.
        let mut text = Text::from("abc hello");
        let mut chain = Chain::new(log(&[Operation::insert(0, "abc ")]));

        let outcomes = drain(&mut chain, &mut text, &[Operation::insert(5, "X"), Operation::insert(6, "Y")]);

        assert_eq!(String::from(&text), "abc helloXY");
        assert_eq!(outcomes, [Ok(vec![0]), Ok(vec![0])]);
    }

    #[test]
    fn an_invalid_operation_fails_alone_and_the_next_is_walked_as_if_it_had_been_nothing() {
        let mut text = Text::from("_abc");
        let mut chain = Chain::new(log(&[Operation::insert(0, "_")]));

        let outcomes = drain(
            &mut chain,
            &mut text,
            &[Operation::insert(3, "d"), Operation::delete(4, 1), Operation::insert(4, "e")],
        );

        assert_eq!(outcomes[1], Err(Rejection::DeleteLength));
        assert_eq!(String::from(&text), "_abcde");
    }

    #[test]
    fn split_delete_has_two_pieces_until_the_inserted_text_is_deleted() {
        let chain = Chain::new(log(&[Operation::insert(4, "XY")]));
        let split = chain.walk(Shape::delete(2, 5), 12).unwrap().moved;

        assert_eq!(split.pieces(String::new()), [Operation::delete(2, 2), Operation::delete(4, 3)]);

        let chain = Chain::new(log(&[Operation::insert(4, "XY"), Operation::delete(4, 2)]));
        let whole = chain.walk(Shape::delete(2, 5), 10).unwrap().moved;

        assert_eq!(whole.pieces(String::new()), [Operation::delete(2, 5)]);
        assert_eq!(whole.changed_by, [0, 1]);
    }

    #[test]
    fn delete_of_removed_text_becomes_one_empty_retain() {
        let chain = Chain::new(log(&[Operation::insert(4, "XY"), Operation::delete(1, 9)]));

        let walked = chain.walk(Shape::delete(2, 5), 3).unwrap().moved;

        assert_eq!(walked.pieces(String::new()), [Operation::retain(1, 0)]);
    }

    #[test]
    fn the_bridge_leads_from_the_chains_document_to_todays() {
        let chain = Chain::new(log(&[Operation::insert(0, "ab"), Operation::delete(5, 1), Operation::retain(0, 0)]));

        assert_eq!(chain.bridge().len(), 2);
        assert_eq!(chain.length(11), 10);
    }
}
