//! The runtime: it assembles the services, the dispatcher, the scheduler and the observers at start.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cache::ResultCache;
use crate::call::dispatch::{Dispatcher, Origin, Outcome, Request};
use crate::call::idempotency::Repeatable;
use crate::call_log::{CallLines, CallLog};
use crate::codec::Format;
use crate::execute::Run;
use crate::function::Function;
use crate::live::Hub;
use crate::log_streams::Streams;
use crate::observe::{CallObserver, Observers, Rejection, UsedKey};
use crate::outbound::{SecretError, StoreKey};
use crate::performance::Performance;
use crate::recent_calls::{RecentCalls, RecordOptions, RecordedCalls};
use crate::registry::{Registered, Registry, RegistryError};
use crate::rejections::Rejections;
use crate::route::request::RouteRequest;
use crate::route_call::verify::{self, Unverifiable};
use crate::scheduler::{Jobs, Scheduler, cron::Crons};
use crate::services::{
    MissingSecret, Services, ServicesOptions, SubmittedObserver, rates_of, section_of, section_problems,
};
#[cfg(feature = "otel")]
use crate::telemetry::Telemetry;
use crate::telemetry::settings::TelemetrySettings;
use crate::totals::CallTotals;
#[cfg(feature = "outbound")]
use crate::webhooks::Deliverer;
use crate::workflow::definition::Workflows;
use crate::workflow::runs::Runs;
use convoke_core::clock::{Clock, Millis, SystemClock};
use convoke_core::error::{Error, Result};
use convoke_core::id::IdGenerator;
use convoke_core::identity::Caller;
use convoke_core::limits::Limits;
use convoke_core::queues::Queues;
use convoke_store::{
    CopyAcknowledgement, Disk, EngineFactory, Floor, Flow, Nodes, OnOpening, OpenError, Store, StoreOptions, Stuck,
    SubmittedTable, SystemDisk,
};

/// A running runtime. Clones share it. It dereferences to its [`Services`].
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    services: Services,
    dispatcher: Arc<Dispatcher>,
    scheduler: Arc<Scheduler>,
    #[cfg(feature = "outbound")]
    deliverer: Arc<Deliverer>,
    totals: Arc<CallTotals>,
    recent_calls: Arc<RecentCalls>,
    rejections: Arc<Rejections>,
    live: Arc<Hub>,
    log_streams: Option<Arc<Streams>>,
    #[cfg(feature = "otel")]
    telemetry: Option<Arc<Telemetry>>,
}

impl Deref for Runtime {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.0.services
    }
}

/// The parts of a runtime, before they are assembled.
struct Parts {
    services: Services,
    crons: Crons,
    workflows: Workflows,
    newest: Millis,
    call_log: CallLog,
    disk: Arc<dyn Disk>,
    log_streams: Option<Arc<Streams>>,
    #[cfg(feature = "otel")]
    telemetry: Option<Arc<Telemetry>>,
}

/// The options of [`Runtime::start`].
#[derive(Clone)]
pub struct RuntimeOptions {
    /// Data folder: the database and all other files of this installation.
    pub data: PathBuf,
    /// Database engine.
    pub engine: Arc<dyn EngineFactory>,
    /// Limits.
    pub limits: Limits,
    /// Source of the time.
    pub clock: Arc<dyn Clock>,
    /// True if ids have no randomness: for tests.
    pub predictable_ids: bool,
    /// Source of the free space on the disk.
    pub disk: Arc<dyn Disk>,
    /// Reaction to a mutation that never returns. A program that embeds the runtime is not ended in that case.
    pub stuck: Stuck,
    /// True in development: endpoints of webhooks may have `http` URLs.
    pub is_development: bool,
    /// Address under which clients reach the server, for example `https://api.example.com`. By default that of the listener.
    pub public_url: Option<String>,
    /// Contents of `convoke.toml`: the sections of the application and `[rates]`.
    pub settings: toml::Table,
    /// Destination of each call's log line. Without it, the line is a `tracing` event.
    pub call_lines: Option<Arc<dyn CallLines>>,
    /// Receives each long step of opening the database.
    pub on_opening: OnOpening,
    /// Opens the database with a feed of its changed pages, for continuous copies.
    pub copied: Option<CopyAcknowledgement>,
    /// True if the rows are those of another server, whose copies this one follows: it answers queries only.
    pub follows: bool,
    /// True for a server: a route whose signatures cannot be checked stops the start, and a missing secret of a section is
    /// logged. A command that serves no route starts without the secrets, for example to set them.
    pub requires_secrets: bool,
}

