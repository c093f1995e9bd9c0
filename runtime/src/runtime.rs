//! The runtime itself: what is made once at start and shared by every call.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::admin::audit::Audit;
use crate::auth::key_ring::{self, KeyRing};
use crate::call::identify::{self, Seen};
use crate::clock::{Clock, SystemClock};
use crate::error::{Error, Result};
use crate::function::{Entry, Function, SubmittedTable};
use crate::id::IdGenerator;
use crate::identity::Caller;
use crate::journal::{Entry as Ended, Filter, Follower, Journal};
use crate::limits::Limits;
use crate::outbound::{self, Http, HttpError, Secret, SecretError};
use crate::performance;
use crate::rate::Rates;
use crate::refusals::Refusals;
use crate::registry::{Registered, Registry, RegistryError};
use crate::scheduler::{Jobs, Scheduler, cron::Crons};
use crate::settings::{Section, SubmittedSection};
use crate::store::{OpenError, Store, StoreOptions, Stuck};

/// A running runtime. Clones share it.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    registry: Registry,
    store: Store,
    clock: Arc<dyn Clock>,
    ids: Arc<IdGenerator>,
    limits: Limits,
    rates: Rates,
    seen: Seen,
    deploy_keys: Arc<KeyRing>,
    audit: Audit,
    /// Whether this process has applied of the schema what a migration needs.
    is_expanded: AtomicBool,
    actions: Arc<Semaphore>,
    settings: toml::Table,
    /// Values of one type each: settings that were read, and state of the application in memory.
    typed: RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    /// A number of this process, so that rows tell what a former one left.
    boot: u32,
    scheduler: Scheduler,
    performance: performance::view::Memory,
    journal: Journal,
    refusals: Refusals,
    idempotent_replays: AtomicU64,
    data: PathBuf,
    http: OnceLock<Http>,
}

/// What a runtime is started with.
#[derive(Clone)]
pub struct RuntimeOptions {
    /// Where the database and everything else of this installation lie.
    pub data: PathBuf,
    /// The bounds.
    pub limits: Limits,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Whether ids have no randomness: for tests.
    pub predictable_ids: bool,
    /// What happens when a mutation never returns. A program that embeds the runtime is not ended for it.
    pub stuck: Stuck,
    /// `convoke.toml`, for the sections of the application and `[rates]`.
    pub settings: toml::Table,
}

impl RuntimeOptions {
    /// Defaults, with the data in `data`.
    pub fn in_folder(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            limits: Limits::default(),
            clock: Arc::new(SystemClock::new()),
            predictable_ids: false,
            stuck: Stuck::Report,
            settings: toml::Table::new(),
        }
    }
}

/// Why a runtime does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The functions.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The database.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The expression of a cron.
    #[error("{0}")]
    Cron(String),
    /// What the application says of its interface.
    #[error("{0}")]
    Interface(String),
    /// A setting.
    #[error("convoke.toml: {0}")]
    Setting(String),
}

impl Runtime {
    /// Collects the functions and opens the database. Calls are served from then on; scheduled work runs, and figures
    /// are kept, with [`Runtime::start_background`].
    ///
    /// # Errors
    /// [`StartError`], each saying what to change.
    pub fn start(options: RuntimeOptions) -> Result<Self, StartError> {
        let RuntimeOptions { data, limits, clock, predictable_ids, settings, stuck } = options;
        let registry = Registry::collect()?;
        let crons = Crons::collect(&registry).map_err(StartError::Cron)?;
        if let Some(problem) = section_problems(&settings).into_iter().next() {
            return Err(StartError::Setting(problem));
        }
        crate::openapi::About::collect().map_err(StartError::Interface)?;
        let rates = rates_of(&settings).map_err(StartError::Setting)?;
        let tables = inventory::iter::<SubmittedTable>().map(|table| table.0).collect();
        let store = Store::open(StoreOptions { stuck, ..StoreOptions::new(&data) }, &limits, clock.clone(), tables)?;
        let ids = if predictable_ids { IdGenerator::predictable() } else { IdGenerator::after(0) };
        ids.exceed(store.greatest_id());
        let mut boot = [0; 4];
        getrandom::fill(&mut boot).map_err(|error| StartError::Setting(error.to_string()))?;
        let runtime = Self(Arc::new(Inner {
            registry,
            store,
            clock,
            ids: Arc::new(ids),
            rates,
            seen: Seen::new(identify::REMEMBERED_MAX),
            deploy_keys: Arc::default(),
            audit: Audit::default(),
            is_expanded: AtomicBool::new(false),
            actions: Arc::new(Semaphore::new(limits.actions_max)),
            limits,
            settings,
            typed: RwLock::default(),
            boot: u32::from_le_bytes(boot),
            scheduler: Scheduler::new(crons),
            performance: performance::view::Memory::default(),
            journal: Journal::default(),
            refusals: Refusals::default(),
            idempotent_replays: AtomicU64::new(0),
            data,
            http: OnceLock::new(),
        }));
        runtime.load_deploy_keys();
        Ok(runtime)
    }

    /// Fills the memory of deploy keys, before anybody is asked for one.
    fn load_deploy_keys(&self) {
        match self.read(key_ring::all) {
            Ok(rows) => self.0.deploy_keys.fill(&rows),
            // A database whose schema does not fit may not have the table yet; the operator gets in without it.
            Err(error) => tracing::warn!("deploy keys cannot be read, so none is accepted: {}", error.chain()),
        }
    }

    /// The deploy keys of the installation.
    pub fn deploy_keys(&self) -> &Arc<KeyRing> {
        &self.0.deploy_keys
    }

