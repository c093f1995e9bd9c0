//! The runtime in a test's process, its callers, and their replies.

use std::collections::HashSet;
use std::future::Future;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::engine::Lent;
use super::former::{self, FormerTable};
use convoke_calls::call::Outcome;
use convoke_calls::call::dispatch::Request;
pub use convoke_calls::execute::Run;
use convoke_calls::function::Function;
use convoke_calls::migration::Migrated;
use convoke_calls::outbound;
use convoke_calls::performance::recorder::Ended;
use convoke_calls::runtime::{Runtime, RuntimeOptions};
use convoke_calls::scheduler::{Job, JobState};
#[cfg(feature = "outbound")]
use convoke_calls::webhooks::{Delivery, DeliveryState};
use convoke_calls::workflow::{self, RunState, Step};
use convoke_core::clock::{HeldClock, Millis};
use convoke_core::error::{Code, Error, Result};
use convoke_core::id::Id;
use convoke_core::identity::{Caller, DeployKeyCaller, Identity};
use convoke_store::{Db, Doc, HeldDisk, Table};

/// Initial time of a test's clock: 2026-01-01T00:00:00Z.
pub const START: Millis = Millis(1_767_225_600_000);

/// Timeout of a query or mutation in a test, unless its settings change it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Rows per part of a migration: few, so that a test with a few rows has several parts.
const MIGRATED_ROWS: i64 = 2;

/// Issuer of a test's users.
pub const ISSUER: &str = "https://issuer.test";

/// A runtime in the test's process, on a temporary database.
pub struct TestApp {
    runtime: Option<Runtime>,
    clock: Arc<HeldClock>,
    disk: Arc<HeldDisk>,
    executor: Arc<tokio::runtime::Runtime>,
    options: RuntimeOptions,
    /// Failed jobs that the test has read.
    seen: Mutex<HashSet<Id<Job>>>,
    /// Deliveries of webhooks that the test has read.
    #[cfg(feature = "outbound")]
    seen_deliveries: Mutex<HashSet<Id<Delivery>>>,
    /// True if runs of workflows may be left at the end.
    leaves_runs: AtomicBool,
    _data: tempfile::TempDir,
    _database: Lent,
}

impl TestApp {
    /// Returns an app with default settings and every function that is linked into the test.
    ///
    /// # Panics
    /// If the runtime does not start. The message has the reason.
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    /// Returns an app whose options the test changes first.
    ///
    /// # Panics
    /// As [`TestApp::new`].
    pub fn with(change: impl FnOnce(&mut RuntimeOptions)) -> Self {
        Self::on([], change)
    }

    /// Returns an app on the database of a former release, in which these tables differ from the code. If stored rows do not
    /// fit, it serves only the operator until the migration has run:
    ///
    /// ```no_run
    /// # use convoke::testing::{FormerTable, TestApp}; use serde_json::json;
    /// let books = FormerTable::new("books", "book").field::<String>("title").row(json!({ "title": "Emma" }));
    /// let app = TestApp::after([books]);
    /// assert!(app.difference().unwrap().starts_with("table books: field shelf was added without a default"));
    /// assert_eq!(app.migrate("migrations/fillShelves").done, 1);
    /// assert_eq!(app.difference(), None);
    /// ```
    ///
    /// # Panics
    /// If a row does not fit its former table; as [`TestApp::new`].
    pub fn after(former: impl IntoIterator<Item = FormerTable>) -> Self {
        Self::on(former, |_| {})
    }

