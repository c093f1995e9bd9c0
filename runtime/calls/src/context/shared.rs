//! What every context knows of its call, and the trait of those that can read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::buckets::Payment;
use crate::function::FunctionDef;
use crate::leases::{LeaseLimits, LeaseOwner, LeaseValue, Leases};
use crate::performance::Performance;
use crate::services::Services;
use convoke_core::clock::Millis;
use convoke_core::error::Result;
use convoke_core::identity::{Caller, Identity};
use convoke_store::{Db, Flow};

/// Fails in a transaction that is no longer its process's to make.
pub(crate) type Lease = Arc<dyn Fn(&Db) -> Result<()> + Send + Sync>;

/// One call, as all its contexts share it.
pub struct Call {
    pub(crate) services: Services,
    /// The function that was called from outside; functions it calls share its call.
    pub(crate) def: &'static FunctionDef,
    pub(crate) caller: Caller,
    /// Whose share of the readers and of the writer it takes.
    pub(crate) flow: Flow,
    pub(crate) request_id: Arc<str>,
    /// When the query or mutation began: the only time it sees, the same in every attempt.
    pub(crate) now: Millis,
    /// When the call began, in monotonic time.
    pub(crate) began: Duration,
    /// What was charged to its caller's rate.
    pub(crate) charges: Arc<Charges>,
    /// Whether it is refused when its caller has written too much.
    pub(crate) payment: Payment,
    /// What must hold in each transaction of an action: that it is still this process's to run.
    pub(crate) lease: Option<Lease>,
    /// The work of its transactions.
    pub(crate) work: Arc<Work>,
    /// What its function asked for beside its arguments and the database.
    pub(crate) inputs: InputsNoted,
    /// Whether it was given a result that was kept.
    pub(crate) is_kept: AtomicBool,
}

impl Call {
    pub(crate) fn new(
        services: Services,
        def: &'static FunctionDef,
        caller: Caller,
        flow: Flow,
        request_id: Arc<str>,
    ) -> Self {
        let (now, began) = (services.clock().now(), services.clock().monotonic());
        let (charges, work) = (Arc::default(), Arc::default());
        Self {
            services,
            def,
            caller,
            flow,
            request_id,
            now,
            began,
            charges,
            payment: Payment::Now,
            lease: None,
            work,
            inputs: InputsNoted::default(),
            is_kept: AtomicBool::new(false),
        }
    }

    /// A call that is charged to nobody: its like was paid before.
    pub(crate) fn paid(self) -> Self {
        Self { charges: Arc::new(Charges { is_free: true, ..Charges::default() }), ..self }
    }

    /// The call of a job: what it writes is taken from what its user may write, and does not stop it.
    pub(crate) fn of_job(self) -> Self {
        Self { payment: Payment::Later, ..self }
    }

    /// The call of an action that another process may take over.
    pub(crate) fn under(self, lease: Lease) -> Self {
        Self { lease: Some(lease), ..self }
    }

    /// The same call for a transaction that begins now: an action may have waited since it began.
    pub(crate) fn begun_now(&self) -> Self {
        Self {
            services: self.services.clone(),
            def: self.def,
            caller: self.caller.clone(),
            flow: self.flow,
            request_id: self.request_id.clone(),
            now: self.services.clock().now(),
            began: self.began,
            charges: Arc::new(self.charges.of_transaction()),
            payment: self.payment,
            lease: self.lease.clone(),
            work: self.work.clone(),
            inputs: InputsNoted::default(),
            is_kept: AtomicBool::new(false),
        }
    }
}

/// The work of all transactions of one call, also of those that were run again.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// True if it is a part of a migration that has not come to its end.
    pub(crate) is_part: AtomicBool,
    pub(crate) rows_read: AtomicU64,
    pub(crate) rows_written: AtomicU64,
    waited_ns: AtomicU64,
}

