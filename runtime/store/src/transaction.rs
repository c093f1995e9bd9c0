//! The seam to the engine: what a transaction can do, over values and plans, object-safe.
//!
//! Everything above (typed queries, contexts, functions) is written against [`Reader`] and [`Writer`]; everything
//! engine-made (SQL, threads, savepoints) is below them. Who holds a reader cannot write, by type; and every change of a
//! row, a migration's too, passes a writer.

use std::ops::ControlFlow;

use super::commits::Commit;
use super::error::StoreError;
use super::nodes::TurnName;
use super::query::Plan;
use super::row::Row;
use super::schema::Schemas;
use super::schema::table::TableDef;
use super::value::Value;

/// What a visitor says after each row.
pub type Visit<'a> = dyn FnMut(&dyn Row) -> Result<ControlFlow<()>, StoreError> + 'a;

/// What one transaction of the engine can be asked: one snapshot, in a mutation with its own writes.
///
/// After an error that lost the transaction, or past the deadline, every further call fails too: a function that
/// swallows the error cannot go on outside of it.
pub trait Reader {
    /// Visits the row with this id; says whether there is one.
    fn get(&self, table: &'static TableDef, id: u128, visit: &mut Visit<'_>) -> Result<bool, StoreError>;

    /// Visits the rows of a plan, in order, until the visitor breaks off.
    fn select(&self, plan: &Plan, visit: &mut Visit<'_>) -> Result<(), StoreError>;

    /// Visits the rows with these ids, in no particular order, in one statement; unknown ids are left out.
    fn get_many(&self, table: &'static TableDef, ids: &[u128], visit: &mut Visit<'_>) -> Result<(), StoreError>;

    /// How many rows a plan has.
    fn count(&self, plan: &Plan) -> Result<u64, StoreError>;

    /// How many rows a table has, about, found without walking it; none if the engine cannot tell.
    fn estimated_rows(&self, _table: &'static TableDef) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    /// The bytes that a table and its indexes take in the database, whole pages; it walks all of them.
    fn bytes(&self, table: &'static TableDef) -> Result<u64, StoreError>;

    /// The schema that the database keeps beside that of these tables.
    fn schemas(&self, tables: &[&'static TableDef]) -> Result<Schemas, StoreError>;

    /// How many statements ran in this transaction so far: for tests of cost.
    fn statements(&self) -> u64;

    /// How many rows were visited whole in this transaction so far: for tests of cost.
    fn rows_visited(&self) -> u64;

    /// Of how many rows the keys of an index were visited, and nothing else: for tests of cost.
    fn keys_visited(&self) -> u64;

    /// Whether this node still has a turn that it took under this number, in a mutation: nobody else takes it before that is
    /// committed. Where one node serves alone it has what it took.
    fn has_turn(&self, _turn: &TurnName, _number: i64) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Fixes the snapshot of a transaction that has read nothing yet, and says which commit it shows. What it may show
    /// beyond that one, where others commit beside it, is published later, under a greater number.
    ///
    /// # Errors
    /// [`StoreError::Closed`] if a commit takes long; [`StoreError::Engine`] in a transaction that writes.
    fn pin(&self) -> Result<Commit, StoreError>;
}

/// What a mutation's transaction can be told beside.
pub trait Writer: Reader {
    /// Adds a row.
    fn insert(
        &self,
        table: &'static TableDef,
        id: u128,
        creation_time: i64,
        values: &[Value],
    ) -> Result<(), StoreError>;

    /// Writes the fields of a row whose value changed, given by place; says whether there is such a row. `before` are its
    /// values so far, by which it counts what is written; with fewer of them, more counts. Of two values for one field the
    /// first one counts.
    fn update(
        &self,
        table: &'static TableDef,
        id: u128,
        before: &[Value],
        changes: &[(usize, Value)],
    ) -> Result<bool, StoreError>;

    /// Removes a row; says whether there was one.
    fn delete(&self, table: &'static TableDef, id: u128) -> Result<bool, StoreError>;

    /// Opens a savepoint inside the transaction (nested ones are a stack).
    fn savepoint(&self) -> Result<(), StoreError>;

    /// Keeps what was written since the innermost savepoint, and closes it.
    fn release(&self) -> Result<(), StoreError>;

    /// Drops what was written since the innermost savepoint, and closes it.
    fn rollback(&self) -> Result<(), StoreError>;

    /// The bytes that were written in this transaction so far, without those that were rolled back: each row with its
    /// index entries, of a changed one what differs, however the engine packs them.
    fn bytes_written(&self) -> u64;

    /// The rows that were added, changed or removed in this transaction so far, also those that were rolled back. Engines
    /// do not count them: the recorder around each mutation's writer does.
    fn rows_written(&self) -> u64 {
        0
    }
}
