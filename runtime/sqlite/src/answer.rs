//! Completes mutations.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tracing::error;

use convoke_store::{StoreError, WriteJob};

/// Completes a mutation. A panic in its completion must not end the calling thread.
pub(crate) fn answer(job: Box<dyn WriteJob>, outcome: Result<(), StoreError>) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| job.finish(outcome))) {
        error!("an answer panicked: {}", panic_message(&*panic));
    }
}

pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
