//! The reads of a transaction: untyped operations on values and plans, object-safe.
//!
//! Typed queries, contexts and functions use only [`Reader`] and [`Transaction`](crate::Transaction). SQL and threads are
//! below them.

use std::ops::ControlFlow;

use super::commits::Commit;
use super::error::StoreError;
use super::nodes::TurnName;
use super::query::Plan;
use super::row::Row;
use super::schema::Schemas;
use super::schema::table::TableDef;

/// Called with each row; decides if the visit continues.
pub type Visit<'a> = dyn FnMut(&dyn Row) -> Result<ControlFlow<()>, StoreError> + 'a;

/// The reads of one transaction: on one snapshot, and in a mutation also of its own writes.
///
/// After an error that lost the transaction, and after the deadline, every further call fails too. A function that
/// ignores the error cannot continue outside of its transaction.
pub trait Reader {
    /// Visits the row with this id. Returns true if it exists.
    fn get(&self, table: &'static TableDef, id: u128, visit: &mut Visit<'_>) -> Result<bool, StoreError>;

    /// Visits the rows of a plan in order until the visitor stops.
    fn select(&self, plan: &Plan, visit: &mut Visit<'_>) -> Result<(), StoreError>;

    /// Visits the rows with these ids, in no particular order, in one statement. Unknown ids are skipped.
    fn get_many(&self, table: &'static TableDef, ids: &[u128], visit: &mut Visit<'_>) -> Result<(), StoreError>;

    /// Counts the rows of a plan.
    fn count(&self, plan: &Plan) -> Result<u64, StoreError>;

    /// Returns an estimate of the rows of a table without reading it. None: the engine has no estimate.
    fn estimated_rows(&self, _table: &'static TableDef) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    /// Returns the size of a table and its indexes in the database, in bytes of whole pages. Reads all of them.
    fn bytes(&self, table: &'static TableDef) -> Result<u64, StoreError>;

    /// Returns the schema that is recorded in the database and the schema of these tables.
    fn schemas(&self, tables: &[&'static TableDef]) -> Result<Schemas, StoreError>;

    /// Returns the number of statements in this transaction so far. Tests use it to check costs.
    fn statements(&self) -> u64;

    /// Returns the number of rows visited completely in this transaction so far. Tests use it to check costs.
    fn rows_visited(&self) -> u64;

    /// Returns the number of index entries visited without their rows in this transaction so far. Tests use it to check
    /// costs.
    fn keys_visited(&self) -> u64;

    /// Returns true if this node still has a turn that it took with this number. In a mutation, no other node can take
    /// the turn before the commit. A single node keeps every turn that it took.
    fn has_turn(&self, _turn: &TurnName, _number: i64) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Fixes the snapshot of a transaction that has not read yet, and returns its commit. Later changes that the
    /// snapshot may contain are published later with a greater number.
    ///
    /// # Errors
    /// [`StoreError::Closed`]: a commit takes long; [`StoreError::Engine`]: the transaction writes.
    fn pin(&self) -> Result<Commit, StoreError>;
}
