//! The context of an action.

use std::future::Future;
use std::sync::Arc;

use super::shared::{Call, Context};
use crate::call::execute::Run;
use crate::clock::Millis;
use crate::error::Result;
use crate::function::Function;
use crate::logs::Capture;
use crate::outbound::{Http, Secret, SecretError};

/// Works outside the database: waits, calls other services, and reaches the database through queries and mutations,
/// each a transaction of its own.
#[derive(Clone)]
pub struct ActionCtx {
    call: Arc<Call>,
    capture: Capture,
}

impl ActionCtx {
    pub(crate) fn new(call: Arc<Call>, capture: Capture) -> Self {
        Self { call, capture }
    }

    /// Calls a function as the same caller; a query or mutation is a transaction of its own.
    ///
    /// # Errors
    /// Those of the function.
    pub fn run<F: Function>(&self, args: impl Into<F::Args>) -> impl Future<Output = Result<F::Output>> + Send
    where
        F::Kind: Run<F>,
    {
        self.call.runtime.count_nested(F::ENTRY);
        <F::Kind as Run<F>>::run(Arc::new(self.call.begun_now()), self.capture.clone(), args.into())
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

    /// The HTTP client, for services outside.
    ///
    /// # Errors
    /// `INTERNAL` if the machine's TLS cannot be set up.
    pub fn http(&self) -> Result<Http> {
        Ok(self.call.runtime.http()?.clone())
    }

    /// A secret of the installation: the environment's `CONVOKE_SECRET_<NAME>`, or the file `secrets/<NAME>` of the
    /// data folder with mode 0600. Read anew each time.
    ///
    /// # Errors
    /// `INTERNAL` if it is set nowhere or cannot be read; the log says what to do.
    pub fn secret(&self, name: &str) -> Result<Secret> {
        Ok(self.call.runtime.secret(name)?)
    }

    /// As [`ActionCtx::secret`], for one that need not be set.
    ///
    /// # Errors
    /// `INTERNAL` if it is set and cannot be read.
    pub fn secret_if_set(&self, name: &str) -> Result<Option<Secret>> {
        match self.call.runtime.secret(name) {
            Err(SecretError::Missing { .. }) => Ok(None),
            secret => Ok(Some(secret?)),
        }
    }

    /// A secret that this installation makes for itself: as [`ActionCtx::secret`], and 32 random bytes (in base64url)
    /// in its file if it is set nowhere. It stays the same from then on.
    ///
    /// # Errors
    /// `INTERNAL` if it can be neither read nor made.
    pub fn own_secret(&self, name: &str) -> Result<Secret> {
        Ok(self.call.runtime.own_secret(name)?)
    }

    /// Waits. Time that a test holds still does not end it.
    pub async fn sleep(&self, time: std::time::Duration) {
        tokio::time::sleep(time).await;
    }
}

impl Context for ActionCtx {
    fn call(&self) -> &Arc<Call> {
        &self.call
    }

    fn now(&self) -> Millis {
        self.call.runtime.clock().now()
    }
}