impl RuntimeOptions {
    /// Returns the defaults, with the data folder `data` and this engine.
    pub fn in_folder(data: impl Into<PathBuf>, engine: Arc<dyn EngineFactory>) -> Self {
        Self {
            data: data.into(),
            engine,
            limits: Limits::default(),
            clock: Arc::new(SystemClock::new()),
            predictable_ids: false,
            disk: Arc::new(SystemDisk),
            stuck: Stuck::Report,
            is_development: false,
            public_url: None,
            settings: toml::Table::new(),
            call_lines: None,
            on_opening: OnOpening::default(),
            copied: None,
            follows: false,
            requires_secrets: true,
        }
    }
}

/// Reason why a runtime does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A mistake in the functions.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The database cannot be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// A cron expression is invalid.
    #[error("{0}")]
    Cron(String),
    /// A declared queue is invalid.
    #[error("{0}")]
    Queue(String),
    /// A workflow cannot be registered.
    #[error("{0}")]
    Workflow(String),
    /// A mistake in the application's description of its interface.
    #[error("{0}")]
    Interface(String),
    /// The key that the nodes of one database share is missing or invalid.
    #[error(
        "several nodes may serve this database, so they must share a key for their tokens: {0}. The key is the same on \
         every node and has at least 32 characters; `openssl rand -base64 32` makes one"
    )]
    StoreKey(#[from] SecretError),
    /// Another node uses another key.
    #[error("{0} serves this database with another STORE_KEY; to change it, stop all nodes first")]
    OtherStoreKey(String),
    /// The secret of a route's signature is missing or is not a key.
    #[error("{0}")]
    Signature(String),
    /// A setting is invalid.
    #[error("the settings: {0}")]
    Setting(String),
}

impl Runtime {
    /// Collects the functions and opens the database. The runtime then serves calls. [`Runtime::start_background`]
    /// starts scheduled work and the recording of metrics.
    ///
    /// # Errors
    /// [`StartError`]; each says what to change.
    pub fn start(options: RuntimeOptions) -> Result<Self, StartError> {
        let RuntimeOptions {
            data,
            engine,
            limits,
            clock,
            predictable_ids,
            disk,
            is_development,
            public_url,
            settings,
            stuck,
            call_lines,
            on_opening,
            copied,
            follows,
            requires_secrets,
        } = options;
        let registry = Registry::collect()?;
        let crons = Crons::collect(&registry).map_err(StartError::Cron)?;
        let queues = Queues::collect().map_err(StartError::Queue)?;
        let workflows = Workflows::collect().map_err(StartError::Workflow)?;
        if let Some(problem) = section_problems(&settings).into_iter().next() {
            return Err(StartError::Setting(problem));
        }
        crate::about::About::collect().map_err(StartError::Interface)?;
        let rates = rates_of(&settings, &limits).map_err(StartError::Setting)?;
        let tables = inventory::iter::<SubmittedTable>().map(|table| table.0).collect();
        let store_key = StoreKey::read(&data);
        let agreed = store_key.as_ref().ok().map(StoreKey::fingerprint);
        let options =
            StoreOptions { data: data.clone(), stuck, disk: disk.clone(), agreed, on_opening, copied, follows };
        let store = Store::open(engine, options, &limits, clock.clone(), tables);
        let (store, store_key) = match (store, store_key) {
            (Ok(store), store_key) => match store.nodes() {
                Nodes::Many { .. } => (store, Some(store_key?)),
                Nodes::Alone => (store, None),
            },
            (Err(OpenError::Disagrees { .. }), Err(missing)) => return Err(missing.into()),
            (Err(OpenError::Disagrees { other }), Ok(_)) => return Err(StartError::OtherStoreKey(other)),
            (Err(error), _) => return Err(error.into()),
        };
        let clock = store.clock().unwrap_or(clock);
        let ids = if predictable_ids { IdGenerator::predictable() } else { IdGenerator::after(0) };
        // The upper bits of an id are the milliseconds at which it was generated.
        let newest = Millis(i64::try_from(store.greatest_id() >> 80).unwrap_or(0));
        let boot = match store.nodes() {
            Nodes::Many { own, .. } => own,
            Nodes::Alone => {
                let mut boot = [0; 4];
                getrandom::fill(&mut boot).map_err(|error| StartError::Setting(error.to_string()))?;
                u32::from_le_bytes(boot)
            }
        };
        let telemetry_settings = section_of::<TelemetrySettings>(&settings);
        #[cfg(feature = "otel")]
        let telemetry = Telemetry::configured(&telemetry_settings, &data, &clock).map_err(StartError::Setting)?;
        #[cfg(feature = "otel")]
        let recorder = telemetry.as_ref().map(|telemetry| telemetry.recorder().clone());
        #[cfg(not(feature = "otel"))]
        let recorder = match telemetry_settings.has_address() {
            true => return Err(StartError::Setting("telemetry.otlp needs the feature `otel` of convoke".to_owned())),
            false => None,
        };
        let services = ServicesOptions {
            recorder,
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
            disk: disk.clone(),
        };
        let services = Services::new(services).map_err(StartError::Setting)?;
        if requires_secrets && let Some(problem) = signature_problems(&services) {
            services.store().close();
            return Err(StartError::Signature(problem));
        }
        if requires_secrets {
            for MissingSecret { section, reason, .. } in services.missing_secrets() {
                tracing::warn!(target: "convoke::settings", "functions will fail, because [{section}] needs a secret: {reason}");
            }
        }
        let log_streams = Streams::of(&services, &disk).map_err(|problem| {
            services.store().close();
            StartError::Setting(problem)
        })?;
        Ok(Self::of(Parts {
            log_streams,
            services,
            crons,
            workflows,
            newest,
            call_log: CallLog::new(call_lines),
            disk,
            #[cfg(feature = "otel")]
            telemetry,
        }))
    }

