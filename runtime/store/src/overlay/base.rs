//! The part of an engine below a mutation.

use super::writes::RowWrite;
use crate::error::StoreError;
use crate::query::Plan;
use crate::reader::Reader;
use crate::schema::table::TableDef;

/// The state of the database on which a mutation runs: the engine's transaction of the mutation or of its batch.
///
/// The reads do not change until [`Base::apply`].
pub trait Base: Reader {
    /// Fails like every read if the mutation has failed, is late, or is over. A mutation calls it before each operation
    /// that needs no read.
    ///
    /// # Errors
    /// [`StoreError::Deadline`]; [`StoreError::TransactionLost`]; errors of the engine.
    fn alive(&self) -> Result<(), StoreError>;

    /// Returns true if no row of the table has this id. False is always correct. True may be an assumption.
    fn is_free(&self, _table: &'static TableDef, _id: u128) -> bool {
        false
    }

    /// Returns the id of a row other than `id` with the keys of a plan, which has all keys of a unique index. None:
    /// there is no such row, it is an assumption, or the database does not have the index yet.
    ///
    /// # Errors
    /// Errors of the engine.
    fn holder(&self, plan: &Plan, id: u128) -> Result<Option<u128>, StoreError>;

    /// Verifies the assumptions of [`Base::is_free`] and [`Base::holder`] before writes that depend on them are undone.
    /// [`Base::apply`] verifies those of the writes that it receives.
    ///
    /// # Errors
    /// An assumption is wrong, and the mutation must run again; errors of the engine.
    fn verify(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Applies writes in this order. Afterwards reads show them. After an error, the engine's transaction must be
    /// rolled back.
    ///
    /// # Errors
    /// [`StoreError::UniqueViolation`]: a unique index rejects a write; errors of the engine.
    fn apply(&self, writes: &[RowWrite]) -> Result<(), StoreError>;

    /// Opens a savepoint over the applied writes. Savepoints form a stack. Only a mutation that runs alone opens them.
    ///
    /// # Errors
    /// Errors of the engine.
    fn savepoint(&self) -> Result<(), StoreError>;

    /// Closes the innermost savepoint and keeps its writes.
    ///
    /// # Errors
    /// Errors of the engine.
    fn release(&self) -> Result<(), StoreError>;

    /// Closes the innermost savepoint and rolls back its writes.
    ///
    /// # Errors
    /// Errors of the engine.
    fn rollback(&self) -> Result<(), StoreError>;
}
