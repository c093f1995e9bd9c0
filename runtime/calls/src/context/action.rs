//! The context of an action. The executors run other functions from it ([`crate::execute`]).

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use super::shared::{Call, Context, LeaseCheck};
use crate::logs::Capture;
#[cfg(feature = "outbound")]
use crate::outbound::Http;
use crate::outbound::{Secret, SecretError};
use crate::turns::{Turn, Turns};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::priority::{Niceness, lower_priority};
use convoke_store::{Db, DbMut};

/// Works outside the database: it waits, calls other services, and accesses the database through queries and mutations.
/// Each of those is a separate transaction.
#[derive(Clone)]
pub struct ActionCtx {
    pub(crate) call: Arc<Call>,
    pub(crate) capture: Capture,
}

impl ActionCtx {
    pub(crate) fn new(call: Arc<Call>, capture: Capture) -> Self {
        Self { call, capture }
    }

    /// Exists on the contexts of queries and mutations only; here it gives a helpful compile error.
    #[doc(hidden)]
    pub fn db(&self) -> &Db
    where
        for<'a> &'a Self: HasDatabase,
    {
        unreachable!("no type implements the bound")
    }

    /// Exists on the context of a mutation only; here it gives a helpful compile error.
    #[doc(hidden)]
    pub fn db_mut(&self) -> &mut DbMut
    where
        for<'a> &'a Self: HasDatabase,
    {
        unreachable!("no type implements the bound")
    }

    /// Runs a future concurrently with the action. Its log lines belong to the action.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        tokio::spawn(self.capture.around(future))
    }

    /// Runs blocking work on a thread pool. Its log lines belong to the action.
    pub fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        let capture = self.capture.clone();
        tokio::task::spawn_blocking(move || capture.within(work))
    }

    /// Runs CPU-bound work on a new thread, so that it delays neither calls nor reads. Its log lines belong to the
    /// action. It runs to its end even if the caller no longer waits. The caller must limit the number of concurrent
    /// threads.
    ///
    /// # Errors
    /// `INTERNAL` if no thread can be started.
    ///
    /// # Panics
    /// If the work panics.
    pub async fn work_on_thread<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let (done, result) = tokio::sync::oneshot::channel();
        let capture = self.capture.clone();
        let work = move || {
            lower_priority(Niceness::BelowReaders);
            let worked = catch_unwind(AssertUnwindSafe(|| capture.within(work)));
            // A caller that no longer waits needs no result.
            drop(done.send(worked));
        };
        std::thread::Builder::new().name("convoke-work".to_owned()).spawn(work).map_err(Error::internal)?;
        match result.await.map_err(Error::internal)? {
            Ok(worked) => Ok(worked),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Returns a key that is the same in each attempt of one job or of one step of a workflow: for the idempotency key
    /// of an external service. A call that no job started has a key of its own.
    pub fn attempt(&self) -> &str {
        self.call.attempt.get_or_init(|| self.call.services.request_id())
    }

    /// Returns the HTTP client, for external services.
    ///
    /// # Errors
    /// `INTERNAL` if TLS cannot be set up on this machine.
    #[cfg(feature = "outbound")]
    pub fn http(&self) -> Result<Http> {
        Ok(self.call.services.http()?.within(self.call.span.clone()))
    }

    /// Returns a secret of the installation: the environment variable `CONVOKE_SECRET_<NAME>`, or the file
    /// `secrets/<NAME>` of the data folder with mode 0600. Each call reads it again.
    ///
    /// # Errors
    /// `INTERNAL` if it is not set or cannot be read; the log says what to do.
    pub fn secret(&self, name: &str) -> Result<Secret> {
        Ok(self.call.services.secret(name)?)
    }

    /// As [`ActionCtx::secret`], for an optional secret.
    ///
    /// # Errors
    /// `INTERNAL` if it is set and cannot be read.
    pub fn secret_if_set(&self, name: &str) -> Result<Option<Secret>> {
        match self.call.services.secret(name) {
            Err(SecretError::Missing { .. }) => Ok(None),
            secret => Ok(Some(secret?)),
        }
    }

    /// Returns a secret that the installation generates: as [`ActionCtx::secret`], but a missing secret is generated as
    /// 32 random bytes (in base64url) and stored in its file. It does not change afterwards. If several nodes serve one
    /// database, all of them derive the same secret. The operator may set another one, of at least 32 characters.
    ///
    /// # Errors
    /// `INTERNAL` if it can be neither read nor generated, or is too short.
    pub fn own_secret(&self, name: &str) -> Result<Secret> {
        Ok(self.call.services.own_secret(name)?)
    }

    /// Returns the turns: they serialize work on a thing, over all nodes that serve the database.
    pub fn turns(&self) -> &Turns {
        self.call.services.turns()
    }

    /// Returns the same action under a turn: its mutations are rejected with `CONFLICT` after another node has taken
    /// the turn over. A node that is unreachable for long loses its turns.
    #[must_use]
    pub fn under(&self, turn: &Turn) -> Self {
        let Some(has_turn) = turn.fence() else { return self.clone() };
        let also = self.call.lease.clone();
        let lease: LeaseCheck = Arc::new(move |db| {
            also.as_ref().map_or(Ok(()), |is_held| is_held(db))?;
            has_turn(db)
        });
        Self { call: Arc::new(self.call.begun_now().under(lease)), capture: self.capture.clone() }
    }

    /// Sleeps. It uses real time, which a test cannot advance.
    pub async fn sleep(&self, time: std::time::Duration) {
        tokio::time::sleep(time).await;
    }
}

/// Implemented by no type.
#[diagnostic::on_unimplemented(
    message = "an action cannot access the database: it runs outside transactions",
    label = "no transaction to read or write in",
    note = "read in a #[query], write in a #[mutation], and call them: `ctx.run::<the_function>(args).await?`"
)]
pub trait HasDatabase {}

impl Context for ActionCtx {
    fn call(&self) -> &Arc<Call> {
        &self.call
    }

    fn now(&self) -> Millis {
        self.call.services.clock().now()
    }
}