    pub(crate) fn is_expanded(&self) -> &AtomicBool {
        &self.0.is_expanded
    }

    /// The record of their uses.
    pub fn audit(&self) -> &Audit {
        &self.0.audit
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
        &self.0.store
    }

    /// Whether a call would be served now.
    ///
    /// # Errors
    /// Why not, in one sentence.
    pub fn ready(&self) -> std::result::Result<(), String> {
        self.0.store.ready()
    }

    /// Scheduled work, as an operator sees it.
    pub fn jobs(&self) -> Jobs<'_> {
        Jobs(self)
    }

    /// A secret of the installation: `CONVOKE_SECRET_<NAME>`, or the file `secrets/<NAME>` of the data folder.
    ///
    /// # Errors
    /// [`SecretError`], which says where to put it.
    pub fn secret(&self, name: &str) -> Result<Secret, SecretError> {
        outbound::secret::read(&self.0.data, name)
    }

    /// As [`Runtime::secret`]; one that is set nowhere is made, in the file of the data folder.
    ///
    /// # Errors
    /// [`SecretError`].
    pub fn own_secret(&self, name: &str) -> Result<Secret, SecretError> {
        outbound::secret::read_or_make(&self.0.data, name)
    }

    pub(crate) fn http(&self) -> Result<&Http, HttpError> {
        if let Some(http) = self.0.http.get() {
            return Ok(http);
        }
        let made = Http::new(self.0.clock.clone())?;
        Ok(self.0.http.get_or_init(|| made))
    }

    pub(crate) fn scheduler(&self) -> &Scheduler {
        &self.0.scheduler
    }

    pub(crate) fn performance_memory(&self) -> &performance::view::Memory {
        &self.0.performance
    }

    /// The calls that ended lately and that a filter lets through, at most `count`, oldest first.
    pub fn recent_calls(&self, filter: &Filter, count: usize) -> Vec<Ended> {
        self.0.journal.recent(filter, count)
    }

    /// Follows the calls that end from now on and that a filter lets through.
    ///
    /// # Errors
    /// `OVERLOADED` if as many follow as may.
    pub fn follow_calls(&self, filter: Filter) -> Result<Follower> {
        self.0.journal.follow(filter)
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.0.journal
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.0.refusals
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.0.rates
    }

    /// Calls that were answered with what their idempotency key stood for already.
    pub(crate) fn idempotent_replays(&self) -> &AtomicU64 {
        &self.0.idempotent_replays
    }

    /// Where the database and everything else of this installation lie.
    pub(crate) fn data(&self) -> &Path {
        &self.0.data
    }

    /// Actions that run now.
    pub(crate) fn actions_running(&self) -> usize {
        self.limits().actions_max.saturating_sub(self.0.actions.available_permits())
    }

    pub(crate) fn boot(&self) -> u32 {
        self.0.boot
    }

    pub(crate) fn ids(&self) -> &Arc<IdGenerator> {
        &self.0.ids
    }

    pub(crate) fn seen(&self) -> &Seen {
        &self.0.seen
    }

    /// An id for a call that came without one: unique within the installation, not a secret.
    pub fn request_id(&self) -> Arc<str> {
        use std::sync::atomic::Ordering;
        static CALLS: AtomicU64 = AtomicU64::new(0);
        format!("{:08x}-{:x}", self.0.boot, CALLS.fetch_add(1, Ordering::Relaxed)).into()
    }

    pub(crate) fn charge(&self, caller: &Caller, entry: &Entry, cost: u32) -> Result<()> {
        self.0.rates.charge(caller, entry, cost, self.0.clock.now())
    }

    pub(crate) fn action_permit(&self) -> Result<OwnedSemaphorePermit> {
        let permit = self.0.actions.clone().try_acquire_owned();
        permit.map_err(|_| Error::overloaded("Too many actions are running; try again in a second"))
    }

    pub(crate) fn function<F: Function>(&self) -> Result<Registered> {
        self.0.registry.of_entry(F::ENTRY).cloned().ok_or_else(|| Error::internal("a function that is not registered"))
    }

    /// Counts a call that another function makes.
    pub(crate) fn count_nested(&self, entry: &'static Entry) {
        if let Some(function) = self.0.registry.of_entry(entry) {
            function.recorder.count_nested();
        }
    }

    pub(crate) fn path_of(&self, entry: &'static Entry) -> &str {
        self.0.registry.of_entry(entry).map_or("", |function| &function.path)
    }

    /// The settings of a section: those of `convoke.toml`, or its defaults.
    pub fn settings<S: Section>(&self) -> Arc<S> {
        self.typed(|| {
            // The sections were checked at start, where a mistake stops it.
            self.0.settings.get(S::NAME).cloned().and_then(|value| value.try_into().ok()).unwrap_or_default()
        })
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
pub(crate) fn section_problems(settings: &toml::Table) -> Vec<String> {
    let mut problems = Vec::new();
    for section in inventory::iter::<SubmittedSection>() {
        if let Some(value) = settings.get(section.name) {
            let checked = (section.check)(value.clone());
            problems.extend(checked.err().map(|error| format!("[{}]: {}", section.name, error.trim_end())));
        }
    }
    problems.extend(rates_of(settings).err());
    problems
}

fn rates_of(settings: &toml::Table) -> std::result::Result<Rates, String> {
    let rates = match settings.get("rates").cloned() {
        Some(table) => table.try_into().map_err(|error| format!("[rates]: {error}"))?,
        None => HashMap::new(),
    };
    Rates::new(&rates)
}
