//! Reads of a mutation outside of its transaction.
//!
//! A mutation that has much to read asks for it, and its attempt is abandoned. A reader does the reading, and the
//! mutation runs again with the results. This module owns the results and the open request; `crate::execute` runs the
//! rounds.

use std::any::{Any, TypeId};
use std::sync::Arc;

use super::query::QueryCtx;
use convoke_core::error::Result;

/// Maximum number of attempts of a call that may be abandoned to read ahead. Further reads run inside the transaction:
/// if other calls write so often that no result of reading ahead fits, the call still ends.
const ROUNDS_MAX: usize = 4;

/// Work to run on a reader.
pub(crate) type Reading = Box<dyn Fn(&QueryCtx) -> Result<ReadResult> + Send>;

/// A result, with the function that read it and its arguments.
pub(crate) struct ReadResult {
    read: TypeId,
    args: Arc<dyn Any + Send + Sync>,
    value: Arc<dyn Any + Send + Sync>,
}

/// The results of a call so far, and the request of its current attempt.
#[derive(Default)]
pub(crate) struct Prepared {
    found: Vec<ReadResult>,
    asked: Option<Reading>,
}

impl Prepared {
    pub(crate) fn add(&mut self, found: ReadResult) {
        self.found.push(found);
    }

    /// Returns the request of the attempt, if any: then the attempt must be abandoned, whatever it returned.
    pub(crate) fn take_request(&mut self) -> Option<Reading> {
        self.asked.take()
    }

    /// Returns the result of `F` for these arguments.
    pub(super) fn get<F, A, T>(&self, args: &A) -> Option<Arc<T>>
    where
        F: 'static,
        A: PartialEq + 'static,
        T: Send + Sync + 'static,
    {
        let found = self.found.iter().rev().filter(|found| found.read == TypeId::of::<F>());
        let same = |found: &&ReadResult| found.args.downcast_ref::<A>() == Some(args);
        found.clone().find(same).and_then(|found| found.value.clone().downcast().ok())
    }

    /// Returns true if no further attempt of the call may be abandoned.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= ROUNDS_MAX
    }

    /// Requests the result of `read` for `args`, unless the attempt has requested another one already.
    pub(super) fn ask<A, T, F>(&mut self, args: A, read: F)
    where
        A: PartialEq + Send + Sync + 'static,
        T: Send + Sync + 'static,
        F: Fn(&QueryCtx, &A) -> Result<T> + Send + 'static,
    {
        self.asked.get_or_insert_with(|| {
            let args = Arc::new(args);
            Box::new(move |ctx| {
                let value = Arc::new(read(ctx, &args)?);
                Ok(ReadResult { read: TypeId::of::<F>(), args: args.clone(), value })
            })
        });
    }
}
