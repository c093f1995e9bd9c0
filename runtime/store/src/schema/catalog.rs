//! The schema and the rows of a database, from its engine.

use std::ops::ControlFlow;

use super::definition::Definition;
use super::table::{IndexDef, TableDef};
use crate::error::OpenError;
use crate::value::ValueRef;

/// Receives the id of a row and some of its values.
pub type VisitValues<'a> = dyn FnMut(u128, &[ValueRef<'_>]) -> ControlFlow<()> + 'a;

/// The engine's access to the schema in its database.
pub trait Catalog {
    /// Returns the number of schema changes and the current schema; 0 and an empty schema in a new database.
    ///
    /// # Errors
    /// Errors of the engine; [`OpenError::Engine`]: the recorded schema cannot be read.
    fn stored(&self) -> Result<(i64, Definition), OpenError>;

    /// Returns the engine's text of an index. Equal texts mean equal indexes.
    fn index_text(&self, table: &TableDef, index: &IndexDef) -> String;

    /// Returns true if a table of the database has no rows.
    ///
    /// # Errors
    /// Errors of the engine.
    fn is_empty(&self, table: &str) -> Result<bool, OpenError>;

    /// Returns true if an index of the table takes so long that it needs its own transaction. Always false in an engine
    /// that builds indexes concurrently with writes.
    ///
    /// # Errors
    /// Errors of the engine.
    fn is_large(&self, _table: &str) -> Result<bool, OpenError> {
        Ok(false)
    }

    /// Reports the start of a long step.
    fn begins(&self, _step: &str) {}

    /// Returns true if a row of the table has no value for a field.
    ///
    /// # Errors
    /// Errors of the engine.
    fn has_null(&self, table: &str, field: &str) -> Result<bool, OpenError>;

    /// Visits these fields of every row, in no particular order, until the visitor stops. The database has these fields
    /// and may lack others. It reads in parts, so its memory does not grow with the table.
    ///
    /// # Errors
    /// Errors of the engine.
    fn values(&self, table: &'static TableDef, places: &[usize], visit: &mut VisitValues<'_>) -> Result<(), OpenError>;

    /// Returns true if a row that is written without a value for a field gets a default.
    ///
    /// # Errors
    /// Errors of the engine.
    fn has_default(&self, _table: &str, _field: &str) -> Result<bool, OpenError> {
        Ok(false)
    }

    /// Returns true if other nodes serve the database now, possibly with another release. Nothing that they may use is
    /// dropped then.
    ///
    /// # Errors
    /// Errors of the engine.
    fn has_company(&self) -> Result<bool, OpenError> {
        Ok(false)
    }

    /// Returns true if several releases of a program may serve the database.
    fn has_releases(&self) -> bool {
        false
    }

    /// Returns the former schemas, the latest first, if several releases may serve the database.
    ///
    /// # Errors
    /// Errors of the engine; [`OpenError::Engine`]: the recorded schema cannot be read.
    fn former(&self) -> Result<Vec<Definition>, OpenError> {
        Ok(Vec::new())
    }
}

/// The extent to which the database follows the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Everything, or nothing of the application's tables.
    Whole,
    /// All possible changes, so that a migration finds the fields of the new code. The former code can then no longer
    /// serve the database.
    Part,
}