    fn on(former: impl IntoIterator<Item = FormerTable>, change: impl FnOnce(&mut RuntimeOptions)) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder can be made");
        let (clock, disk) = (Arc::new(HeldClock::at(START)), Arc::new(HeldDisk::default()));
        let executor = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("an executor can be made");
        let database = Lent::new();
        let mut options = RuntimeOptions::in_folder(data.path(), database.engine());
        super::engine::set_key(data.path());
        options.clock = clock.clone();
        options.disk = disk.clone();
        options.predictable_ids = true;
        options.is_development = true;
        // The duration of a call has no meaning on a machine whose cores are busy with other work.
        options.limits.query_timeout = PATIENCE;
        options.limits.mutation_timeout = PATIENCE;
        change(&mut options);
        let executor = Arc::new(executor);
        let (seen, leaves_runs) = (Mutex::default(), AtomicBool::new(false));
        let mut app = Self {
            runtime: None,
            clock,
            disk,
            executor,
            options,
            seen,
            leaves_runs,
            #[cfg(feature = "outbound")]
            seen_deliveries: Mutex::default(),
            _data: data,
            _database: database,
        };
        let mut former = former.into_iter().peekable();
        if former.peek().is_some() {
            app.executor.block_on(former::make(&app.options, former));
        }
        app.start();
        app
    }

    /// Returns an app with these settings, in the format of `convoke.toml`: `[rates]` and the application's sections.
    ///
    /// # Panics
    /// If they are not valid TOML; as [`TestApp::new`].
    pub fn configured(settings: &str) -> Self {
        let settings = toml::from_str(settings).unwrap_or_else(|error| panic!("{error}"));
        Self::with(|options| options.settings = settings)
    }

    /// Returns an app with these secrets, names and values, which the signatures of routes need at start.
    ///
    /// # Panics
    /// As [`TestApp::new`].
    pub fn with_secrets(secrets: &[(&str, &str)]) -> Self {
        Self::with(|options| {
            for (name, secret) in secrets {
                outbound::secret::write(&options.data, name, secret).expect("a secret can be written");
            }
        })
    }

    /// Sets a secret of the installation.
    ///
    /// # Panics
    /// If its file cannot be written.
    pub fn set_secret(&self, name: &str, secret: &str) {
        outbound::secret::write(&self.options.data, name, secret).expect("a secret can be written");
    }

    fn start(&mut self) {
        let _within = self.executor.enter();
        let runtime = Runtime::start(self.options.clone());
        self.runtime = Some(runtime.unwrap_or_else(|error| panic!("the runtime does not start: {error}")));
    }

    /// Stops the runtime and starts another one on the same data, like a restart of the server. In-memory state is lost.
    ///
    /// # Panics
    /// If the runtime does not start again. The message has the reason.
    pub fn restart(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.store().close();
        }
        self.start();
    }

    /// Returns the difference between the schema in code and the database that keeps the store closed; `None` if it is open.
    pub fn difference(&self) -> Option<String> {
        self.runtime().store().difference()
    }

    /// Runs a migration to its end, with a few rows per part, like `convoke migrate`. Returns the result of the last part.
    ///
    /// # Panics
    /// If a part fails.
    pub fn migrate(&self, path: &str) -> Migrated {
        let operator = self.deploy_key(&["functions"]);
        loop {
            let part: Migrated = operator.call(path, json!({ "limit": MIGRATED_ROWS })).into_value();
            if part.finished {
                return part;
            }
        }
    }

    /// Returns the runtime.
    pub fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("the runtime exists until the app is dropped")
    }

    /// Returns a caller with the subject `name` and the verified e-mail address `name@example.com`.
    pub fn user(&self, name: &str) -> TestCaller<'_> {
        self.identity(Identity {
            issuer: ISSUER.to_owned(),
            subject: name.to_owned(),
            email: Some(format!("{name}@example.com")),
            email_verified: Some(true),
            issued_at: Some(self.now().0 / 1_000),
            ..Identity::default()
        })
    }

    /// Returns a caller with the given claims.
    pub fn identity(&self, identity: Identity) -> TestCaller<'_> {
        self.caller(Caller::User(Arc::new(identity)))
    }

    /// Returns a caller without credentials.
    pub fn nobody(&self) -> TestCaller<'_> {
        self.caller(Caller::Nobody)
    }

    /// Returns a deploy key with these scopes, which acts as no user.
    pub fn deploy_key(&self, scopes: &[&str]) -> TestCaller<'_> {
        self.caller(Caller::DeployKey(Arc::new(DeployKeyCaller {
            name: "test".to_owned(),
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            acting_as: None,
        })))
    }

    /// Returns a caller of any kind.
    pub fn caller(&self, caller: Caller) -> TestCaller<'_> {
        TestCaller { app: self, caller }
    }

    /// Returns the time of the clock.
    pub fn now(&self) -> Millis {
        use convoke_core::clock::Clock as _;
        self.clock.now()
    }

    /// Returns the clock, which the test can set.
    pub fn clock(&self) -> &HeldClock {
        &self.clock
    }

    /// Returns the simulated disk. It has free space until the test fills it, whatever the machine's disk has.
    pub fn disk(&self) -> &HeldDisk {
        &self.disk
    }

    /// Reads the database in a snapshot.
    ///
    /// # Panics
    /// If the read fails.
    pub fn read<R>(&self, work: impl Fn(&Db) -> Result<R>) -> R {
        self.runtime().read(work).unwrap_or_else(|error| panic!("the read failed: {error:?}"))
    }

    /// Returns the number of rows of a table.
    ///
    /// # Panics
    /// If the read fails.
    pub fn count<T: Table>(&self) -> u64 {
        self.read(|db| Ok(db.scan::<T>().count()?))
    }

    /// Waits for a future on the app's executor.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.executor.block_on(future)
    }

    /// Advances the clock and runs the scheduled work that becomes due, including crons, each at its time. Work that a job
    /// schedules runs too if it becomes due.
    ///
    /// # Panics
    /// If the store fails.
    pub fn advance(&self, by: Duration) {
        let end = self.now() + by;
        let runtime = self.runtime();
        self.block_on(async {
            runtime.run_due().await?;
            while let Some(next) = runtime.next_due().await?.filter(|next| *next <= end) {
                self.clock.set(next.max(self.now()));
                runtime.run_due().await?;
            }
            Ok::<_, Error>(())
        })
        .unwrap_or_else(|error| panic!("the scheduled work cannot be run: {error:?}"));
        self.clock.set(end.max(self.now()));
    }

    /// Runs the scheduled work that is due now, and the work that it schedules for now. Returns the number of jobs that ran.
    ///
    /// # Panics
    /// If the store fails.
    pub fn run_due(&self) -> usize {
        let ran = self.block_on(self.runtime().run_due());
        ran.unwrap_or_else(|error| panic!("the scheduled work cannot be run: {error:?}"))
    }

    /// Returns the pending jobs, in the order of their ids.
    ///
    /// # Panics
    /// If the read fails.
    pub fn pending_jobs(&self) -> Vec<Doc<Job>> {
        self.read(|db| Ok(db.query(Job::by_state).eq(JobState::Pending).take(usize::MAX)?))
    }

    /// Returns the jobs whose attempts have all failed, oldest first. A test that expects failed jobs must read them here:
    /// otherwise they fail the test when the app is dropped.
    ///
    /// # Panics
    /// If the read fails.
    pub fn failed_jobs(&self) -> Vec<Doc<Job>> {
        let failed = self.read(|db| Ok(db.query(Job::by_state).eq(JobState::Failed).take(usize::MAX)?));
        self.seen.lock().extend(failed.iter().map(Doc::id));
        failed
    }

    /// Returns the deliveries of webhooks, oldest first. A test whose events are not delivered must read them here:
    /// otherwise due and failed deliveries fail the test when the app is dropped.
    ///
    /// `app.run_due()` and `app.advance()` send due deliveries, with the requests of production.
    ///
    /// # Panics
    /// If the read fails.
    #[cfg(feature = "outbound")]
    pub fn deliveries(&self) -> Vec<Doc<Delivery>> {
        let found = self.read(|db| Ok(db.scan::<Delivery>().take(usize::MAX)?));
        self.seen_deliveries.lock().extend(found.iter().map(Doc::id));
        found
    }

    /// Checks that the test has sent or read each delivery.
    #[cfg(feature = "outbound")]
    fn check_deliveries(&self) {
        let (seen, now) = (self.seen_deliveries.lock().clone(), self.now());
        let mut left = self.deliveries();
        left.retain(|row| {
            let is_left = match row.state {
                DeliveryState::Pending => row.due_at <= now,
                DeliveryState::Failed => true,
                DeliveryState::Delivered => false,
            };
            is_left && !seen.contains(&row.id())
        });
        assert!(
            left.is_empty(),
            "webhooks were not delivered, and the test did not read `app.deliveries()`: {left:#?}"
        );
    }

    /// Returns a run of a workflow with its steps.
    ///
    /// # Panics
    /// If there is no such run.
    pub fn workflow(&self, run: Id<workflow::Run>) -> WorkflowRun {
        let (run, steps) = self
            .block_on(self.runtime().runs().show(run))
            .unwrap_or_else(|error| panic!("the run cannot be read: {error:?}"));
        WorkflowRun { run, steps }
    }

    /// Allows runs of workflows that are blocked, or wait for a signal without a time limit, when the app is dropped.
    /// Otherwise they fail the test. A run that continues at a later time, such as after a pause, is always allowed.
    pub fn leave_workflows_running(&self) {
        self.leaves_runs.store(true, Ordering::Relaxed);
    }

    /// Records a call of a function that ended now and took `latency`, for tests of performance metrics.
    ///
    /// # Panics
    /// If there is no such function.
    pub fn record_call(&self, path: &str, latency: Duration, ok: bool) {
        let function = self.registry().get(path).unwrap_or_else(|| panic!("no function {path}"));
        self.history().record(function, Ended { at: self.now(), latency, failed: !ok, scheduled: false });
    }

    /// Checks the invariants that hold after every test.
    fn check(&self) {
        // A read may still be ending after a limit ended its call.
        let open = || self.runtime().store().stats().readers_busy;
        for _ in 0..200 {
            if open() == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(open(), 0, "a read has not ended: it holds its snapshot");
        #[cfg(feature = "outbound")]
        self.check_deliveries();
        let now = self.now();
        let (due, later): (Vec<_>, Vec<_>) = self.pending_jobs().into_iter().partition(|job| job.run_at <= now);
        assert!(due.is_empty(), "scheduled work is due and was not run; call `app.run_due()`: {due:#?}");
        let seen = self.seen.lock().clone();
        let mut failed = self.failed_jobs();
        failed.retain(|job| !seen.contains(&job.id()));
        assert!(failed.is_empty(), "jobs failed, and the test did not read `app.failed_jobs()`: {failed:#?}");
        if !self.leaves_runs.load(Ordering::Relaxed) {
            let mut left =
                self.read(|db| Ok(db.query(workflow::Run::by_state).any(RunState::UNENDED).take(usize::MAX)?));
            // A job for a later time continues the run, so it is not left over, like the job itself.
            let continued: HashSet<_> = later.iter().filter_map(|job| Some(job.step.as_ref()?.run)).collect();
            left.retain(|run| run.state == RunState::Blocked || !continued.contains(&run.id()));
            assert!(
                left.is_empty(),
                "runs of workflows wait for a signal or are blocked; send the signal, cancel the run, or call \
                 `app.leave_workflows_running()`: {left:#?}"
            );
        }
    }
}

