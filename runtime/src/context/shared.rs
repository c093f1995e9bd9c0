//! What every context knows of its call, and the trait of those that can read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
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
    /// When the query or mutation began: the only time it sees, the same in every attempt.
    pub(crate) now: Millis,
    /// When the call began, in monotonic time.
    pub(crate) began: Duration,
    /// What was charged to its caller's rate.
    pub(crate) charges: Arc<Charges>,
    /// Whether it is a part of a migration that has not come to its end.
    pub(crate) is_part: Arc<AtomicBool>,
}

impl Call {
    pub(crate) fn new(runtime: Runtime, entry: &'static Entry, caller: Caller, request_id: Arc<str>) -> Self {
        let (now, began) = (runtime.clock().now(), runtime.clock().monotonic());
        Self { runtime, entry, caller, request_id, now, began, charges: Arc::default(), is_part: Arc::default() }
    }

    /// The same call for a transaction that begins now: an action may have waited since it began.
    pub(crate) fn begun_now(&self) -> Self {
        Self {
            runtime: self.runtime.clone(),
            entry: self.entry,
            caller: self.caller.clone(),
            request_id: self.request_id.clone(),
            now: self.runtime.clock().now(),
            began: self.began,
            charges: self.charges.clone(),
            is_part: self.is_part.clone(),
        }
    }
}

/// What a call was charged: for itself once, and beyond that. A mutation that is run again asks for the same once more,
/// and pays once.
#[derive(Debug, Default)]
pub(crate) struct Charges {
    /// Whether the call itself was paid.
    call: AtomicBool,
    asked: AtomicU32,
    paid: AtomicU32,
}

impl Charges {
    /// Asks for `cost`, and pays what is not paid yet.
    fn ask(&self, cost: u32, pay: impl FnOnce(u32) -> Result<()>) -> Result<()> {
        let asked = self.asked.load(Ordering::Relaxed).saturating_add(cost);
        let owed = asked.saturating_sub(self.paid.load(Ordering::Relaxed));
        if owed > 0 {
            pay(owed)?;
            self.paid.store(asked, Ordering::Relaxed);
        }
        self.asked.store(asked, Ordering::Relaxed);
        Ok(())
    }

    /// What was asked for so far, for [`Charges::again_from`].
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }

    /// A mutation begins again that began when this much was asked for.
    pub(crate) fn again_from(&self, asked: u32) {
        self.asked.store(asked, Ordering::Relaxed);
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

    /// When the query or mutation began, the same in every attempt; in an action, which may wait, the time now.
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
        let call = self.call();
        if !call.charges.call.load(Ordering::Relaxed) {
            call.runtime.charge(&call.caller, call.entry, 1)?;
            call.charges.call.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Charges `cost` more to the caller's rate, for a call that carries many items.
    ///
    /// # Errors
    /// As [`Context::charge_call`].
    fn charge(&self, cost: u32) -> Result<()> {
        let call = self.call();
        call.charges.ask(cost, |owed| call.runtime.charge(&call.caller, call.entry, owed))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutation_that_is_run_again_pays_once_and_the_next_one_pays_its_own() {
        let (charges, mut paid) = (Charges::default(), Vec::new());
        let mut ask = |cost| {
            charges
                .ask(cost, |owed| {
                    paid.push(owed);
                    Ok(())
                })
                .unwrap()
        };
        ask(5);
        let before = charges.asked();
        ask(3);
        charges.again_from(before);
        ask(3);
        ask(2);
        assert_eq!(paid, [5, 3, 2]);
    }

    #[test]
    fn what_was_refused_is_not_owed() {
        let charges = Charges::default();
        assert!(charges.ask(5, |_| Err(crate::Error::internal("refused"))).is_err());
        let mut paid = 0;
        charges
            .ask(2, |owed| {
                paid = owed;
                Ok(())
            })
            .unwrap();
        assert_eq!(paid, 2);
    }
}
