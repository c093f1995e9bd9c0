//! The ends of the pages of a live query, which stay where its first run put them.

use std::cell::{Cell, RefCell};

use super::cursor::Cursor;
use crate::error::StoreError;

/// Where the pages of a live query ended in its first run, in the order in which it reads them.
#[derive(Debug, Default)]
pub struct PageEnds {
    given: Vec<Cursor>,
    /// How many pages the run has read that end where the first run says.
    read: Cell<usize>,
    noted: RefCell<Vec<Cursor>>,
}

impl PageEnds {
    /// As a client has them, who may have made them up: a cursor that does not fit is found out where it is used.
    ///
    /// # Errors
    /// [`StoreError::InvalidCursor`].
    pub fn read(journal: Option<&str>) -> Result<Self, StoreError> {
        let given = journal.map(serde_json::from_str).transpose();
        let given = given.map_err(|_| StoreError::InvalidCursor("journal"))?.unwrap_or_default();
        Ok(Self { given, ..Self::default() })
    }

    /// What is to be kept for later runs; nothing if no page was read.
    pub fn journal(&self) -> Option<String> {
        let noted = self.noted.borrow();
        (!noted.is_empty()).then(|| serde_json::to_string(&*noted).expect("a list of texts is JSON"))
    }

    /// The end of the next page, if the first run has read that page.
    pub(super) fn next(&self) -> Option<&Cursor> {
        let place = self.read.replace(self.read.get() + 1);
        self.given.get(place)
    }

    /// Records the end of a page.
    pub(super) fn note(&self, end: Cursor) {
        self.noted.borrow_mut().push(end);
    }
}
