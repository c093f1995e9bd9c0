//! The runtime: services, the way of a call, scheduled work and observers, put together at start.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cache::ResultCache;
use crate::call::dispatch::{Dispatcher, Outcome, Request};
use crate::call::idempotency::Repeatable;
use crate::call_log::{CallLines, CallLog};
use crate::codec::Format;
use crate::execute::Run;
use crate::function::Function;
use crate::live::Hub;
use crate::observe::{CallObserver, Observers, Rejection, UsedKey};
use crate::outbound::{SecretError, StoreKey};
use crate::performance::Performance;
use crate::recent_calls::{CallRecord, Filter, Follower, RecentCalls, RecordOptions, RecordedCalls, Unrecorded};
use crate::registry::{Registry, RegistryError};
use crate::rejections::Rejections;
use crate::scheduler::{Jobs, Scheduler, cron::Crons};
use crate::services::{Services, ServicesOptions, SubmittedObserver, rates_of, section_problems};
use crate::totals::CallTotals;
use convoke_core::clock::{Clock, Millis, SystemClock};
use convoke_core::error::{Error, Result};
use convoke_core::id::IdGenerator;
use convoke_core::identity::Caller;
use convoke_core::limits::Limits;
use convoke_store::{
    Disk, EngineFactory, Floor, Flow, Nodes, OnOpening, OpenError, Store, StoreOptions, Stuck, SubmittedTable,
    SystemDisk,
};

/// A running runtime. Clones share it; it offers its [`Services`] as its own.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    services: Services,
    dispatcher: Arc<Dispatcher>,
    scheduler: Arc<Scheduler>,
    totals: Arc<CallTotals>,
    recent_calls: Arc<RecentCalls>,
    rejections: Arc<Rejections>,
    live: Arc<Hub>,
}

impl Deref for Runtime {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.0.services
    }
}

/// What a runtime is started with.
#[derive(Clone)]
pub struct RuntimeOptions {
    /// Where the database and everything else of this installation lie.
    pub data: PathBuf,
    /// What keeps the database.
    pub engine: Arc<dyn EngineFactory>,
    /// The bounds.
    pub limits: Limits,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Whether ids have no randomness: for tests.
    pub predictable_ids: bool,
    /// Where it learns how much room the disk has.
    pub disk: Arc<dyn Disk>,
    /// What happens when a mutation never returns. A program that embeds the runtime is not ended for it.
    pub stuck: Stuck,
    /// `convoke.toml`, for the sections of the application and `[rates]`.
    pub settings: toml::Table,
    /// Where the line of each call goes; without it, it is an event of `tracing`.
    pub call_lines: Option<Arc<dyn CallLines>>,
    /// Receives each long step of opening the database.
    pub on_opening: OnOpening,
}

impl RuntimeOptions {
    /// Defaults, with the data in `data`, kept by this engine.
    pub fn in_folder(data: impl Into<PathBuf>, engine: Arc<dyn EngineFactory>) -> Self {
        Self {
            data: data.into(),
            engine,
            limits: Limits::default(),
            clock: Arc::new(SystemClock::new()),
            predictable_ids: false,
            disk: Arc::new(SystemDisk),
            stuck: Stuck::Report,
            settings: toml::Table::new(),
            call_lines: None,
            on_opening: OnOpening::default(),
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
    /// The key that nodes of one database share.
    #[error(
        "several nodes may serve this database, and make tokens that hold on all of them by a key that they share: {0}. It \
         is 32 characters at least, such as `openssl rand -base64 32` prints, and the same for every node"
    )]
    StoreKey(#[from] SecretError),
    /// Another node has another key.
    #[error("{0} serves this database with another STORE_KEY; to change it, stop all nodes first")]
    OtherStoreKey(String),
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
        let RuntimeOptions {
            data,
            engine,
            limits,
            clock,
            predictable_ids,
            disk,
            settings,
            stuck,
            call_lines,
            on_opening,
        } = options;
        let registry = Registry::collect()?;
        let crons = Crons::collect(&registry).map_err(StartError::Cron)?;
        if let Some(problem) = section_problems(&settings).into_iter().next() {
            return Err(StartError::Setting(problem));
        }
        crate::interface::About::collect().map_err(StartError::Interface)?;
        let rates = rates_of(&settings, &limits).map_err(StartError::Setting)?;
        let tables = inventory::iter::<SubmittedTable>().map(|table| table.0).collect();
        let store_key = StoreKey::read(&data);
        let agreed = store_key.as_ref().ok().map(StoreKey::fingerprint);
        let options = StoreOptions { data: data.clone(), stuck, disk: disk.clone(), agreed, on_opening };
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
        // An id begins with the milliseconds at which it was made.
        let newest = Millis(i64::try_from(store.greatest_id() >> 80).unwrap_or(0));
        let boot = match store.nodes() {
            Nodes::Many { own, .. } => own,
            Nodes::Alone => {
                let mut boot = [0; 4];
                getrandom::fill(&mut boot).map_err(|error| StartError::Setting(error.to_string()))?;
                u32::from_le_bytes(boot)
            }
        };
        let services = ServicesOptions { registry, store, ids, clock, limits, rates, settings, data, store_key, boot };
        Ok(Self::of(Services::new(services), crons, newest, CallLog::new(call_lines), disk))
    }