impl Work {
    /// Adds time that a transaction waited for a reader or for the writer.
    pub(crate) fn add_wait(&self, waited: Duration) {
        self.waited_ns.fetch_add(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_ns.load(Ordering::Relaxed))
    }
}

/// What a function may rest on beside its arguments and the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inputs(u8);

impl Inputs {
    /// Who calls.
    pub(crate) const CALLER: Inputs = Inputs(1);
    /// What no commit announces: the time, figures, the request id.
    pub(crate) const UNANNOUNCED: Inputs = Inputs(2);
    /// State in memory.
    pub(crate) const MEMORY: Inputs = Inputs(4);

    /// Whether it rests on nothing else.
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether `input` is among them.
    pub(crate) fn has(self, input: Inputs) -> bool {
        self.0 & input.0 != 0
    }
}

/// The inputs that were asked for so far.
#[derive(Debug, Default)]
pub(crate) struct InputsNoted(AtomicU8);

impl InputsNoted {
    /// One is asked for.
    pub(crate) fn note(&self, input: Inputs) {
        // Only one thread runs a function; an exclusive write would cost each call more than it is worth.
        let noted = self.0.load(Ordering::Relaxed);
        if noted | input.0 != noted {
            self.0.store(noted | input.0, Ordering::Relaxed);
        }
    }

    /// All that were asked for.
    pub(crate) fn noted(&self) -> Inputs {
        Inputs(self.0.load(Ordering::Relaxed))
    }
}

/// What a call was charged: for itself once, and beyond that. A mutation that is run again asks for the same once more,
/// and pays once.
#[derive(Debug, Default)]
pub(crate) struct Charges {
    /// Whether the call itself was paid: by whichever of its transactions asked first.
    call: Arc<Mutex<bool>>,
    asked: AtomicU32,
    paid: AtomicU32,
    /// Nothing is charged.
    is_free: bool,
}

impl Charges {
    /// The charges of a transaction that an action begins. What it asks for is its own account: another transaction of
    /// the action may run between two attempts of it.
    fn of_transaction(&self) -> Self {
        Self { call: self.call.clone(), ..Self::default() }
    }

    /// Pays for the call itself, unless that is done.
    pub(crate) fn ask_for_call(&self, pay: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_free {
            return Ok(());
        }
        let mut paid = self.call.lock();
        if !*paid {
            pay()?;
            *paid = true;
        }
        Ok(())
    }

    /// Asks for `cost`, and pays what is not paid yet.
    pub(crate) fn ask(&self, cost: u32, pay: impl FnOnce(u32) -> Result<()>) -> Result<()> {
        if self.is_free {
            return Ok(());
        }
        let asked = self.asked.load(Ordering::Relaxed).saturating_add(cost);
        let owed = asked.saturating_sub(self.paid.load(Ordering::Relaxed));
        if owed > 0 {
            pay(owed)?;
            self.paid.store(asked, Ordering::Relaxed);
        }
        self.asked.store(asked, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the call itself was paid.
    pub(crate) fn is_call_paid(&self) -> bool {
        *self.call.lock()
    }

    /// What was asked for so far, for [`Charges::again_from`].
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }

    /// A query or mutation begins again that began when this much was asked for.
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
        self.call().inputs.note(Inputs::CALLER);
        &self.call().caller
    }

    /// The identity the call runs as, if any.
    fn identity(&self) -> Option<&Identity> {
        self.call().inputs.note(Inputs::CALLER);
        self.call().caller.identity().map(|identity| &**identity)
    }

    /// When the query or mutation began, the same in every attempt; in an action, which may wait, the time now.
    fn now(&self) -> Millis {
        self.call().inputs.note(Inputs::UNANNOUNCED);
        self.call().now
    }

    /// How long the call has taken so far: a figure to report, never to decide by. It differs from attempt to attempt.
    fn elapsed(&self) -> Duration {
        self.call().inputs.note(Inputs::UNANNOUNCED);
        let call = self.call();
        call.services.clock().monotonic().saturating_sub(call.began)
    }

