//! What a mutation has had read outside of its transaction.
//!
//! A mutation that finds that it has much to read asks for it and is given up; the reading is done on a reader, and the
//! mutation runs again with what was found. Owns what was read so far and what is asked for; the rounds are
//! `call::execute`'s.

use std::any::{Any, TypeId};
use std::sync::Arc;

use super::query::QueryCtx;
use convoke_core::error::Result;

/// How often one call may be given up to read ahead. What it asks for beyond that is read inside the transaction: where
/// others write so often that nothing read ahead fits, the call still comes to its end.
const ROUNDS_MAX: usize = 4;

/// What is to be read on a reader.
pub(crate) type Reading = Box<dyn Fn(&QueryCtx) -> Result<Found> + Send>;

/// What was read, with the function that read it and its arguments.
pub(crate) struct Found {
    read: TypeId,
    args: Arc<dyn Any + Send + Sync>,
    value: Arc<dyn Any + Send + Sync>,
}

/// What a call has had read so far, and what its attempt asks for.
#[derive(Default)]
pub(crate) struct Prepared {
    found: Vec<Found>,
    asked: Option<Reading>,
}

impl Prepared {
    /// Adds what was read.
    pub(crate) fn add(&mut self, found: Found) {
        self.found.push(found);
    }

    /// What the attempt asked for, if anything: it has to be given up, whatever it returned.
    pub(crate) fn take_asked(&mut self) -> Option<Reading> {
        self.asked.take()
    }

    /// Returns what `F` found for these arguments.
    pub(super) fn get<F, A, T>(&self, args: &A) -> Option<Arc<T>>
    where
        F: 'static,
        A: PartialEq + 'static,
        T: Send + Sync + 'static,
    {
        let found = self.found.iter().rev().filter(|found| found.read == TypeId::of::<F>());
        let same = |found: &&Found| found.args.downcast_ref::<A>() == Some(args);
        found.clone().find(same).and_then(|found| found.value.clone().downcast().ok())
    }

    /// True if the call is not given up again.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= ROUNDS_MAX
    }

    /// Asks for what `read` finds for `args`, unless the attempt has asked for something already.
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
                Ok(Found { read: TypeId::of::<F>(), args: args.clone(), value })
            })
        });
    }
}
