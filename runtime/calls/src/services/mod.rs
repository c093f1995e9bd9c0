//! What is made once at start and what everything else may hold: functions, database, time, limits, settings, memory.
//!
//! It knows neither how a call is dispatched nor who observes it; that is the runtime's, which stands on it.

mod alarm;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(feature = "outbound")]
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use parking_lot::RwLock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::buckets::Payment;
use crate::function::{Function, FunctionDef};
use crate::leases::{LeaseLimits, LeaseOwner, LeaseValue, Leases};
use crate::observe::CallObserver;
use crate::outbound::{self, Secret, SecretError, StoreKey};
#[cfg(feature = "outbound")]
use crate::outbound::{Http, HttpError};
use crate::performance::History;
use crate::rate::Rates;
use crate::registry::{Registered, Registry};
use crate::turns::Turns;
pub(crate) use alarm::Alarm;
use convoke_core::answer::budget::Budget;
use convoke_core::answer::writer::Writer;
use convoke_core::clock::Clock;
use convoke_core::error::{Error, Result};
use convoke_core::id::IdGenerator;
use convoke_core::identity::Caller;
use convoke_core::limits::Limits;
use convoke_core::section::{Section, SubmittedSection};
use convoke_store::{Database, Db, ReadLimits, Store};

/// The services of a runtime. Clones share them.
#[derive(Clone)]
pub struct Services(Arc<Inner>);

struct Inner {
    registry: Arc<Registry>,
    database: Database,
    clock: Arc<dyn Clock>,
    limits: Limits,
    rates: Rates,
    actions: Arc<Semaphore>,
    answers: Arc<Budget>,
    settings: toml::Table,
    /// Values of one type each: settings that were read, and state of the application in memory.
    typed: RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    /// A number of this process, so that rows tell what a former one left.
    boot: u32,
    history: Arc<History>,
    turns: Turns,
    alarm: Alarm,
    idempotent_replays: AtomicU64,
    data: PathBuf,
    /// What own secrets are made from where other nodes need the same ones.
    store_key: Option<StoreKey>,
    #[cfg(feature = "outbound")]
    http: OnceLock<Http>,
}

/// An observer of another crate, made once for each runtime that is started.
pub struct SubmittedObserver(pub fn(&Services) -> Arc<dyn CallObserver>);
inventory::collect!(SubmittedObserver);

/// What [`Services::new`] takes.
pub(crate) struct ServicesOptions {
    pub registry: Registry,
    pub store: Store,
    pub ids: IdGenerator,
    pub clock: Arc<dyn Clock>,
    pub limits: Limits,
    pub rates: Rates,
    pub settings: toml::Table,
    pub data: PathBuf,
    pub store_key: Option<StoreKey>,
    pub boot: u32,
}

impl Services {
    pub(crate) fn new(options: ServicesOptions) -> Self {
        let ServicesOptions { registry, store, ids, clock, limits, rates, settings, data, store_key, boot } = options;
        let (registry, rates) = (Arc::new(registry), rates.with_nodes_of(&store));
        let turns = Turns::of(&store);
        let database = Database::new(store, ids, clock.clone(), ReadLimits::from(&limits));
        Self(Arc::new(Inner {
            history: Arc::new(History::new(registry.clone(), database.clone(), clock.clone(), boot)),
            registry,
            database,
            clock,
            rates,
            actions: Arc::new(Semaphore::new(limits.actions_max)),
            answers: Budget::new(limits.response_bytes_total_max),
            limits,
            settings,
            typed: RwLock::default(),
            boot,
            turns,
            alarm: Alarm::default(),
            idempotent_replays: AtomicU64::new(0),
            data,
            store_key,
            #[cfg(feature = "outbound")]
            http: OnceLock::new(),
        }))
    }

    /// The functions.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// The bounds.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// The store.
    pub fn store(&self) -> &Store {
        self.0.database.store()
    }

    /// The database, for what the runtime itself keeps there.
    pub fn database(&self) -> &Database {
        &self.0.database
    }

    /// Reads the database in one snapshot, on the thread that calls: for tools, tests and programs that embed the
    /// runtime. Functions read through their context.
    ///
    /// # Errors
    /// Those of `work` and of the store.
    pub fn read<R>(&self, work: impl Fn(&Db) -> Result<R>) -> Result<R> {
        self.database().read_blocking(work)
    }

    /// Whether a call would be served now.
    ///
    /// # Errors
    /// Why not, in one sentence.
    pub fn ready(&self) -> std::result::Result<(), String> {
        self.store().ready()
    }

    /// A secret of the installation: `CONVOKE_SECRET_<NAME>`, or the file `secrets/<NAME>` of the data folder.
    ///
    /// # Errors
    /// [`SecretError`], which says where to put it.
    pub fn secret(&self, name: &str) -> Result<Secret, SecretError> {
        outbound::secret::read(&self.0.data, name)
    }

    /// As [`Services::secret`]; one that is set nowhere is made: in the file of the data folder, or, where several nodes
    /// serve the database, from the key that they share.
    ///
    /// # Errors
    /// [`SecretError`].
    pub fn own_secret(&self, name: &str) -> Result<Secret, SecretError> {
        let Some(key) = &self.0.store_key else { return outbound::secret::read_or_make(&self.0.data, name) };
        match self.secret(name) {
            Err(SecretError::Missing { .. }) => Ok(key.secret(name)),
            secret => secret,
        }
    }