/// A run of a workflow in a test. It dereferences to its row.
#[derive(Debug)]
pub struct WorkflowRun {
    run: Doc<workflow::Run>,
    steps: Vec<Doc<Step>>,
}

impl WorkflowRun {
    /// Returns the steps, by position.
    pub fn steps(&self) -> &[Doc<Step>] {
        &self.steps
    }

    /// Returns the result of a completed run.
    ///
    /// # Panics
    /// If the run is not completed, or the result has another shape. The message has the run.
    #[track_caller]
    pub fn value<T: DeserializeOwned>(&self) -> T {
        let value = self.run.value.as_deref().and_then(|value| serde_json::from_str(value).ok());
        value.unwrap_or_else(|| panic!("the run has no such value: {self:#?}"))
    }
}

impl Deref for WorkflowRun {
    type Target = Doc<workflow::Run>;
    fn deref(&self) -> &Doc<workflow::Run> {
        &self.run
    }
}

impl Default for TestApp {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        // A failing test has its own message.
        let checked = catch_unwind(AssertUnwindSafe(|| {
            if !std::thread::panicking() && self.runtime.is_some() {
                self.check();
            }
        }));
        if let Some(runtime) = self.runtime.take() {
            let _within = self.executor.enter();
            runtime.store().close();
        }
        if let Err(panic) = checked {
            resume_unwind(panic);
        }
    }
}

