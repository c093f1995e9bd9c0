//! The data that every context shares with its call, and the trait of contexts that can read.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use super::files::Files;
use crate::buckets::Payment;
use crate::function::FunctionDef;
use crate::inputs::{Inputs, UsedInputs};
use crate::leases::{LeaseLimits, LeaseOwner, LeaseValue, Leases};
use crate::performance::Performance;
use crate::services::Services;
use crate::trace::Span;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::identity::{Caller, Identity};
use convoke_store::{Db, Flow};

/// Check in a transaction: fails if this process no longer owns the work.
pub(crate) type LeaseCheck = Arc<dyn Fn(&Db) -> Result<()> + Send + Sync>;

/// One call, shared by all its contexts.
pub struct Call {
    pub(crate) services: Services,
    /// The function that was called from outside. Functions that it calls share its call.
    pub(crate) def: &'static FunctionDef,
    pub(crate) caller: Caller,
    /// The flow whose share of the readers and of the writer the call uses.
    pub(crate) flow: Flow,
    pub(crate) request_id: Arc<str>,
    /// A key that is the same in each attempt of a job.
    pub(crate) attempt: OnceLock<Arc<str>>,
    /// Start time of the query or mutation: the only time that it sees, the same in every attempt.
    pub(crate) now: Millis,
    /// Start of the call, in monotonic time.
    pub(crate) began: Duration,
    /// Charges to the rate of the caller.
    pub(crate) charges: Arc<Charges>,
    /// Decides if the call is rejected when its caller has written too much.
    pub(crate) payment: Payment,
    /// Condition for each transaction of an action: this process still owns the action.
    pub(crate) lease: Option<LeaseCheck>,
    /// The work of its transactions.
    pub(crate) work: Arc<Work>,
    /// Inputs that the function used beside its arguments and the database.
    pub(crate) inputs: UsedInputs,
    /// True if the call received a cached result.
    pub(crate) is_cached: AtomicBool,
    /// The span of the call, or of the function that an action called.
    pub(crate) span: Span,
    /// Number of functions that wait for the result of a function that they called.
    depth: AtomicU32,
}

/// Maximum depth of calls of functions by functions. The calls are on the stack of one thread, which has 2 MiB.
pub(crate) const DEPTH_MAX: u32 = 64;

/// A call of a function by a function of the same transaction.
pub(crate) struct NestedCall(Arc<Call>);

impl NestedCall {
    /// Begins one. It ends when the value is dropped.
    ///
    /// # Errors
    /// `INTERNAL` beyond [`DEPTH_MAX`].
    pub(crate) fn begin(call: &Arc<Call>, function: &'static FunctionDef) -> Result<Self> {
        call.require_depth(function)?;
        call.depth.fetch_add(1, Ordering::Relaxed);
        Ok(Self(call.clone()))
    }
}