    fn of(parts: Parts) -> Self {
        let Parts { services, crons, workflows, newest, call_log, disk, log_streams, .. } = parts;
        let totals = Arc::new(CallTotals::new(services.registry()));
        let recent_calls = Arc::new(RecentCalls::new(RecordOptions {
            settings: services.settings::<RecordedCalls>(),
            data: services.data().to_owned(),
            clock: services.clock().clone(),
            disk,
            floor: Floor::of(services.limits()),
        }));
        let rejections = Arc::new(Rejections::new(services.clock().clone()));
        let own: [Arc<dyn CallObserver>; 5] =
            [services.history().clone(), totals.clone(), Arc::new(call_log), recent_calls.clone(), rejections.clone()];
        let submitted = inventory::iter::<SubmittedObserver>().map(|submitted| (submitted.0)(&services));
        let streams = log_streams.clone().map(|streams| streams as Arc<dyn CallObserver>);
        let observers = Observers::new(own.into_iter().chain(streams).chain(submitted));
        let dispatcher = Arc::new(Dispatcher::new(services.clone(), observers));
        let scheduler = Arc::new(Scheduler::new(dispatcher.clone(), crons, workflows, newest));
        #[cfg(feature = "outbound")]
        let deliverer = Arc::new(Deliverer::new(services.clone()));
        let live = Hub::new(dispatcher.clone());
        live.answer_other_nodes();
        Self(Arc::new(Inner {
            services,
            dispatcher,
            scheduler,
            #[cfg(feature = "outbound")]
            deliverer,
            totals,
            recent_calls,
            rejections,
            live,
            log_streams,
            #[cfg(feature = "otel")]
            telemetry: parts.telemetry,
        }))
    }

    /// Returns the streams of log lines, if the settings have any.
    pub fn log_streams(&self) -> Option<&Arc<Streams>> {
        self.0.log_streams.as_ref()
    }

    /// Returns the exporter of traces, logs and metrics, if a collector is set.
    #[cfg(feature = "otel")]
    pub fn telemetry(&self) -> Option<&Arc<Telemetry>> {
        self.0.telemetry.as_ref()
    }

    /// Runs a call from this process, such as a test. Never panics, and returns exactly one outcome. The format is that
    /// of the request.
    pub fn call(
        &self,
        request: Request<'_>,
        caller: Caller,
        request_id: Arc<str>,
    ) -> impl Future<Output = (Outcome, Format)> + Send {
        self.0.dispatcher.call(request, caller, request_id)
    }

    /// As [`Runtime::call`], for a call from outside: its address may select the `flow`, a client may send it again,
    /// and it may use a key.
    pub fn call_of(
        &self,
        request: Request<'_>,
        repeatable: Option<Repeatable>,
        caller: Caller,
        flow: Flow,
        key: Option<UsedKey<'_>>,
        origin: Origin,
    ) -> impl Future<Output = (Outcome, Format)> + Send {
        self.0.dispatcher.call_of(request, repeatable, caller, flow, key, origin)
    }

    /// Checks the signature of a route's request. Call this before the caller is identified.
    ///
    /// # Errors
    /// `INVALID_SIGNATURE`; the error of the author's check.
    pub fn verify(&self, function: &Registered, request: &RouteRequest) -> Result<()> {
        match function.def.route.and_then(|route| route.verify.as_ref()) {
            Some(check) => verify::check(check, request, &self.0.services),
            None => Ok(()),
        }
    }

