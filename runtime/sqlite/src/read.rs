//! A read: one snapshot and one transaction on a reader.

use std::rc::Rc;

use super::connection::Lease;
use super::failure;
use super::transaction::{Source, SqliteTransaction};
use convoke_store::engine::Read;
use convoke_store::{Ran, StoreError};

/// Runs `read` on one snapshot. Does not run it if no snapshot can be opened. The function reports other errors itself.
pub(crate) fn run(lease: Lease, read: &mut Read<'_>) -> Ran {
    let (connection, timeout) = (lease.connection(), lease.timeout());
    connection.interrupt.begin_at(lease.began(), timeout);
    if let Err(error) = connection.open_snapshot() {
        let failure = failure::of_engine(&error);
        match &failure {
            StoreError::Disk(reason) => connection.reads.failed(reason, connection.interrupt.now()),
            _ => connection.set_broken(),
        }
        return Ran { outcome: Err(failure), elapsed: lease.elapsed() };
    }
    let transaction = Rc::new(SqliteTransaction::new(Source::Reader(lease), timeout));
    read(transaction.clone());
    transaction.finish();
    let died = transaction.died();
    if transaction.is_lost() {
        transaction.give_up();
    }
    transaction.close();
    let outcome = match died {
        // Whatever the function returned: its result may be based on missing rows.
        Some(failure @ (StoreError::Deadline { .. } | StoreError::Disk(_))) => Err(failure),
        // The function knows, because its next operation failed.
        Some(_) | None => Ok(()),
    };
    Ran { outcome, elapsed: transaction.elapsed() }
}