impl Drop for NestedCall {
    fn drop(&mut self) {
        self.0.depth.fetch_sub(1, Ordering::Relaxed);
    }
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
            attempt: OnceLock::new(),
            request_id,
            now,
            began,
            charges,
            payment: Payment::Now,
            lease: None,
            work,
            inputs: UsedInputs::default(),
            is_cached: AtomicBool::new(false),
            span: Span::default(),
            depth: AtomicU32::new(0),
        }
    }

    /// Returns the same call for a function that an action calls.
    ///
    /// # Errors
    /// `INTERNAL` beyond [`DEPTH_MAX`].
    pub(crate) fn nested(&self, function: &'static FunctionDef) -> Result<Self> {
        self.require_depth(function)?;
        let call = self.begun_now();
        call.depth.fetch_add(1, Ordering::Relaxed);
        Ok(call)
    }

    fn require_depth(&self, function: &'static FunctionDef) -> Result<()> {
        if self.depth.load(Ordering::Relaxed) < DEPTH_MAX {
            return Ok(());
        }
        let path = self.services.path_of(function);
        Err(Error::internal(format!(
            "{path} was called at a depth of more than {DEPTH_MAX} calls of functions by functions; end the recursion, or \
             write it as a Rust function"
        )))
    }

    pub(crate) fn within(self, span: Span) -> Self {
        Self { span, ..self }
    }

    /// Makes the call free of charge, because an equal call has paid before.
    pub(crate) fn paid(self) -> Self {
        Self { charges: Arc::new(Charges { is_free: true, ..Charges::default() }), ..self }
    }

    /// Makes it the call of a job: its writes count against its user's rate, but do not stop it. `attempt` is the same
    /// in each attempt.
    pub(crate) fn of_job(self, attempt: Arc<str>) -> Self {
        Self { payment: Payment::Later, attempt: OnceLock::from(attempt), ..self }
    }

    /// Makes it the call of an action that another process may take over.
    pub(crate) fn under(self, lease: LeaseCheck) -> Self {
        Self { lease: Some(lease), ..self }
    }

    /// Returns the same call for a transaction that begins now: an action may have waited since its start.
    pub(crate) fn begun_now(&self) -> Self {
        Self {
            services: self.services.clone(),
            def: self.def,
            caller: self.caller.clone(),
            flow: self.flow,
            request_id: self.request_id.clone(),
            attempt: self.attempt.clone(),
            now: self.services.clock().now(),
            began: self.began,
            charges: Arc::new(self.charges.of_transaction()),
            payment: self.payment,
            lease: self.lease.clone(),
            work: self.work.clone(),
            inputs: UsedInputs::default(),
            is_cached: AtomicBool::new(false),
            span: self.span.clone(),
            depth: AtomicU32::new(self.depth.load(Ordering::Relaxed)),
        }
    }
}

/// The work of all transactions of one call, including repeated attempts.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// True if it is a part of a migration that is not complete.
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

/// The charges of a call: one for the call itself, and further ones. A mutation that runs again requests the same
/// charges again, and pays once.
#[derive(Debug, Default)]
pub(crate) struct Charges {
    /// True if the call itself is paid. The transaction that asks first pays.
    call: Arc<Mutex<bool>>,
    asked: AtomicU32,
    paid: AtomicU32,
    /// True if the call is free of charge.
    is_free: bool,
}

impl Charges {
    /// Returns the charges of a transaction that an action begins. It has a separate account: another transaction of
    /// the action may run between two of its attempts.
    fn of_transaction(&self) -> Self {
        Self { call: self.call.clone(), ..Self::default() }
    }

    /// Pays for the call itself, unless it is paid.
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

    /// Requests `cost`, and pays the part that is not paid yet.
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

    /// Returns true if the call itself is paid.
    pub(crate) fn is_call_paid(&self) -> bool {
        *self.call.lock()
    }

    /// Returns the total of the requests so far, for [`Charges::again_from`].
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Resets the requests for a new attempt of a query or mutation, to the total before its first attempt.
    pub(crate) fn again_from(&self, asked: u32) {
        self.asked.store(asked, Ordering::Relaxed);
    }
}

/// The methods of every context. Bring it into scope with `use convoke::prelude::*`.
pub trait Context {
    /// Returns the call of this context.
    #[doc(hidden)]
    fn call(&self) -> &Arc<Call>;

    /// Returns the caller.
    fn caller(&self) -> &Caller {
        self.call().inputs.record(Inputs::CALLER);
        &self.call().caller
    }

    /// Returns the identity of the caller, if any.
    fn identity(&self) -> Option<&Identity> {
        self.call().inputs.record(Inputs::CALLER);
        self.call().caller.identity().map(|identity| &**identity)
    }

    /// Returns the start time of the query or mutation, the same in every attempt. In an action, which may wait,
    /// returns the current time.
    fn now(&self) -> Millis {
        self.call().inputs.record(Inputs::UNANNOUNCED);
        self.call().now
    }

    /// Returns the duration of the call so far: report it, but do not decide by it. It differs between attempts.
    fn elapsed(&self) -> Duration {
        self.call().inputs.record(Inputs::UNANNOUNCED);
        let call = self.call();
        call.services.clock().monotonic().saturating_sub(call.began)
    }

