//! The texts of a document's pieces, each read once and written once per transaction.
//!
//! An operation reads a piece before it changes it, and fifty operations of a drain mostly change the same one. So read
//! texts are cached, and changed ones are written when the document is saved.

use std::cell::RefCell;
use std::collections::BTreeMap;

use convoke::prelude::*;
use convoke::store::{Db, DbMut, StoreError};
use schema::{Meeting, NotePiece};

use super::operation::Rejection;
use super::pieces::Store;

/// The pieces that a transaction has read or changed.
#[derive(Default)]
pub struct Texts {
    touched: RefCell<BTreeMap<Id<NotePiece>, Touched>>,
}

/// The stored text of a piece, and its new text if it changed.
struct Touched {
    row: Doc<NotePiece>,
    changed: Option<String>,
}

/// Reason why an operation was not applied to the document.
#[derive(Debug)]
pub enum Failure {
    /// The rules reject it; nothing was written.
    Rejected(Rejection),
    /// The database failed; the transaction must be rolled back.
    Broken(Error),
}

impl From<Rejection> for Failure {
    fn from(refused: Rejection) -> Self {
        Failure::Rejected(refused)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Broken(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::Broken(error.into())
    }
}

impl Texts {
    /// Returns the texts of a meeting's notes within the transaction of `db`.
    pub fn within<'a>(&'a self, db: &'a mut DbMut, meeting: Id<Meeting>) -> Within<'a> {
        Within { texts: self, db, meeting }
    }

    /// Writes the changed texts.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn save(self, db: &mut DbMut) -> Result<()> {
        for touched in self.touched.into_inner().into_values() {
            if let Some(text) = touched.changed {
                db.patch_doc(touched.row, |piece| piece.text = text)?;
            }
        }
        Ok(())
    }

    fn read<R>(&self, db: &Db, key: Id<NotePiece>, use_it: impl FnOnce(&mut Touched) -> R) -> Result<R> {
        let mut touched = self.touched.borrow_mut();
        let piece = match touched.entry(key) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => {
                let row = db.get(key)?.ok_or_else(|| Error::internal(format!("the piece {key} is gone")))?;
                free.insert(Touched { row, changed: None })
            }
        };
        Ok(use_it(piece))
    }
}

/// [`Texts`] with their transaction.
pub struct Within<'a> {
    texts: &'a Texts,
    db: &'a mut DbMut,
    meeting: Id<Meeting>,
}

impl Store for Within<'_> {
    type Key = Id<NotePiece>;
    type Error = Failure;

    fn text(&self, key: &Self::Key) -> Result<String, Failure> {
        let text = |piece: &mut Touched| piece.changed.as_ref().unwrap_or(&piece.row.text).clone();
        Ok(self.texts.read(self.db, *key, text)?)
    }

    fn add(&mut self, text: &str) -> Result<Self::Key, Failure> {
        Ok(self.db.insert(NotePiece { meeting_id: self.meeting, text: text.to_owned() })?)
    }

    fn replace(&mut self, key: &Self::Key, text: &str) -> Result<(), Failure> {
        Ok(self.texts.read(self.db, *key, |piece| piece.changed = Some(text.to_owned()))?)
    }

    fn remove(&mut self, key: &Self::Key) -> Result<(), Failure> {
        self.texts.touched.borrow_mut().remove(key);
        self.db.delete(*key)?;
        Ok(())
    }
}
