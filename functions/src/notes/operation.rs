//! Edits of a note, and the conditions to apply them.
//!
//! This module defines the three kinds of operations, their bounds, and their effect on a whole text. `transform`
//! transforms two of them, and `pieces` splits long texts. Wire forms are defined elsewhere.

use super::units::units;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Inserts text before the unit at its position.
    Insert,
    /// Deletes `length` units from its position.
    Delete,
    /// Changes nothing: a cursor, or the rest of a delete whose text is gone.
    Retain,
}

/// Position and length of an operation, without its text: sufficient to transform another operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    pub kind: Kind,
    /// UTF-16 units before the position.
    pub position: usize,
    /// UTF-16 units inserted, deleted or retained.
    pub length: usize,
}

/// One edit: its shape, and the text it inserts (empty unless it inserts).
///
/// `shape.length` of an insert is the number of units of `content`; the constructors see to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    pub shape: Shape,
    pub content: String,
}

/// Reason why an operation is not applied. Its `Display` is the message for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// An insert without text or with too much, a delete of nothing, or a retain behind the end of the document.
    #[error("Invalid operation format")]
    Format { field: &'static str },
    #[error("Invalid insert position: {position}")]
    InsertPosition { position: usize },
    #[error("Invalid delete position: {position}")]
    DeletePosition { position: usize },
    #[error("Delete operation exceeds document length")]
    DeleteLength,
    #[error("Position splits a surrogate pair")]
    SplitsPair { field: &'static str },
    /// The only reason that depends on the document rather than the argument.
    #[error("Document too large")]
    DocumentTooLarge,
}

impl Shape {
    pub fn insert(position: usize, length: usize) -> Shape {
        Shape { kind: Kind::Insert, position, length }
    }

    pub fn delete(position: usize, length: usize) -> Shape {
        Shape { kind: Kind::Delete, position, length }
    }

    pub fn retain(position: usize, length: usize) -> Shape {
        Shape { kind: Kind::Retain, position, length }
    }

    /// Returns the position behind the last unit of this shape.
    pub fn end(&self) -> usize {
        self.position.saturating_add(self.length)
    }

    /// Returns true if the operation changes no text and moves no other operation.
    pub fn is_idle(&self) -> bool {
        self.kind == Kind::Retain || self.length == 0
    }

    /// Returns the length of a document of `length` units after this operation.
    pub fn length_after(&self, length: usize) -> usize {
        match self.kind {
            Kind::Insert => length + self.length,
            Kind::Delete => length - self.length,
            Kind::Retain => length,
        }
    }

    /// Checks the range against a document of `length` units.
    ///
    /// Of a retain, only the position is checked: its length does not describe the text, which may have been deleted.
    ///
    /// # Errors
    /// [`Rejection`] with the first violated bound.
    pub fn check_range(&self, length: usize) -> Result<(), Rejection> {
        let position = self.position;
        match self.kind {
            Kind::Insert if position > length => Err(Rejection::InsertPosition { position }),
            Kind::Delete if position > length => Err(Rejection::DeletePosition { position }),
            Kind::Delete if self.length > length - position => Err(Rejection::DeleteLength),
            Kind::Retain if position > length => Err(Rejection::Format { field: "position" }),
            Kind::Insert | Kind::Delete | Kind::Retain => Ok(()),
        }
    }
}

impl Operation {
    pub fn insert(position: usize, content: impl Into<String>) -> Operation {
        let content = content.into();
        Operation { shape: Shape::insert(position, units(&content)), content }
    }

    pub fn delete(position: usize, length: usize) -> Operation {
        Operation { shape: Shape::delete(position, length), content: String::new() }
    }

    pub fn retain(position: usize, length: usize) -> Operation {
        Operation { shape: Shape::retain(position, length), content: String::new() }
    }

    /// Checks the form without a document: an insert has 1 … `insert_units_max` units, a delete at least one.
    ///
    /// # Errors
    /// [`Rejection::Format`] with the invalid field.
    pub fn check_form(&self, insert_units_max: usize) -> Result<(), Rejection> {
        match self.shape.kind {
            Kind::Insert if !(1..=insert_units_max).contains(&self.shape.length) => {
                Err(Rejection::Format { field: "content" })
            }
            Kind::Delete if self.shape.length == 0 => Err(Rejection::Format { field: "length" }),
            Kind::Insert | Kind::Delete | Kind::Retain => Ok(()),
        }
    }

    /// Checks that a document of `length` units stays within `document_units_max` with this operation.
    ///
    /// # Errors
    /// [`Rejection::DocumentTooLarge`].
    pub fn check_size(&self, length: usize, document_units_max: usize) -> Result<(), Rejection> {
        match self.shape.kind {
            Kind::Insert if length + self.shape.length > document_units_max => Err(Rejection::DocumentTooLarge),
            Kind::Insert | Kind::Delete | Kind::Retain => Ok(()),
        }
    }
}

impl Rejection {
    /// Returns the invalid field of the operation; none if the document is the reason.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Rejection::Format { field } | Rejection::SplitsPair { field } => Some(field),
            Rejection::InsertPosition { .. } | Rejection::DeletePosition { .. } => Some("position"),
            Rejection::DeleteLength => Some("length"),
            Rejection::DocumentTooLarge => None,
        }
    }
}

