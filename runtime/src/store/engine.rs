//! The seam to the engine: who runs a write, and when it is answered.

use std::rc::Rc;

use super::error::StoreError;
use super::transaction::Transaction;

/// Who is served while the store is closed for a schema that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Any call: refused while the store is closed.
    Everyone,
    /// Calls of the operator, such as a migration.
    Admin,
}

/// A mutation, as the engine runs it: possibly more than once, and answered exactly once.
pub trait WriteJob: Send {
    /// Runs it inside a savepoint of its own. `Err` means: roll back what it wrote (its answer is an error).
    ///
    /// # Errors
    /// The failure of the store that makes the mutation's outcome an error; `None` for the function's own refusal.
    fn run(&mut self, transaction: Rc<dyn Transaction>) -> Result<(), Option<StoreError>>;

    /// Answers it, when its outcome is durable: `Ok` = what `run` made of it last stands (kept or rolled back as it
    /// said); `Err` = the engine failed it, whatever `run` said.
    fn finish(self: Box<Self>, outcome: Result<(), StoreError>);

    /// Whether the batch is to be committed before it, since it is known to take long.
    fn slow(&self) -> bool {
        false
    }

    /// For whom it runs.
    fn access(&self) -> Access {
        Access::Everyone
    }

    /// What the watchdog calls it in the log.
    fn name(&self) -> &str;
}
