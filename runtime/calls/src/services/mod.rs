//! The services: built once at start, and shared by all other parts: functions, database, time, limits, settings,
//! memory.
//!
//! They know neither the dispatch of calls nor the observers, which belong to the runtime above.

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
use crate::files::{Depot, DepotOptions, FilesSettings};
use crate::function::{Function, FunctionDef};
use crate::leases::{LeaseLimits, LeaseOwner, LeaseValue, Leases};
use crate::observe::CallObserver;
use crate::outbound::{self, Secret, SecretError, StoreKey};
#[cfg(feature = "outbound")]
use crate::outbound::{Http, HttpError};
use crate::performance::History;
use crate::public_url::PublicUrl;
use crate::rate::Rates;
use crate::registry::{Registered, Registry};
use crate::trace::Recorder;
use crate::turns::Turns;
pub(crate) use alarm::Alarm;
use convoke_core::answer::budget::Budget;
use convoke_core::answer::writer::Writer;
use convoke_core::clock::Clock;
use convoke_core::error::{Error, Result};
use convoke_core::id::IdGenerator;
use convoke_core::identity::Caller;
use convoke_core::limits::Limits;
use convoke_core::queues::Queues;
use convoke_core::sections::{Section, SubmittedSection};
use convoke_store::{Database, Db, Disk, Floor, Nodes, ReadLimits, Store, file_fields};

/// The services of a runtime. Clones share them.
#[derive(Clone)]
pub struct Services(Arc<Inner>);

struct Inner {
    registry: Arc<Registry>,
    database: Database,
    clock: Arc<dyn Clock>,
    limits: Limits,
    rates: Rates,
    queues: Queues,
    actions: Arc<Semaphore>,
    answers: Arc<Budget>,
    settings: toml::Table,
    /// One value per type: settings that were read, and state of the application in memory.
    typed: RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    /// A number of this process. It distinguishes its rows from those of an earlier process.
    boot: u32,
    history: Arc<History>,
    turns: Turns,
    public_url: PublicUrl,
    files: Arc<Depot>,
    alarm: Alarm,
    #[cfg(feature = "outbound")]
    deliveries_alarm: Alarm,
    idempotent_replays: AtomicU64,
    data: PathBuf,
    is_development: bool,
    /// The key for own secrets that all nodes derive.
    store_key: Option<StoreKey>,
    recorder: Option<Arc<Recorder>>,
    #[cfg(feature = "outbound")]
    http: OnceLock<Http>,
}

/// An observer of another crate, built once for each runtime.
pub struct SubmittedObserver(pub fn(&Services) -> Arc<dyn CallObserver>);
inventory::collect!(SubmittedObserver);

/// The parts of [`Services::new`].
pub(crate) struct ServicesOptions {
    pub registry: Registry,
    pub store: Store,
    pub ids: IdGenerator,
    pub clock: Arc<dyn Clock>,
    pub limits: Limits,
    pub rates: Rates,
    pub queues: Queues,
    pub settings: toml::Table,
    pub data: PathBuf,
    pub store_key: Option<StoreKey>,
    pub boot: u32,
    pub is_development: bool,
    pub public_url: Option<String>,
    pub disk: Arc<dyn Disk>,
    /// Receiver of spans and log records, if they are sent anywhere.
    pub recorder: Option<Arc<Recorder>>,
}

impl Services {
    /// Builds the services.
    ///
    /// # Errors
    /// What is wrong in the settings, for the operator.
    pub(crate) fn new(options: ServicesOptions) -> Result<Self, String> {
        let ServicesOptions {
            registry,
            store,
            ids,
            clock,
            limits,
            rates,
            queues,
            settings,
            data,
            store_key,
            boot,
            is_development,
            public_url,
            disk,
            recorder,
        } = options;
        let (registry, rates) = (Arc::new(registry), rates.with_nodes_of(&store));
        let turns = Turns::of(&store);
        let is_alone = matches!(store.nodes(), Nodes::Alone);
        let has_files = store.tables().iter().any(|table| file_fields::has_files(table));
        let database = Database::new(store, ids, clock.clone(), ReadLimits::from(&limits));
        let public_url = PublicUrl::new(public_url);
        let files = Depot::new(DepotOptions {
            data: data.clone(),
            store_key: store_key.clone(),
            settings: FilesSettings::of(&settings),
            public_url: public_url.clone(),
            disk,
            floor: Floor::of(&limits),
        })?;
        if is_alone {
            files.remove_cut();
        } else if has_files && let Some(problem) = files.unshared() {
            tracing::warn!(target: "convoke::files", "{problem}");
        }
        Ok(Self(Arc::new(Inner {
            history: Arc::new(History::new(registry.clone(), database.clone(), clock.clone(), boot)),
            registry,
            database,
            clock,
            rates,
            queues,
            actions: Arc::new(Semaphore::new(limits.actions_max)),
            answers: Budget::new(limits.response_bytes_total_max),
            limits,
            settings,
            typed: RwLock::default(),
            boot,
            turns,
            public_url,
            files: Arc::new(files),
            alarm: Alarm::default(),
            #[cfg(feature = "outbound")]
            deliveries_alarm: Alarm::default(),
            is_development,
            idempotent_replays: AtomicU64::new(0),
            data,
            store_key,
            recorder,
            #[cfg(feature = "outbound")]
            http: OnceLock::new(),
        })))
    }

