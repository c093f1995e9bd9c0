//! The ends of the pages of a live query. They stay at the positions of its first run.

use std::cell::{Cell, RefCell};

use super::cursor::Cursor;
use crate::error::StoreError;

/// The ends of the pages in the first run of a live query, in reading order.
#[derive(Debug, Default)]
pub struct PageEnds {
    given: Vec<Cursor>,
    /// Number of pages that this run has read up to a recorded end.
    read: Cell<usize>,
    noted: RefCell<Vec<Cursor>>,
}

impl PageEnds {
    /// Reads the ends from a client. A cursor that does not belong to the query fails when it is used.
    ///
    /// # Errors
    /// [`StoreError::InvalidCursor`].
    pub fn read(journal: Option<&str>) -> Result<Self, StoreError> {
        let given = journal.map(serde_json::from_str).transpose();
        let given = given.map_err(|_| StoreError::InvalidCursor("journal"))?.unwrap_or_default();
        Ok(Self { given, ..Self::default() })
    }

    /// Returns the text to store for later runs. None: no page was read.
    pub fn journal(&self) -> Option<String> {
        let noted = self.noted.borrow();
        (!noted.is_empty()).then(|| serde_json::to_string(&*noted).expect("a list of texts is JSON"))
    }

    /// Returns the end of the next page, if the first run read that page.
    pub(super) fn next(&self) -> Option<&Cursor> {
        let place = self.read.replace(self.read.get() + 1);
        self.given.get(place)
    }

    /// Records the end of a page.
    pub(super) fn note(&self, end: Cursor) {
        self.noted.borrow_mut().push(end);
    }
}