    /// Runs a function, named by its type, as `caller`: for tests and programs that embed the runtime.
    ///
    /// # Errors
    /// Those of the function and of the runtime.
    pub fn run<F: Function>(
        &self,
        caller: Caller,
        args: impl Into<F::Args>,
    ) -> impl Future<Output = Result<F::Output>> + Send
    where
        F::Kind: Run<F>,
    {
        self.0.dispatcher.run::<F>(caller, args.into())
    }

    /// Records a request that was rejected before it became a call: for its counter, the log and the followers.
    pub fn rejected(&self, rejection: Rejection<'_>, request_id: &Arc<str>, caller: &Caller, error: &Error) {
        self.0.dispatcher.rejected(rejection, request_id, caller, error);
    }

    /// Returns the cache of query results.
    pub fn cache(&self) -> &ResultCache {
        self.0.dispatcher.cache()
    }

    /// Returns the live queries.
    pub fn live(&self) -> &Arc<Hub> {
        &self.0.live
    }

    /// Returns the scheduled work, as an operator sees it.
    pub fn jobs(&self) -> Jobs<'_> {
        Jobs(&self.0.services)
    }

    /// Returns the runs of workflows, as an operator sees them.
    pub fn runs(&self) -> Runs<'_> {
        Runs(&self.0.services)
    }

    /// Returns the scheduler, which runs scheduled work.
    pub fn scheduler(&self) -> &Arc<Scheduler> {
        &self.0.scheduler
    }

    /// Returns the deliverer of webhooks.
    #[cfg(feature = "outbound")]
    pub fn deliverer(&self) -> &Arc<Deliverer> {
        &self.0.deliverer
    }

    /// Runs all scheduled work that is due ([`Scheduler::run_due`]), and then sends the webhooks that are due. Returns the
    /// number of jobs and tries.
    ///
    /// # Errors
    /// As [`Scheduler::run_due`].
    pub async fn run_due(&self) -> Result<usize> {
        let ran = self.0.scheduler.run_due().await?;
        #[cfg(feature = "outbound")]
        let ran = ran + self.0.deliverer.run_due().await?;
        Ok(ran)
    }

    /// Returns the time at which the next scheduled work is due, crons and webhooks included.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn next_due(&self) -> Result<Option<Millis>> {
        let next = self.0.scheduler.next_due().await?;
        #[cfg(feature = "outbound")]
        let next = [next, self.0.deliverer.next_due().await?].into_iter().flatten().min();
        Ok(next)
    }

    /// Queries the metrics of this runtime's calls, in a separate snapshot.
    ///
    /// # Errors
    /// Those of `ask`; a failure of the store.
    pub async fn performance<R: Send + 'static>(
        &self,
        ask: impl Fn(&Performance<'_>) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let history = self.history().clone();
        self.database().read(move |db| ask(&history.at(db))).await
    }

    /// Writes the metrics of the past minutes to the table, and aggregates older ones to a coarser resolution.
    ///
    /// # Errors
    /// A failure of the store; the next run continues.
    pub async fn store_performance(&self) -> Result<()> {
        self.history().store().await
    }

    /// As [`Runtime::store_performance`], and includes the current minute. Call it before the process ends.
    ///
    /// # Errors
    /// As [`Runtime::store_performance`].
    pub async fn store_all_performance(&self) -> Result<()> {
        self.history().store_all().await
    }

    /// Returns the totals of each function's calls since the process started.
    pub fn totals(&self) -> &CallTotals {
        &self.0.totals
    }

    /// Returns the completed calls.
    pub fn recent_calls(&self) -> &Arc<RecentCalls> {
        &self.0.recent_calls
    }

    /// Returns the secrets that the application's sections need and that are not set.
    pub fn missing_secrets(&self) -> Vec<MissingSecret> {
        self.0.services.missing_secrets()
    }

    /// Returns the requests that were rejected before a function ran.
    pub fn rejections(&self) -> &Rejections {
        &self.0.rejections
    }
}

/// Returns the routes whose signatures cannot be checked, one per line, each with its place.
fn signature_problems(services: &Services) -> Option<String> {
    let problems: Vec<String> = verify::unverifiable(services.registry(), services.data())
        .into_iter()
        .map(|Unverifiable { route, reason, .. }| format!("{route} cannot check signatures: {reason}"))
        .collect();
    (!problems.is_empty()).then(|| problems.join("\n"))
}
