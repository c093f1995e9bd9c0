//! The context of a mutation.

use std::sync::Arc;

use super::prepared::Prepared;
#[cfg(feature = "outbound")]
use super::query::MayWait;
use super::query::QueryCtx;
use super::shared::{Call, Context, Read};
#[cfg(feature = "outbound")]
use crate::outbound::Http;
use crate::trace::Span;
use convoke_core::error::{Error, Result};
use convoke_store::{Db, DbMut};

/// Reads and writes one serializable transaction.
///
/// A mutation may run more than once before its response, so it must be a pure function of its arguments, the database
/// and [`Context::now`].
pub struct MutationCtx {
    call: Arc<Call>,
    db: DbMut,
    after_commit: Vec<AfterCommit>,
    ahead: Prepared,
    /// A mistake of a method that returns no result.
    mistake: Option<Error>,
    /// The span of the transaction, or of the innermost function.
    pub(super) span: Span,
}

/// Work after the commit of a mutation.
pub(crate) type AfterCommit = Box<dyn FnOnce() + Send>;

impl MutationCtx {
    pub(crate) fn new(call: Arc<Call>, db: DbMut, ahead: Prepared, span: Span) -> Self {
        Self { call, db, after_commit: Vec::new(), ahead, mistake: None, span }
    }

    /// Returns the database for writes. For reads, [`Read::db`] is enough.
    pub fn db_mut(&mut self) -> &mut DbMut {
        &mut self.db
    }

    /// Exists on the context of an action only; here it gives a helpful compile error.
    #[doc(hidden)]
    #[cfg(feature = "outbound")]
    pub fn http(&self) -> Result<Http>
    where
        for<'a> &'a Self: MayWait,
    {
        unreachable!("no type implements the bound")
    }

    /// Runs `work`. If it fails, rolls back its writes and continues the transaction.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn attempt<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.db.writer().savepoint()?;
        let promised = self.after_commit.len();
        let result = work(self);
        let result = self.without_mistake(result);
        match &result {
            Ok(_) => self.db.writer().release()?,
            Err(_) => {
                self.after_commit.truncate(promised);
                self.db.writer().rollback()?;
            }
        }
        result
    }

    /// Fails the mutation, or the innermost [`MutationCtx::attempt`], when its work returns.
    pub(crate) fn fail_later(&mut self, mistake: Error) {
        self.mistake.get_or_insert(mistake);
    }

    /// Returns the result of finished work: the mistake, if there was one.
    pub(crate) fn without_mistake<R>(&mut self, result: Result<R>) -> Result<R> {
        match self.mistake.take() {
            Some(mistake) => result.and(Err(mistake)),
            None => result,
        }
    }

    /// Runs `work` to see its result, and rolls back its writes.
    pub(crate) fn rehearse<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<Result<R>> {
        self.db.writer().savepoint()?;
        let promised = self.after_commit.len();
        let result = work(self);
        let result = self.without_mistake(result);
        self.after_commit.truncate(promised);
        self.db.writer().rollback()?;
        Ok(result)
    }

    /// Runs `work` after the commit of this mutation and before its response, to update memory beside the database. It
    /// does not run if the mutation fails, and it may be lost if the process ends at that moment: schedule work that
    /// must run. It runs on the writer's thread and delays all other writes.
    pub fn after_commit(&mut self, work: impl FnOnce() + Send + 'static) {
        self.after_commit.push(Box::new(work));
    }

    /// Returns the result of `read` for `args`, read outside of this transaction, so that other writes do not wait for
    /// it. Use it in a mutation that reads thousands of rows before it writes a few.
    ///
    /// On the first call, the attempt is abandoned and its writes are rolled back, whatever it returns. `read` runs on
    /// a reader, and the mutation starts again; then the same `args` return the result. The result may be out of date
    /// by then, and the caller may have lost a right, so the mutation must check both in its own transaction. Put into
    /// `args` what must not have changed, let `read` return the position up to which it read, and read only later rows
    /// here. `read` must use only its context and `args`; its log lines are visible to the operator alone.
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
    /// Those of `read`, which end the call; an error that only the abandoned attempt sees.
    pub fn prepared<A, T, F>(&mut self, args: A, read: F) -> Result<Arc<T>>
    where
        A: PartialEq + Send + Sync + 'static,
        T: Send + Sync + 'static,
        F: Fn(&QueryCtx, &A) -> Result<T> + Send + 'static,
    {
        if let Some(value) = self.ahead.get::<F, A, T>(&args) {
            return Ok(value);
        }
        if self.ahead.is_full() {
            return read(&QueryCtx::new(self.call.clone(), Db::clone(&self.db)), &args).map(Arc::new);
        }
        self.ahead.ask(args, read);
        Err(Error::internal("this attempt is abandoned: the rows that it asked for are read first"))
    }

    /// Returns the work after the commit, and the results that were read ahead.
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