    /// Returns the functions.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Returns the clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        self.0.database.store()
    }

    /// Returns the database, for the tables of the runtime itself.
    pub fn database(&self) -> &Database {
        &self.0.database
    }

    /// Reads the database in one snapshot, on the caller's thread: for tools, tests and programs that embed the
    /// runtime. Functions read through their context.
    ///
    /// # Errors
    /// Those of `work` and of the store.
    pub fn read<R>(&self, work: impl Fn(&Db) -> Result<R>) -> Result<R> {
        self.database().read_blocking(work)
    }

    /// Checks that calls can be served now.
    ///
    /// # Errors
    /// The reason why not, in one sentence.
    pub fn ready(&self) -> std::result::Result<(), String> {
        self.store().ready()
    }

    /// Returns a secret of the installation: `CONVOKE_SECRET_<NAME>`, or the file `secrets/<NAME>` of the data folder.
    ///
    /// # Errors
    /// [`SecretError`], which says where to set it.
    pub fn secret(&self, name: &str) -> Result<Secret, SecretError> {
        outbound::secret::read(&self.0.data, name)
    }

    /// As [`Services::secret`], but generates a missing secret: in a file of the data folder, or, if several nodes
    /// serve the database, from the key that they share. A secret with fewer than 32 characters is rejected.
    ///
    /// # Errors
    /// [`SecretError`].
    pub fn own_secret(&self, name: &str) -> Result<Secret, SecretError> {
        let Some(key) = &self.0.store_key else { return outbound::secret::read_or_make(&self.0.data, name) };
        match outbound::secret::read_key(&self.0.data, name) {
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

    /// Returns the rates: limits of calls and of written bytes per identity.
    pub fn rates(&self) -> &Rates {
        &self.0.rates
    }

    /// Returns the queues of scheduled work.
    pub fn queues(&self) -> &Queues {
        &self.0.queues
    }

    /// Returns the turns, which serialize work.
    pub fn turns(&self) -> &Turns {
        &self.0.turns
    }

    /// Sets the address of the listener, for example `http://127.0.0.1:3210`. Without
    /// [`RuntimeOptions::public_url`](crate::runtime::RuntimeOptions::public_url), links begin with it.
    pub fn serve_at(&self, address: String) {
        self.0.public_url.set(address);
    }

    /// Returns true if the address under which clients reach the server is known.
    pub(crate) fn has_url(&self) -> bool {
        self.0.public_url.is_set()
    }

    /// Returns the URL of a path of this server. Without an address, it is the path.
    pub fn url(&self, path: &str) -> String {
        self.0.public_url.of(path)
    }

    /// Returns the files: their storage, addresses and counters.
    pub fn files(&self) -> &Arc<Depot> {
        &self.0.files
    }

    /// Returns the number of calls whose response was the stored result of an idempotency key.
    pub fn idempotent_replays(&self) -> &AtomicU64 {
        &self.0.idempotent_replays
    }

    /// Returns the data folder: the database and all other files of this installation.
    pub fn data(&self) -> &Path {
        &self.0.data
    }

    /// Returns the number of running actions.
    pub fn actions_running(&self) -> usize {
        self.limits().actions_max.saturating_sub(self.0.actions.available_permits())
    }

    /// Returns the history of the runtime's calls.
    pub fn history(&self) -> &Arc<History> {
        &self.0.history
    }

    /// Returns the alarm that wakes the scheduler.
    pub(crate) fn alarm(&self) -> &Alarm {
        &self.0.alarm
    }

    /// Returns the alarm that wakes the deliverer of webhooks.
    #[cfg(feature = "outbound")]
    pub(crate) fn deliveries_alarm(&self) -> &Alarm {
        &self.0.deliveries_alarm
    }

    /// Returns the receiver of spans and log records, if they are sent anywhere.
    pub fn recorder(&self) -> Option<&Arc<Recorder>> {
        self.0.recorder.as_ref()
    }

    /// Returns true if the server is for development.
    pub fn is_development(&self) -> bool {
        self.0.is_development
    }

    /// Returns a number of this process that is unlikely to be that of another process of the installation.
    pub fn process(&self) -> u32 {
        self.0.boot
    }

    /// Returns an id for a call without a request id: unique within the installation, not a secret.
    pub fn request_id(&self) -> Arc<str> {
        use std::sync::atomic::Ordering;
        static CALLS: AtomicU64 = AtomicU64::new(0);
        format!("{:08x}-{:x}", self.0.boot, CALLS.fetch_add(1, Ordering::Relaxed)).into()
    }

    pub(crate) fn charge(&self, caller: &Caller, function: &FunctionDef, cost: u32) -> Result<()> {
        self.0.rates.charge(caller, function, cost, self.0.clock.now())
    }

    /// Returns the memory budget for the bytes of responses.
    pub fn answers(&self) -> &Arc<Budget> {
        &self.0.answers
    }

    /// Returns a writer for the result of one call.
    pub(crate) fn writer(&self) -> Writer {
        Writer::new(self.0.answers.clone(), self.limits().response_bytes_max)
    }

    /// Charges a caller for the bytes that a mutation wrote.
    pub(crate) fn charge_bytes(&self, caller: &Caller, bytes: u64, payment: Payment) -> Result<()> {
        self.0.rates.charge_bytes(caller, bytes, payment, self.0.clock.now())
    }

    /// Gives back bytes that were charged and not written.
    pub(crate) fn give_back_bytes(&self, caller: &Caller, bytes: u64) {
        self.0.rates.give_back_bytes(caller, bytes, self.0.clock.now());
    }

    pub(crate) fn action_permit(&self) -> Result<OwnedSemaphorePermit> {
        let permit = self.0.actions.clone().try_acquire_owned();
        permit.map_err(|_| Error::overloaded("Too many actions are running; try again in a second"))
    }

    pub(crate) fn function<F: Function>(&self) -> Result<Registered> {
        self.0.registry.of_def(F::DEF).cloned().ok_or_else(|| Error::internal("a function that is not registered"))
    }

    /// Counts a call by another function.
    pub(crate) fn count_nested(&self, def: &'static FunctionDef) {
        if let Some(function) = self.0.registry.of_def(def) {
            function.count_nested();
        }
    }

    pub(crate) fn path_of(&self, def: &'static FunctionDef) -> &str {
        self.0.registry.of_def(def).map_or("", |function| &function.path)
    }

    /// Returns the settings of a section: those of `convoke.toml`, or the defaults.
    pub fn settings<S: Section>(&self) -> Arc<S> {
        self.typed(|| section_of(&self.0.settings))
    }

    /// Returns the leases of one kind, for the application's memory. All nodes that serve the database share them.
    pub fn leases<O: LeaseOwner, V: LeaseValue>(&self, kind: &'static str, limits: LeaseLimits) -> Leases<O, V> {
        Leases::of(self.store(), self.clock(), kind, limits)
    }

    /// Returns state of the application in memory, one value per type.
    pub fn memory<S: Default + Send + Sync + 'static>(&self) -> Arc<S> {
        self.typed::<Memory<S>>(Memory::default).0.clone()
    }

    /// Returns the secrets that the application's sections need and that are not set.
    pub(crate) fn missing_secrets(&self) -> Vec<MissingSecret> {
        missing_secrets(&self.0.settings, self.data())
    }

    /// Returns a section of `convoke.toml` as it is written.
    pub(crate) fn section_of(&self, name: &str) -> Option<toml::Value> {
        self.0.settings.get(name).cloned()
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

/// Separates memory from settings of the same type.
#[derive(Default)]
struct Memory<S>(Arc<S>);

/// Returns a section of checked settings, or its defaults.
pub(crate) fn section_of<S: Section>(settings: &toml::Table) -> S {
    // The sections were checked at start; a mistake would have stopped it.
    settings.get(S::NAME).cloned().and_then(|value| value.try_into().ok()).unwrap_or_default()
}

/// Returns the mistakes in `[rates]` and the application's sections, one sentence each.
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

/// A secret that the settings need and that is not set.
#[derive(Debug)]
pub struct MissingSecret {
    /// The section of the settings.
    pub section: &'static str,
    /// The name of the secret.
    pub name: &'static str,
    /// The reason, which says where to set the secret.
    pub reason: SecretError,
}

/// Returns the secrets that the application's sections need and that cannot be read in an installation with this data
/// folder.
pub fn missing_secrets(settings: &toml::Table, data: &Path) -> Vec<MissingSecret> {
    let mut missing = Vec::new();
    for section in inventory::iter::<SubmittedSection>() {
        let Some(value) = settings.get(section.name) else { continue };
        missing.extend((section.secrets)(value.clone()).into_iter().filter_map(|name| {
            let reason = outbound::secret::read(data, name).err()?;
            Some(MissingSecret { section: section.name, name, reason })
        }));
    }
    missing
}

pub(crate) fn rates_of(settings: &toml::Table, limits: &Limits) -> std::result::Result<Rates, String> {
    let rates = match settings.get("rates").cloned() {
        Some(table) => table.try_into().map_err(|error| format!("[rates]: {error}"))?,
        None => HashMap::new(),
    };
    Rates::new(&rates, limits)
}
