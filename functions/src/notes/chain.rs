//! A client's chain of operations, walked past what others committed meanwhile.
//!
//! Operations of one chain were made one after the other, so they are never transformed against each other: each goes
//! past the committed ones *as they are after the operations before it*. Those carried-over committed operations are the
//! bridge. It leads from the document the chain has made so far to today's document, and is all that a later drain of
//! the same chain has to know. Owns the walk; who may write, what is stored and what is answered is left to others.

use super::operation::{Kind, Operation, Rejection, Shape};
use super::transform::{Side, cross, transform};

/// A committed operation: the key by which its reader knows it (an id, a sequence), and its shape.
///
/// Its text is not needed to pass it. A delete carried past an insertion becomes two entries of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed<K> {
    pub key: K,
    pub shape: Shape,
}

/// A chain in the middle of its way: what the next operation of it still has to pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain<K> {
    bridge: Vec<Committed<K>>,
}

/// An operation on its way past committed ones: what has become of it so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved<K> {
    /// Its parts, one after the other, also those of which nothing is left: never none, and more than one only of a delete
    /// that was split.
    parts: Vec<Shape>,
    /// The committed operations that changed it, in their order, none twice.
    pub changed_by: Vec<K>,
}

/// One operation of a chain behind all that it had to pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked<K> {
    /// What has become of it.
    pub moved: Moved<K>,
    /// The bridge behind it, for [`Chain::accept`].
    bridge: Vec<Committed<K>>,
}

impl<K> Moved<K> {
    /// An operation that has passed nothing yet.
    pub fn new(shape: Shape) -> Moved<K> {
        Moved { parts: vec![shape], changed_by: Vec::new() }
    }

    /// What to apply and log, one after the other; never empty. The text belongs to the first piece: only deletes are
    /// ever split.
    pub fn pieces(&self, content: String) -> Vec<Operation> {
        with_content(joined(&self.parts), content)
    }

    /// The length of a document of `length` units after it.
    pub fn length_after(&self, length: usize) -> usize {
        self.parts.iter().fold(length, |length, part| part.length_after(length))
    }
}

impl<K: Clone + PartialEq> Chain<K> {
    /// A chain on a base: `since` is what was committed after that base, in order.
    pub fn new(since: impl IntoIterator<Item = Committed<K>>) -> Chain<K> {
        let mut chain = Chain { bridge: Vec::new() };
        chain.extend(since);
        chain
    }

    /// Adds what was committed by others after the bridge was stored, in order.
    pub fn extend(&mut self, since: impl IntoIterator<Item = Committed<K>>) {
        self.bridge.extend(since.into_iter().filter(|committed| !committed.shape.is_idle()));
    }

    /// What a later drain continues with: hand it to [`Chain::new`], then [`Chain::extend`] with what came since.
    pub fn bridge(&self) -> &[Committed<K>] {
        &self.bridge
    }

    /// The length of the document that the chain has made so far, where today's document has `today` units.
    ///
    /// For a chain without any operation yet it is the length at its base: today's length less what came since.
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

    /// The next operation of the chain, past the bridge, where today's document has `today` units.
    ///
    /// The chain stays where it is until the result is accepted. So an operation that is refused, here or for what
    /// the document says (a surrogate pair, its size), counts for the ones after it as a retain of 0.
    ///
    /// # Errors
    /// [`Rejection`] if its range is not in the document that the chain has made so far.
    pub fn walk(&self, shape: Shape, today: usize) -> Result<Walked<K>, Rejection> {
        shape.check_range(self.length(today))?;
        Ok(self.carry(Moved::new(shape)))
    }

    /// As [`Chain::walk`], of an operation whose range was checked where it was made, and that has passed all that came
    /// before this bridge.
    pub fn carry(&self, mut moved: Moved<K>) -> Walked<K> {
        let mut bridge = Vec::with_capacity(self.bridge.len() + 1);
        for committed in &self.bridge {
            // The parts of one committed operation lie side by side in the bridge, so the last key is the one to ask.
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

/// Carries the parts of an operation and one committed operation past each other; true if that changed the parts.
fn pass<K: Clone>(pieces: &mut Vec<Shape>, committed: &Committed<K>, bridge: &mut Vec<Committed<K>>) -> bool {
    let onward = |shape: Shape| Committed { key: committed.key.clone(), shape };
    if let [only] = pieces[..] {
        // The common case, thousands of times for a chain that was long away: nothing is allocated.
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

/// The pieces without those that have become empty, neighbours in one. At least one is left.
fn joined(pieces: &[Shape]) -> Vec<Shape> {
    let mut kept: Vec<Shape> = Vec::with_capacity(pieces.len());
    for &piece in pieces.iter().filter(|piece| !piece.is_idle()) {
        match kept.last_mut() {
            // A delete right where the one before it left off takes the text behind it.
            Some(last) if last.kind == Kind::Delete && last.position == piece.position => last.length += piece.length,
            Some(_) | None => kept.push(piece),
        }
    }
    if kept.is_empty() {
        kept.extend(pieces.first());
    }
    kept
}

/// Gives the text back to the operation it belongs to. Only deletes are ever split, so it has one owner.
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
        // "hello" became "abc hello" meanwhile; the client typed "X", then "Y" behind it.
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
    fn a_split_delete_gives_two_pieces_and_joins_again_when_what_split_it_goes() {
        let chain = Chain::new(log(&[Operation::insert(4, "XY")]));
        let split = chain.walk(Shape::delete(2, 5), 12).unwrap().moved;

        assert_eq!(split.pieces(String::new()), [Operation::delete(2, 2), Operation::delete(4, 3)]);

        let chain = Chain::new(log(&[Operation::insert(4, "XY"), Operation::delete(4, 2)]));
        let whole = chain.walk(Shape::delete(2, 5), 10).unwrap().moved;

        assert_eq!(whole.pieces(String::new()), [Operation::delete(2, 5)]);
        assert_eq!(whole.changed_by, [0, 1]);
    }

    #[test]
    fn a_delete_whose_text_is_gone_is_one_retain_of_nothing() {
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