/// A whole text in UTF-16 units, for replaying a log from a checkpoint. It is always well-formed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    units: Vec<u16>,
}

impl Text {
    /// Returns its length in units.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Returns true if `position` is inside a surrogate pair.
    pub fn splits_pair(&self, position: usize) -> bool {
        let high = position.checked_sub(1).and_then(|before| self.units.get(before));
        let low = self.units.get(position);
        matches!((high, low), (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)))
    }

    /// Applies one operation.
    ///
    /// # Errors
    /// [`Rejection`]: its range is not in the text or cuts a surrogate pair. The text does not change then.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), Rejection> {
        let shape = operation.shape;
        shape.check_range(self.len())?;
        match shape.kind {
            Kind::Insert => {
                self.check_pair(shape.position, "position")?;
                self.units.splice(shape.position..shape.position, operation.content.encode_utf16());
            }
            Kind::Delete => {
                self.check_pair(shape.position, "position")?;
                self.check_pair(shape.end(), "length")?;
                self.units.drain(shape.position..shape.end());
            }
            Kind::Retain => {}
        }
        Ok(())
    }

    fn check_pair(&self, position: usize, field: &'static str) -> Result<(), Rejection> {
        if self.splits_pair(position) { Err(Rejection::SplitsPair { field }) } else { Ok(()) }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text { units: text.encode_utf16().collect() }
    }
}

impl From<&Text> for String {
    fn from(text: &Text) -> String {
        String::from_utf16(&text.units).expect("no operation leaves half a surrogate pair")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str, operation: Operation) -> Result<String, Rejection> {
        let mut changed = Text::from(text);
        changed.apply(&operation)?;
        Ok(String::from(&changed))
    }

    #[test]
    fn the_end_of_the_text_is_a_place_to_insert_and_one_further_is_not() {
        assert_eq!(applied("ab", Operation::insert(2, "c")).as_deref(), Ok("abc"));

        let refused = applied("ab", Operation::insert(3, "c")).unwrap_err();

        assert_eq!(refused.to_string(), "Invalid insert position: 3");
        assert_eq!(refused.field(), Some("position"));
    }

    #[test]
    fn a_delete_ends_at_the_end_and_not_behind_it() {
        assert_eq!(applied("abc", Operation::delete(1, 2)).as_deref(), Ok("a"));
        assert_eq!(applied("abc", Operation::delete(1, 3)), Err(Rejection::DeleteLength));
        assert_eq!(applied("abc", Operation::delete(3, 1)), Err(Rejection::DeleteLength));
        assert_eq!(applied("abc", Operation::delete(4, 1)), Err(Rejection::DeletePosition { position: 4 }));
        assert_eq!(applied("abc", Operation::delete(1, usize::MAX)), Err(Rejection::DeleteLength));
    }

    #[test]
    fn a_retain_changes_nothing_and_still_has_a_place() {
        assert_eq!(applied("abc", Operation::retain(3, 9)).as_deref(), Ok("abc"));
        assert_eq!(applied("abc", Operation::retain(4, 0)), Err(Rejection::Format { field: "position" }));
    }

    #[test]
    fn no_edge_may_lie_inside_a_pair() {
        assert_eq!(applied("a😀b", Operation::insert(2, "x")), Err(Rejection::SplitsPair { field: "position" }));
        assert_eq!(applied("a😀b", Operation::delete(2, 2)), Err(Rejection::SplitsPair { field: "position" }));
        assert_eq!(applied("a😀b", Operation::delete(0, 2)), Err(Rejection::SplitsPair { field: "length" }));
        assert_eq!(applied("a😀b", Operation::delete(1, 2)).as_deref(), Ok("ab"));
    }

    #[test]
    fn an_insert_has_one_to_the_limit_of_units() {
        assert!(Operation::insert(0, "x".repeat(100)).check_form(100).is_ok());
        assert_eq!(Operation::insert(0, "x".repeat(101)).check_form(100), Err(Rejection::Format { field: "content" }));
        assert_eq!(Operation::insert(0, "").check_form(100), Err(Rejection::Format { field: "content" }));
        assert_eq!(Operation::delete(0, 0).check_form(100), Err(Rejection::Format { field: "length" }));
        assert!(Operation::retain(0, 0).check_form(100).is_ok());
    }

    #[test]
    fn a_document_may_be_full_and_not_fuller() {
        assert!(Operation::insert(0, "ab").check_size(8, 10).is_ok());
        assert_eq!(Operation::insert(0, "ab").check_size(9, 10), Err(Rejection::DocumentTooLarge));
        assert!(Operation::delete(0, 2).check_size(10, 10).is_ok());
    }
}
