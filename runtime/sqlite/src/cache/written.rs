//! The rows that the writer has written since its last commit.

use std::cell::{Cell, RefCell};

use super::known_rows::RowKey;
use super::newest::Changed;
use convoke_store::TableDef;

/// Writes in the open transaction of the writer.
#[derive(Debug)]
pub(crate) struct Written {
    changed: RefCell<Changed>,
    /// The greatest id of a row that the database has or had.
    greatest_id: Cell<u128>,
}

impl Written {
    /// Creates the record of a database with this greatest id.
    pub(crate) fn new(greatest_id: u128) -> Self {
        Self { changed: RefCell::default(), greatest_id: Cell::new(greatest_id) }
    }

    /// Adds a written row.
    pub(crate) fn add(&self, table: &'static TableDef, id: u128) {
        self.changed.borrow_mut().add(RowKey::new(table, id));
        self.greatest_id.set(self.greatest_id.get().max(id));
    }

    /// Returns the greatest id that a row has or had.
    pub(crate) fn greatest_id(&self) -> u128 {
        self.greatest_id.get()
    }

    /// Returns the changes since the last call.
    pub(crate) fn take_changed(&self) -> Changed {
        self.changed.take()
    }
}
