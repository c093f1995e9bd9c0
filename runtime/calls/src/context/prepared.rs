//! What a mutation has had read outside of its transaction.
//!
//! A mutation that finds that it has much to read asks for it and is given up; the reading is done on a reader, and the
//! mutation runs again with what was found. Owns what was read so far and what is asked for; the rounds are
//! `call::execute`'s.

use std::any::{Any, TypeId};
use std::sync::Arc;

use super::mutation::MutationCtx;
use super::query::QueryCtx;
use super::shared::{Context as _, Read as _};
use convoke_core::error::{Error, Result};

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

    fn get<A: PartialEq + 'static, T: Send + Sync + 'static>(&self, read: TypeId, args: &A) -> Option<Arc<T>> {
        let found = self.found.iter().rev().filter(|found| found.read == read);
        let same = |found: &&Found| found.args.downcast_ref::<A>() == Some(args);
        found.clone().find(same).and_then(|found| found.value.clone().downcast().ok())
    }
}

impl MutationCtx {
    /// What `read` finds for `args`, read outside of this transaction, so that nobody waits for it: for a mutation that
    /// has to look at thousands of rows before it writes a few.
    ///
    /// The first time, the mutation is given up (nothing that it wrote stays, whatever it returns), `read` runs on a
    /// reader, and the mutation runs again from its beginning; then the same `args` get what was found. It may be out of
    /// date by then, and the caller may have lost a right: the mutation checks both again, in its own transaction. So let
    /// `args` name what must not have changed, let `read` say up to where it read, and read here only what came since.
    /// `read` takes everything from its context and `args`; what it logs is the operator's alone.
    ///
    /// ```text
    /// let end = ctx.db().get(account)?.sequence;
    /// if end - from > 100 {
    ///     let until = ctx.prepared((account, from), sum_of_entries)?;   // a `fn(&QueryCtx, &(Id<Account>, i64))`
    ///     // … and the entries after `until.sequence`
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of `read`, which end the call; one that is only ever seen by the attempt that is given up.
    pub fn prepared<A, T, F>(&mut self, args: A, read: F) -> Result<Arc<T>>
    where
        A: PartialEq + Send + Sync + 'static,
        T: Send + Sync + 'static,
        F: Fn(&QueryCtx, &A) -> Result<T> + Send + 'static,
    {
        let by = TypeId::of::<F>();
        if let Some(value) = self.ahead.get(by, &args) {
            return Ok(value);
        }
        if self.ahead.found.len() >= ROUNDS_MAX {
            return read(&QueryCtx::new(self.call().clone(), self.db().clone()), &args).map(Arc::new);
        }
        self.ahead.asked.get_or_insert_with(|| {
            let args = Arc::new(args);
            Box::new(move |ctx| {
                let value = Arc::new(read(ctx, &args)?);
                Ok(Found { read: by, args: args.clone(), value })
            })
        });
        Err(Error::internal("this attempt is given up: what it asked for is read first"))
    }
}
