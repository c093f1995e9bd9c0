//! The schema and the rows of a database, as its engine describes them.

use std::ops::ControlFlow;

use super::definition::Definition;
use super::table::{IndexDef, TableDef};
use crate::error::OpenError;
use crate::value::ValueRef;

/// Handed the id of a row and values of it.
pub type VisitValues<'a> = dyn FnMut(u128, &[ValueRef<'_>]) -> ControlFlow<()> + 'a;

/// What an engine knows of the schema in its database.
pub trait Catalog {
    /// How often the schema was changed, and what it is since; 0 and nothing in a new database.
    ///
    /// # Errors
    /// The engine's; [`OpenError::Engine`] if what is kept cannot be read.
    fn stored(&self) -> Result<(i64, Definition), OpenError>;

    /// An index in the engine's words, equal for equal indexes: what tells that one has changed.
    fn index_text(&self, table: &TableDef, index: &IndexDef) -> String;

    /// Whether a table of the database has no rows.
    ///
    /// # Errors
    /// The engine's.
    fn is_empty(&self, table: &str) -> Result<bool, OpenError>;

    /// True if an index of a table takes so long that it is made in a transaction of its own: never in an engine that makes
    /// indexes beside its writes.
    ///
    /// # Errors
    /// The engine's.
    fn is_large(&self, _table: &str) -> Result<bool, OpenError> {
        Ok(false)
    }

    /// A long step begins.
    fn begins(&self, _step: &str) {}

    /// Whether a row of a table has no value for a field.
    ///
    /// # Errors
    /// The engine's.
    fn has_null(&self, table: &str, field: &str) -> Result<bool, OpenError>;

    /// Visits these fields of every row, in no particular order, until the visitor breaks off; the database has the fields,
    /// and may lack others of the table. Reads in parts: its memory does not grow with the table.
    ///
    /// # Errors
    /// The engine's.
    fn values(&self, table: &'static TableDef, places: &[usize], visit: &mut VisitValues<'_>) -> Result<(), OpenError>;

    /// Whether a row that is written without a value for a field gets one.
    ///
    /// # Errors
    /// The engine's.
    fn has_default(&self, _table: &str, _field: &str) -> Result<bool, OpenError> {
        Ok(false)
    }

    /// Whether others serve the database now, perhaps of another release: then nothing is dropped that they may have.
    ///
    /// # Errors
    /// The engine's.
    fn has_company(&self) -> Result<bool, OpenError> {
        Ok(false)
    }

    /// True if several releases of a program may serve the database.
    fn has_releases(&self) -> bool {
        false
    }

    /// What the schema was before, the latest first, where several releases may serve the database.
    ///
    /// # Errors
    /// The engine's; [`OpenError::Engine`] if what is kept cannot be read.
    fn former(&self) -> Result<Vec<Definition>, OpenError> {
        Ok(Vec::new())
    }
}

/// How far the database is to follow the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// In everything, or, in the application's tables, in nothing.
    Whole,
    /// In what can be: so that a migration finds the fields of the new code. The former code serves it no more.
    Part,
}
