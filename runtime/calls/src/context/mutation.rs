//! The context of a mutation.

use std::sync::Arc;

use super::handler::{MutationFn, QueryFn};
use super::prepared::Prepared;
#[cfg(feature = "outbound")]
use super::query::MayWait;
use super::query::QueryCtx;
use super::shared::{Call, Context, Read};
use crate::function::{Function, IsMutation, IsQuery};
#[cfg(feature = "outbound")]
use crate::outbound::Http;
use convoke_core::error::Result;
use convoke_store::{Db, DbMut};

/// Reads and writes one serializable transaction.
///
/// A mutation may run more than once before it is answered: it is a pure function of its arguments, the database and
/// [`Context::now`].
pub struct MutationCtx {
    call: Arc<Call>,
    db: DbMut,
    after_commit: Vec<AfterCommit>,
    pub(super) ahead: Prepared,
}

/// What is done once a mutation is committed.
pub(crate) type AfterCommit = Box<dyn FnOnce() + Send>;

impl MutationCtx {
    pub(crate) fn new(call: Arc<Call>, db: DbMut, ahead: Prepared) -> Self {
        Self { call, db, after_commit: Vec::new(), ahead }
    }

    /// The database, to write to. To read, [`Read::db`] is enough.
    pub fn db_mut(&mut self) -> &mut DbMut {
        &mut self.db
    }

    /// What an action has.
    #[doc(hidden)]
    #[cfg(feature = "outbound")]
    pub fn http(&self) -> Result<Http>
    where
        for<'a> &'a Self: MayWait,
    {
        unreachable!("nothing fulfils the condition")
    }

    /// Calls a query or another mutation in the same transaction. What a mutation that fails wrote is undone.
    ///
    /// # Errors
    /// Those of the function.
    pub fn run<F: Function>(&mut self, args: impl Into<F::Args>) -> Result<F::Output>
    where
        F::Kind: RunInMutation<F>,
    {
        self.call.services.count_nested(F::DEF);
        <F::Kind as RunInMutation<F>>::run(self, args.into())
    }

    /// Runs `work` so that, if it fails, what it wrote is undone and the transaction goes on.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn attempt<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.db.writer().savepoint()?;
        let promised = self.after_commit.len();
        let result = work(self);
        match &result {
            Ok(_) => self.db.writer().release()?,
            Err(_) => {
                self.after_commit.truncate(promised);
                self.db.writer().rollback()?;
            }
        }
        result
    }

    /// Runs `work` to see what it comes to, and undoes what it wrote.
    ///
    /// # Errors
    /// A failure of the store.
    pub(crate) fn rehearse<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<Result<R>> {
        self.db.writer().savepoint()?;
        let promised = self.after_commit.len();
        let result = work(self);
        self.after_commit.truncate(promised);
        self.db.writer().rollback()?;
        Ok(result)
    }

    /// Does `work` once this mutation is committed, before it is answered: to bring memory beside the database up to
    /// date. It is not done if the mutation fails, and may be lost if the process ends in that moment; work that must
    /// be done is scheduled instead. It runs on the writer's thread: everybody waits for it.
    pub fn after_commit(&mut self, work: impl FnOnce() + Send + 'static) {
        self.after_commit.push(Box::new(work));
    }

    /// What is to be done once it is committed, and what was read ahead of it.
    pub(crate) fn into_parts(self) -> (Vec<AfterCommit>, Prepared) {
        (self.after_commit, self.ahead)
    }
}

impl Context for MutationCtx {
    fn call(&self) -> &Arc<Call> {
        &self.call
    }
}

impl Read for MutationCtx {
    fn db(&self) -> &Db {
        &self.db
    }
}

/// The kinds that a mutation can call.
#[diagnostic::on_unimplemented(
    message = "a mutation cannot call an action: it would have to wait inside its transaction",
    note = "schedule it: `ctx.schedule::<the_action>(…)` starts it once the mutation is committed"
)]
pub trait RunInMutation<F: Function> {
    /// Calls it.
    fn run(ctx: &mut MutationCtx, args: F::Args) -> Result<F::Output>;
}

impl<F: QueryFn> RunInMutation<F> for IsQuery {
    fn run(ctx: &mut MutationCtx, args: F::Args) -> Result<F::Output> {
        F::invoke(&QueryCtx::new(ctx.call.clone(), Db::clone(&ctx.db)), args)
    }
}

impl<F: MutationFn> RunInMutation<F> for IsMutation {
    fn run(ctx: &mut MutationCtx, args: F::Args) -> Result<F::Output> {
        ctx.attempt(|ctx| F::invoke(ctx, args))
    }
}