    /// Returns the id of the call in logs.
    fn request_id(&self) -> &str {
        self.call().inputs.record(Inputs::UNANNOUNCED);
        &self.call().request_id
    }

    /// Returns the path of the function that was called from outside, e.g. `users/mutations/saveOnboarding`.
    fn root_path(&self) -> &str {
        self.call().services.path_of(self.call().def)
    }

    /// Returns the settings of one section of `convoke.toml`, which are read once.
    fn settings<S: convoke_core::sections::Section>(&self) -> Arc<S> {
        self.call().services.settings::<S>()
    }

    /// Returns the URL of a path of this server for clients, for example of a route: the setting `public_url`, or the
    /// address of the listener, and the path. In a test that starts no server, it is the path.
    fn url(&self, path: &str) -> String {
        let call = self.call();
        // A result from before the listener's address is known is not cached.
        if !call.services.has_url() {
            call.inputs.record(Inputs::UNANNOUNCED);
        }
        call.services.url(path)
    }

    /// Returns true if a secret of the installation is set and can be read. Only actions can read the secret itself.
    fn has_secret(&self, name: &str) -> bool {
        self.call().inputs.record(Inputs::UNANNOUNCED);
        self.call().services.secret(name).is_ok()
    }

    /// Returns state in memory beside the database, one value per type and runtime. Use it for metrics, not for facts.
    fn memory<S: Default + Send + Sync + 'static>(&self) -> Arc<S> {
        self.call().inputs.record(Inputs::MEMORY);
        self.call().services.memory::<S>()
    }

    /// Returns the leases of one kind, to be stored in [`Context::memory`]. All nodes that serve the database share
    /// them.
    fn leases<O: LeaseOwner, V: LeaseValue>(&self, kind: &'static str, limits: LeaseLimits) -> Leases<O, V> {
        self.call().services.leases(kind, limits)
    }

    /// Returns a number of this process that is unlikely to be that of another process of the installation.
    fn process(&self) -> u32 {
        self.call().inputs.record(Inputs::UNANNOUNCED);
        self.call().services.process()
    }

    /// Charges the call to its caller's rate. Repeated charges count once.
    ///
    /// # Errors
    /// `RATE_LIMITED` if the caller's bucket of the function's class is empty. `retryAfterMs` is the time until it is
    /// not.
    fn charge_call(&self) -> Result<()> {
        let call = self.call();
        call.charges.ask_for_call(|| call.services.charge(&call.caller, call.def, 1))
    }

    /// Charges `cost` more to the caller's rate, for a call with many items.
    ///
    /// # Errors
    /// As [`Context::charge_call`].
    fn charge(&self, cost: u32) -> Result<()> {
        let call = self.call();
        call.charges.ask(cost, |owed| call.services.charge(&call.caller, call.def, owed))
    }
}

/// A context that reads the database. Functions that only read take `&impl Read`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not read the database",
    label = "not the context of a #[query] or a #[mutation]",
    note = "an #[action] reads with a query: `ctx.run::<the_query>(args).await?`"
)]
pub trait Read: Context {
    /// Returns the database.
    fn db(&self) -> &Db;

    /// Returns the files, to make links and describe files of rows.
    fn files(&self) -> Files<'_> {
        let call = self.call();
        Files::new(&call.services, &call.inputs, call.now, self.db())
    }

    /// Returns the call metrics up to this moment: frequency, duration and failures of each function.
    fn performance(&self) -> Performance<'_> {
        self.call().inputs.record(Inputs::UNANNOUNCED);
        self.call().services.history().at(self.db())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_mutation_pays_once_and_the_next_mutation_pays_for_itself() {
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
    fn transactions_of_one_action_pay_for_the_call_once_and_each_for_its_further_charges() {
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
        assert_eq!(*paid.borrow(), [1, 3, 5, 2], "neither transaction is credited with the payments of the other");
    }

    #[test]
    fn rejected_charge_is_not_owed() {
        let charges = Charges::default();
        assert!(charges.ask(5, |_| Err(Error::internal("refused"))).is_err());
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