/// A caller of functions of a [`TestApp`].
#[derive(Clone)]
pub struct TestCaller<'app> {
    app: &'app TestApp,
    caller: Caller,
}

impl<'app> TestCaller<'app> {
    pub(super) fn app(&self) -> &'app TestApp {
        self.app
    }

    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Calls a function by its path, as over HTTP.
    pub fn call(&self, path: &str, args: Value) -> Reply {
        self.app.block_on(self.call_async(path, args))
    }

    /// Like [`TestCaller::call`], but async, for concurrent calls.
    pub async fn call_async(&self, path: &str, args: Value) -> Reply {
        let runtime = self.app.runtime();
        let args = args.to_string();
        let request = Request::Args { path, args: &args };
        let (outcome, _) = runtime.call(request, self.caller.clone(), runtime.request_id()).await;
        Reply::of(outcome)
    }

    /// Calls a function by its type.
    ///
    /// # Errors
    /// Those of the function.
    pub fn run<F: Function>(&self, args: impl Into<F::Args>) -> Result<F::Output>
    where
        F::Kind: Run<F>,
    {
        self.app.block_on(self.app.runtime().run::<F>(self.caller.clone(), args))
    }

    /// Returns the same deploy key, which acts as a user with this subject.
    ///
    /// # Panics
    /// If the caller is not a deploy key.
    #[must_use]
    pub fn acting_as(&self, subject: &str) -> Self {
        let key = self.caller.deploy_key().expect("only a deploy key acts as a user");
        let identity = Identity { issuer: ISSUER.to_owned(), subject: subject.to_owned(), ..Identity::default() };
        let key = DeployKeyCaller { acting_as: Some(Arc::new(identity)), ..key.clone() };
        Self { app: self.app, caller: Caller::DeployKey(Arc::new(key)) }
    }
}