    /// The id under which the call stands in logs.
    fn request_id(&self) -> &str {
        self.call().inputs.note(Inputs::UNANNOUNCED);
        &self.call().request_id
    }

    /// The path of the function that was called from outside, e.g. `users/mutations/saveOnboarding`.
    fn root_path(&self) -> &str {
        self.call().services.path_of(self.call().def)
    }

    /// The settings of one section of `convoke.toml`, read once.
    fn settings<S: convoke_core::section::Section>(&self) -> Arc<S> {
        self.call().services.settings::<S>()
    }

    /// Whether a secret of the installation is set and can be read. The secret itself is for actions.
    fn has_secret(&self, name: &str) -> bool {
        self.call().inputs.note(Inputs::UNANNOUNCED);
        self.call().services.secret(name).is_ok()
    }

    /// State that lives in memory beside the database, one value a type and runtime: figures, not facts.
    fn memory<S: Default + Send + Sync + 'static>(&self) -> Arc<S> {
        self.call().inputs.note(Inputs::MEMORY);
        self.call().services.memory::<S>()
    }

    /// Leases of a kind of things, to be kept in [`Context::memory`]: those of all nodes that serve the database.
    fn leases<O: LeaseOwner, V: LeaseValue>(&self, kind: &'static str, limits: LeaseLimits) -> Leases<O, V> {
        self.call().services.leases(kind, limits)
    }

    /// A number of this process, which no other one of the installation is likely to have.
    fn process(&self) -> u32 {
        self.call().inputs.note(Inputs::UNANNOUNCED);
        self.call().services.process()
    }

    /// Charges the call to its caller's rate, once however often it is asked.
    ///
    /// # Errors
    /// `RATE_LIMITED` when the caller's bucket of the function's class is empty; `retryAfterMs` says when it is not.
    fn charge_call(&self) -> Result<()> {
        let call = self.call();
        call.charges.ask_for_call(|| call.services.charge(&call.caller, call.def, 1))
    }

    /// Charges `cost` more to the caller's rate, for a call that carries many items.
    ///
    /// # Errors
    /// As [`Context::charge_call`].
    fn charge(&self, cost: u32) -> Result<()> {
        let call = self.call();
        call.charges.ask(cost, |owed| call.services.charge(&call.caller, call.def, owed))
    }
}

/// A context that reads the database: helpers that only read take `&impl Read`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not read the database",
    label = "not the context of a #[query] or a #[mutation]",
    note = "an #[action] reads by a query: `ctx.run::<the_query>(args).await?`"
)]
pub trait Read: Context {
    /// The database.
    fn db(&self) -> &Db;

    /// How often functions are called, how long they take, and how often they fail: up to this moment.
    fn performance(&self) -> Performance<'_> {
        self.call().inputs.note(Inputs::UNANNOUNCED);
        self.call().services.history().at(self.db())
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
    fn transactions_of_one_action_pay_for_the_call_once_and_each_its_own_beyond() {
        let action = Charges::default();
        let (first, second) = (action.of_transaction(), action.of_transaction());
        let paid = std::cell::RefCell::new(Vec::new());
        let pay = |owed| {
            paid.borrow_mut().push(owed);
            Ok(())
        };
        for charges in [&action, &first, &second] {
            charges.ask_for_call(|| pay(1)).unwrap();
        }
        let ask = |charges: &Charges, cost| charges.ask(cost, pay).unwrap();
        ask(&first, 3);
        ask(&second, 5);
        first.again_from(0);
        ask(&first, 3);
        ask(&second, 2);
        assert_eq!(
            *paid.borrow(),
            [1, 3, 5, 2],
            "what the second paid is no credit of the first, nor the other way round"
        );
    }

    #[test]
    fn what_was_refused_is_not_owed() {
        let charges = Charges::default();
        assert!(charges.ask(5, |_| Err(convoke_core::error::Error::internal("refused"))).is_err());
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
