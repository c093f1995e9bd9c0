//! What every context knows of its call, and the trait of those that can read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock::Millis;
use crate::error::Result;
use crate::function::Entry;
use crate::identity::{Caller, Identity};
use crate::performance::{self, Performance};
use crate::runtime::Runtime;
use crate::store::Db;

/// One call, as all its contexts share it.
pub struct Call {
    pub(crate) runtime: Runtime,
    /// The function that was called from outside; functions it calls share its call.
    pub(crate) entry: &'static Entry,
    pub(crate) caller: Caller,
    pub(crate) request_id: Arc<str>,
    /// When the call began: the only time a query or mutation sees, the same in every attempt.
    pub(crate) now: Millis,
    /// When the call began, in monotonic time.
    pub(crate) began: Duration,
    /// Whether the call was charged to its caller's rate already.
    charged: AtomicBool,
}

impl Call {
    pub(crate) fn new(runtime: Runtime, entry: &'static Entry, caller: Caller, request_id: Arc<str>) -> Self {
        let (now, began) = (runtime.clock().now(), runtime.clock().monotonic());
        Self { runtime, entry, caller, request_id, now, began, charged: AtomicBool::new(false) }
    }
}

/// What every context offers. Bring it into scope with `use convoke::prelude::*`.
pub trait Context {
    /// The call this context belongs to.
    #[doc(hidden)]
    fn call(&self) -> &Arc<Call>;

    /// Who calls.
    fn caller(&self) -> &Caller {
        &self.call().caller
    }

    /// The identity the call runs as, if any.
    fn identity(&self) -> Option<&Identity> {
        self.call().caller.identity().map(|identity| &**identity)
    }

    /// When the call began, the same in every attempt of a mutation.
    fn now(&self) -> Millis {
        self.call().now
    }

    /// How long the call has taken so far: a figure to report, never to decide by. It differs from attempt to attempt.
    fn elapsed(&self) -> Duration {
        let call = self.call();
        call.runtime.clock().monotonic().saturating_sub(call.began)
    }

    /// The id under which the call stands in logs.
    fn request_id(&self) -> &str {
        &self.call().request_id
    }

    /// The path of the function that was called from outside, e.g. `users/mutations/saveOnboarding`.
    fn root_path(&self) -> &str {
        self.call().runtime.path_of(self.call().entry)
    }

    /// The settings of one section of `convoke.toml`, read once.
    fn settings<S: crate::settings::Section>(&self) -> Arc<S> {
        self.call().runtime.settings::<S>()
    }

    /// Whether a secret of the installation is set and can be read. The secret itself is for actions.
    fn has_secret(&self, name: &str) -> bool {
        self.call().runtime.secret(name).is_ok()
    }

    /// State that lives in memory beside the database, one value a type and runtime: figures, not facts.
    fn memory<S: Default + Send + Sync + 'static>(&self) -> Arc<S> {
        self.call().runtime.memory::<S>()
    }

    /// Charges the call to its caller's rate, once however often it is asked.
    ///
    /// # Errors
    /// `RATE_LIMITED` when the caller's bucket of the function's class is empty; `retryAfterMs` says when it is not.
    fn charge_call(&self) -> Result<()> {
        if self.call().charged.swap(true, Ordering::Relaxed) { Ok(()) } else { self.charge(1) }
    }

    /// Charges `cost` more to the caller's rate, for a call that carries many items.
    ///
    /// # Errors
    /// As [`Context::charge_call`].
    fn charge(&self, cost: u32) -> Result<()> {
        let call = self.call();
        call.runtime.charge(&call.caller, call.entry, cost)
    }
}

/// A context that reads the database: helpers that only read take `&impl Read`.
pub trait Read: Context {
    /// The database.
    fn db(&self) -> &Db;

    /// How often functions are called, how long they take, and how often they fail: up to this moment.
    fn performance(&self) -> Performance<'_> {
        performance::view::of(self)
    }
}
