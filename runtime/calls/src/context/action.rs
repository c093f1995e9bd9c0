//! The context of an action. How it runs other functions is the executors' ([`crate::execute`]).

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use super::shared::{Call, Context, Lease};
use crate::logs::Capture;
#[cfg(feature = "outbound")]
use crate::outbound::Http;
use crate::outbound::{Secret, SecretError};
use crate::turns::{Turn, Turns};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::priority::{Niceness, lower_priority};
use convoke_store::{Db, DbMut};

/// Works outside the database: waits, calls other services, and reaches the database through queries and mutations,
/// each a transaction of its own.
#[derive(Clone)]
pub struct ActionCtx {
    pub(crate) call: Arc<Call>,
    pub(crate) capture: Capture,
}

impl ActionCtx {
    pub(crate) fn new(call: Arc<Call>, capture: Capture) -> Self {
        Self { call, capture }
    }

    /// What a query and a mutation have.
    #[doc(hidden)]
    pub fn db(&self) -> &Db
    where
        for<'a> &'a Self: HasDatabase,
    {
        unreachable!("nothing fulfils the condition")
    }

    /// What a mutation has.
    #[doc(hidden)]
    pub fn db_mut(&self) -> &mut DbMut
    where
        for<'a> &'a Self: HasDatabase,
    {
        unreachable!("nothing fulfils the condition")
    }

    /// Runs a future beside the action; what it logs is the action's.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        tokio::spawn(self.capture.around(future))
    }

    /// Runs blocking work on a thread for it; what it logs is the action's.
    pub fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        let capture = self.capture.clone();
        tokio::task::spawn_blocking(move || capture.within(work))
    }

    /// Runs work that keeps a core busy on a thread of its own, so that neither calls nor reads wait for it; what it logs
    /// is the action's. It runs to its end also if nobody waits for it any more. How many run at once is for the caller
    /// to bound.
    ///
    /// # Errors
    /// `INTERNAL` if there is no room for a thread.
    ///
    /// # Panics
    /// If the work does.
    pub async fn work_on_thread<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let (done, result) = tokio::sync::oneshot::channel();
        let capture = self.capture.clone();
        let work = move || {
            lower_priority(Niceness::BelowReaders);
            let worked = catch_unwind(AssertUnwindSafe(|| capture.within(work)));
            // Who does not wait any more needs no result.
            drop(done.send(worked));
        };
        std::thread::Builder::new().name("convoke-work".to_owned()).spawn(work).map_err(Error::internal)?;
        match result.await.map_err(Error::internal)? {
            Ok(worked) => Ok(worked),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// The HTTP client, for services outside.
    ///
    /// # Errors
    /// `INTERNAL` if the machine's TLS cannot be set up.
    #[cfg(feature = "outbound")]
    pub fn http(&self) -> Result<Http> {
        Ok(self.call.services.http()?.clone())
    }

    /// A secret of the installation: the environment's `CONVOKE_SECRET_<NAME>`, or the file `secrets/<NAME>` of the
    /// data folder with mode 0600. Read anew each time.
    ///
    /// # Errors
    /// `INTERNAL` if it is set nowhere or cannot be read; the log says what to do.
    pub fn secret(&self, name: &str) -> Result<Secret> {
        Ok(self.call.services.secret(name)?)
    }

    /// As [`ActionCtx::secret`], for one that need not be set.
    ///
    /// # Errors
    /// `INTERNAL` if it is set and cannot be read.
    pub fn secret_if_set(&self, name: &str) -> Result<Option<Secret>> {
        match self.call.services.secret(name) {
            Err(SecretError::Missing { .. }) => Ok(None),
            secret => Ok(Some(secret?)),
        }
    }

    /// A secret that this installation makes for itself: as [`ActionCtx::secret`], and 32 random bytes (in base64url)
    /// in its file if it is set nowhere. It stays the same from then on. Where several nodes serve one database, all of
    /// them make the same one.
    ///
    /// # Errors
    /// `INTERNAL` if it can be neither read nor made.
    pub fn own_secret(&self, name: &str) -> Result<Secret> {
        Ok(self.call.services.own_secret(name)?)
    }

    /// What is done one at a time to one thing: by all nodes where several serve the database.
    pub fn turns(&self) -> &Turns {
        self.call.services.turns()
    }

    /// The same action, whose mutations are refused with `CONFLICT` from when another node has taken this turn over: one that
    /// was not heard of for long loses it.
    #[must_use]
    pub fn under(&self, turn: &Turn) -> Self {
        let Some(has_turn) = turn.fence() else { return self.clone() };
        let also = self.call.lease.clone();
        let lease: Lease = Arc::new(move |db| {
            also.as_ref().map_or(Ok(()), |is_held| is_held(db))?;
            has_turn(db)
        });
        Self { call: Arc::new(self.call.begun_now().under(lease)), capture: self.capture.clone() }
    }

    /// Waits. Time that a test holds still does not end it.
    pub async fn sleep(&self, time: std::time::Duration) {
        tokio::time::sleep(time).await;
    }
}

/// Fulfilled by nothing.
#[diagnostic::on_unimplemented(
    message = "an action has no database: it runs outside of transactions",
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
