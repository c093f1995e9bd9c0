//! The context of a mutation.

use std::sync::Arc;

use super::prepared::Prepared;
#[cfg(feature = "outbound")]
use super::query::MayWait;
use super::query::QueryCtx;
use super::shared::{Call, Context, Read};
#[cfg(feature = "outbound")]
use crate::outbound::Http;
use convoke_core::error::{Error, Result};
use convoke_store::{Db, DbMut};

/// Reads and writes one serializable transaction.
///
/// A mutation may run more than once before it is answered: it is a pure function of its arguments, the database and
/// [`Context::now`].
pub struct MutationCtx {
    call: Arc<Call>,
    db: DbMut,
    after_commit: Vec<AfterCommit>,
    ahead: Prepared,
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
        if let Some(value) = self.ahead.get::<F, A, T>(&args) {
            return Ok(value);
        }
        if self.ahead.is_full() {
            return read(&QueryCtx::new(self.call.clone(), Db::clone(&self.db)), &args).map(Arc::new);
        }
        self.ahead.ask(args, read);
        Err(Error::internal("this attempt is given up: what it asked for is read first"))
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