    #[cfg(feature = "outbound")]
    pub(crate) fn http(&self) -> Result<&Http, HttpError> {
        if let Some(http) = self.0.http.get() {
            return Ok(http);
        }
        let made = Http::new(self.0.clock.clone())?;
        Ok(self.0.http.get_or_init(|| made))
    }

    /// How much each identity may call and write.
    pub fn rates(&self) -> &Rates {
        &self.0.rates
    }

    /// What is done one at a time.
    pub fn turns(&self) -> &Turns {
        &self.0.turns
    }

    /// Calls that were answered with what their idempotency key stood for already.
    pub fn idempotent_replays(&self) -> &AtomicU64 {
        &self.0.idempotent_replays
    }

    /// Where the database and everything else of this installation lie.
    pub fn data(&self) -> &Path {
        &self.0.data
    }

    /// Actions that run now.
    pub fn actions_running(&self) -> usize {
        self.limits().actions_max.saturating_sub(self.0.actions.available_permits())
    }

    /// The calls of this runtime over time.
    pub fn history(&self) -> &Arc<History> {
        &self.0.history
    }

    /// Wakes the scheduler.
    pub(crate) fn alarm(&self) -> &Alarm {
        &self.0.alarm
    }

    pub(crate) fn boot(&self) -> u32 {
        self.0.boot
    }

    /// A number of this process, which no other one of the installation is likely to have.
    pub fn process(&self) -> u32 {
        self.0.boot
    }

    /// An id for a call that came without one: unique within the installation, not a secret.
    pub fn request_id(&self) -> Arc<str> {
        use std::sync::atomic::Ordering;
        static CALLS: AtomicU64 = AtomicU64::new(0);
        format!("{:08x}-{:x}", self.0.boot, CALLS.fetch_add(1, Ordering::Relaxed)).into()
    }

    pub(crate) fn charge(&self, caller: &Caller, function: &FunctionDef, cost: u32) -> Result<()> {
        self.0.rates.charge(caller, function, cost, self.0.clock.now())
    }

    /// What the bytes of answers are charged to.
    pub fn answers(&self) -> &Arc<Budget> {
        &self.0.answers
    }

    /// For the result of one call.
    pub(crate) fn writer(&self) -> Writer {
        Writer::new(self.0.answers.clone(), self.limits().response_bytes_max)
    }

    /// Charges a caller for the bytes that a mutation has written.
    pub(crate) fn charge_bytes(&self, caller: &Caller, bytes: u64, payment: Payment) -> Result<()> {
        self.0.rates.charge_bytes(caller, bytes, payment, self.0.clock.now())
    }

    pub(crate) fn action_permit(&self) -> Result<OwnedSemaphorePermit> {
        let permit = self.0.actions.clone().try_acquire_owned();
        permit.map_err(|_| Error::overloaded("Too many actions are running; try again in a second"))
    }

    pub(crate) fn function<F: Function>(&self) -> Result<Registered> {
        self.0.registry.of_def(F::DEF).cloned().ok_or_else(|| Error::internal("a function that is not registered"))
    }

    /// Counts a call that another function makes.
    pub(crate) fn count_nested(&self, def: &'static FunctionDef) {
        if let Some(function) = self.0.registry.of_def(def) {
            function.count_nested();
        }
    }

    pub(crate) fn path_of(&self, def: &'static FunctionDef) -> &str {
        self.0.registry.of_def(def).map_or("", |function| &function.path)
    }

    /// The settings of a section: those of `convoke.toml`, or its defaults.
    pub fn settings<S: Section>(&self) -> Arc<S> {
        self.typed(|| {
            // The sections were checked at start, where a mistake stops it.
            self.0.settings.get(S::NAME).cloned().and_then(|value| value.try_into().ok()).unwrap_or_default()
        })
    }

    /// Leases of a kind of things, which the application keeps in its memory: those of all nodes that serve the database.
    pub fn leases<O: LeaseOwner, V: LeaseValue>(&self, kind: &'static str, limits: LeaseLimits) -> Leases<O, V> {
        Leases::of(self.store(), self.clock(), kind, limits)
    }

    /// State of the application that lives in memory, one value a type.
    pub fn memory<S: Default + Send + Sync + 'static>(&self) -> Arc<S> {
        self.typed::<Memory<S>>(Memory::default).0.clone()
    }

    fn typed<S: Send + Sync + 'static>(&self, make: impl FnOnce() -> S) -> Arc<S> {
        let id = TypeId::of::<S>();
        let found = self.0.typed.read().get(&id).cloned();
        let value = found.unwrap_or_else(|| {
            let made = Arc::new(make());
            self.0.typed.write().entry(id).or_insert(made).clone()
        });
        value.downcast().expect("the key is the value's type")
    }
}

/// Keeps memory apart from settings of the same type.
#[derive(Default)]
struct Memory<S>(Arc<S>);

/// What does not fit in `[rates]` and the application's sections, one sentence each.
pub fn section_problems(settings: &toml::Table) -> Vec<String> {
    let mut problems = Vec::new();
    for section in inventory::iter::<SubmittedSection>() {
        if let Some(value) = settings.get(section.name) {
            let checked = (section.check)(value.clone());
            problems.extend(checked.err().map(|error| format!("[{}]: {}", section.name, error.trim_end())));
        }
    }
    problems.extend(rates_of(settings, &Limits::default()).err());
    problems
}

pub(crate) fn rates_of(settings: &toml::Table, limits: &Limits) -> std::result::Result<Rates, String> {
    let rates = match settings.get("rates").cloned() {
        Some(table) => table.try_into().map_err(|error| format!("[rates]: {error}"))?,
        None => HashMap::new(),
    };
    Rates::new(&rates, limits)
}