/// The reply of a call.
#[derive(Debug)]
pub struct Reply {
    value: Value,
    error: Option<Error>,
    log_lines: Vec<String>,
}

impl Reply {
    fn of(outcome: Outcome) -> Self {
        let log_lines = outcome.log_lines.into_lines();
        match outcome.result {
            Ok(json) => {
                let value = serde_json::from_slice(&json.joined()).expect("the runtime writes valid JSON");
                Self { value, error: None, log_lines }
            }
            Err(error) => Self { value: Value::Null, error: Some(error), log_lines },
        }
    }

    /// Returns the reply for the object of a result.
    pub(super) fn of_json(result: &Value) -> Self {
        let lines = result["logLines"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let log_lines = lines.map(str::to_owned).collect();
        if result["status"] == "success" {
            return Self { value: result["value"].clone(), error: None, log_lines };
        }
        let data = result["errorData"].as_object().expect("an error has data");
        let code = data["code"].as_str().and_then(|name| Code::ALL.iter().copied().find(|code| code.as_str() == name));
        let message = result["errorMessage"].as_str().unwrap_or_default().to_owned();
        let error = Error::new(code.expect("the code is one of the list"), message);
        let members = data.iter().filter(|(name, _)| *name != "code");
        let error = members.fold(error, |error, (name, value)| error.with(name, value.clone()));
        Self { value: Value::Null, error: Some(error), log_lines }
    }

    /// Returns the value.
    ///
    /// # Panics
    /// If the call failed. The message has the error.
    #[track_caller]
    pub fn value(&self) -> &Value {
        if let Some(error) = &self.error {
            panic!("the call failed: {error:?}\nlog lines: {:#?}", self.log_lines);
        }
        &self.value
    }

    /// Returns the value as a Rust type.
    ///
    /// # Panics
    /// If the call failed or the value has another shape.
    #[track_caller]
    pub fn into_value<T: DeserializeOwned>(self) -> T {
        let value = self.value().clone();
        serde_json::from_value(value).unwrap_or_else(|error| panic!("another shape: {error}: {}", self.value))
    }

    /// Returns the code of the error, as on the wire.
    ///
    /// # Panics
    /// If the call succeeded. The message has the value.
    #[track_caller]
    pub fn code(&self) -> &'static str {
        self.error().code().as_str()
    }

    /// Returns the message of the error.
    ///
    /// # Panics
    /// If the call succeeded.
    #[track_caller]
    pub fn message(&self) -> &str {
        self.error().message()
    }

    /// Returns the argument that an `INVALID_ARGUMENT` names.
    ///
    /// # Panics
    /// If the call succeeded.
    #[track_caller]
    pub fn field(&self) -> Option<&str> {
        self.error().field()
    }

    /// Returns `errorData`.
    ///
    /// # Panics
    /// If the call succeeded.
    #[track_caller]
    pub fn data(&self) -> Value {
        json!(self.error())
    }

    /// Returns the error.
    ///
    /// # Panics
    /// If the call succeeded. The message has the value.
    #[track_caller]
    pub fn error(&self) -> &Error {
        match &self.error {
            Some(error) => error,
            None => panic!("the call succeeded: {}", self.value),
        }
    }

    /// Returns true if the call succeeded.
    pub fn is_success(&self) -> bool {
        self.error.is_none()
    }

    /// Returns the log lines of the function.
    pub fn log_lines(&self) -> &[String] {
        &self.log_lines
    }

    /// Asserts that the call failed with this code and message.
    ///
    /// # Panics
    /// If it did not.
    #[track_caller]
    pub fn assert_refused(&self, code: Code, message: &str) {
        assert_eq!((self.code(), self.message()), (code.as_str(), message));
    }
}

impl Deref for TestApp {
    type Target = Runtime;
    fn deref(&self) -> &Runtime {
        self.runtime()
    }
}