    fn of(services: Services, crons: Crons, newest: Millis, call_log: CallLog, disk: Arc<dyn Disk>) -> Self {
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
        let observers = Observers::new(own.into_iter().chain(submitted));
        let dispatcher = Arc::new(Dispatcher::new(services.clone(), observers));
        let scheduler = Arc::new(Scheduler::new(dispatcher.clone(), crons, newest));
        let live = Hub::new(dispatcher.clone());
        live.answer_other_nodes();
        Self(Arc::new(Inner { services, dispatcher, scheduler, totals, recent_calls, rejections, live }))
    }

    /// Runs a call of this process, such as a test's. Never panics, and ends in exactly one outcome; the format is the
    /// request's.
    pub fn call(
        &self,
        request: Request<'_>,
        caller: Caller,
        request_id: Arc<str>,
    ) -> impl Future<Output = (Outcome, Format)> + Send {
        self.0.dispatcher.call(request, caller, request_id)
    }

    /// As [`Runtime::call`], for a call from outside, whose `flow` its address may decide, which may be sent again, and
    /// may use a key.
    pub fn call_of(
        &self,
        request: Request<'_>,
        repeatable: Option<Repeatable>,
        caller: Caller,
        flow: Flow,
        key: Option<UsedKey<'_>>,
        request_id: Arc<str>,
    ) -> impl Future<Output = (Outcome, Format)> + Send {
        self.0.dispatcher.call_of(request, repeatable, caller, flow, key, request_id)
    }

    /// Runs a function that is named by its type, as `caller`: for tests and programs that embed the runtime.
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

    /// Takes in a request that was rejected before there was a call: for its counter, the log, and those who follow.
    pub fn rejected(&self, rejection: Rejection<'_>, request_id: &Arc<str>, caller: &Caller, error: &Error) {
        self.0.dispatcher.rejected(rejection, request_id, caller, error);
    }

    /// Results of queries that are kept.
    pub fn cache(&self) -> &ResultCache {
        self.0.dispatcher.cache()
    }

    /// Live queries.
    pub fn live(&self) -> &Arc<Hub> {
        &self.0.live
    }

    /// Scheduled work, as an operator sees it.
    pub fn jobs(&self) -> Jobs<'_> {
        Jobs(&self.0.services)
    }

    /// What runs scheduled work.
    pub fn scheduler(&self) -> &Arc<Scheduler> {
        &self.0.scheduler
    }

    /// Runs all scheduled work that is due: see [`Scheduler::run_due`].
    ///
    /// # Errors
    /// As there.
    pub async fn run_due(&self) -> Result<usize> {
        self.0.scheduler.run_due().await
    }

    /// When the next scheduled work is due, crons included.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn next_due(&self) -> Result<Option<Millis>> {
        self.0.scheduler.next_due().await
    }

    /// Asks for the figures of this runtime's calls, in a snapshot of its own.
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

    /// Writes the figures of the minutes that are over into the table, and lets older ones grow coarser.
    ///
    /// # Errors
    /// A failure of the store; the next run goes on.
    pub async fn store_performance(&self) -> Result<()> {
        self.history().store().await
    }

    /// As [`Runtime::store_performance`], the present minute too: before the process ends.
    ///
    /// # Errors
    /// As [`Runtime::store_performance`].
    pub async fn store_all_performance(&self) -> Result<()> {
        self.history().store_all().await
    }

    /// What each function's calls have come to since the process began.
    pub fn totals(&self) -> &CallTotals {
        &self.0.totals
    }

    /// The last calls that a filter admits, at most `count`, oldest first. Blocks on the disk.
    pub fn recent_calls(&self, filter: &Filter, count: usize) -> Vec<CallRecord> {
        self.0.recent_calls.recent(filter, count)
    }

    /// Returns whether [`Runtime::write_calls`] has something to do.
    pub fn has_calls_to_write(&self) -> bool {
        self.0.recent_calls.is_due()
    }

    /// Writes the calls that ended to disk. Blocks on the disk.
    pub fn write_calls(&self) {
        self.0.recent_calls.write();
    }

    /// Calls and bytes on disk.
    pub fn recorded_calls(&self) -> (u64, u64) {
        self.0.recent_calls.recorded()
    }

    /// Calls that were not recorded.
    pub fn unrecorded_calls(&self) -> &Unrecorded {
        self.0.recent_calls.unrecorded()
    }

    /// Follows the calls that end from now on and that a filter admits.
    ///
    /// # Errors
    /// `OVERLOADED` if as many follow as may.
    pub fn follow_calls(&self, filter: Filter) -> Result<Follower> {
        self.0.recent_calls.follow(filter)
    }

    /// Requests that were rejected before any function ran.
    pub fn rejections(&self) -> &Rejections {
        &self.0.rejections
    }
}
