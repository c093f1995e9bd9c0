//! The store of the runtime: opened once, used from any thread, and closed at the end. It checks the gate before each
//! call and passes the call to the engine.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use super::commits::Commits;
use super::disk::{Disk, SystemDisk};
use super::engine::{
    Answerer, Draw, Drawn, Engine, EngineFactory, EngineStart, Files, Nodes, OnOpening, Progress, Ran, ReadJob, Stuck,
    WriteJob,
};
use super::error::{OpenError, StoreError};
use super::fairness::Flow;
use super::fairness::latency_class::LatencyClass;
use super::gate::{Access, Gate};
use super::nodes::{LeaseRows, TurnRows};
use super::offline::{OfflineDatabase, OfflineError};
use super::page_feed::{CopyAcknowledgement, PageFeed};
use super::page_sink::PageSink;
use super::reader::Reader;
use super::schema::table::TableDef;
use super::schema::{self, Extent};
use super::stats::{NamedStat, Stats};
use convoke_core::clock::{Clock, Millis};
use convoke_core::core_wait::CoreWait;
use convoke_core::limits::Limits;

/// Folder in the data folder for copies of foreign databases.
const EXAMINED: &str = "tmp/examined";

/// Reason of a rejected write.
const FOLLOWS: &str =
    "this server follows the copies of another one and answers queries only; send changes to that server";

/// Options for opening a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The data folder. It is created if it is missing.
    pub data: PathBuf,
    /// Reaction to a mutation that does not return.
    pub stuck: Stuck,
    /// Source of the free space of the disk.
    pub disk: Arc<dyn Disk>,
    /// See [`EngineStart::agreed`].
    pub agreed: Option<String>,
    /// See [`EngineStart::on_opening`].
    pub on_opening: OnOpening,
    /// See [`EngineStart::copied`].
    pub copied: Option<CopyAcknowledgement>,
    /// True if the rows are those of another database, whose pages arrive through [`Store::page_sink`]: the store
    /// serves reads only.
    pub follows: bool,
}

impl StoreOptions {
    /// Creates the default options for this folder.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            stuck: Stuck::Report,
            disk: Arc::new(SystemDisk),
            agreed: None,
            on_opening: OnOpening::default(),
            copied: None,
            follows: false,
        }
    }
}

/// The state of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// All reads and writes are served.
    Open,
    /// Only some calls or none are served.
    Closed {
        /// Reason, in plain words.
        reason: String,
    },
}

/// The database of a runtime. Clones share one store. Dropping the last clone closes it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Box<dyn Engine>,
    gate: Arc<Gate>,
    commits: Arc<Commits>,
    tables: Vec<&'static TableDef>,
    factory: Arc<dyn EngineFactory>,
    data: PathBuf,
    follows: bool,
}

impl Store {
    /// Opens the database of a folder with an engine of this kind, applies additions of the tables, and starts to
    /// serve.
    ///
    /// Other schema differences are not an error here: the store is then [`State::Closed`] and serves only
    /// [`Access::Admin`].
    ///
    /// # Errors
    /// [`OpenError`]: the folder is locked or unusable, a table definition is invalid, or the engine fails.
    pub fn open(
        factory: Arc<dyn EngineFactory>,
        options: StoreOptions,
        limits: &Limits,
        clock: Arc<dyn Clock>,
        mut tables: Vec<&'static TableDef>,
    ) -> Result<Self, OpenError> {
        schema::check(&tables)?;
        tables.sort_unstable_by_key(|table| table.name);
        let StoreOptions { data, stuck, disk, agreed, on_opening, copied, follows } = options;
        let gate = Arc::new(Gate::default());
        let commits = Arc::new(Commits::new(clock.clone(), &tables));
        let engine = factory.open(EngineStart {
            data: &data,
            agreed: agreed.as_deref(),
            tables: tables.clone(),
            limits,
            clock,
            disk,
            stuck,
            gate: gate.clone(),
            commits: commits.clone(),
            on_opening,
            copied,
            follows,
        })?;
        // An id begins with its creation time in milliseconds.
        commits.advance_past(Millis(i64::try_from(engine.greatest_id() >> 80).unwrap_or(0)));
        Ok(Self { inner: Arc::new(Inner { engine, gate, commits, tables, factory, data, follows }) })
    }

    /// Returns the schema difference that keeps the store closed, in plain words.
    pub fn difference(&self) -> Option<String> {
        self.inner.gate.difference()
    }

    /// Compares the schema again after a migration, applies what fits now, and opens the store if nothing is left.
    /// Blocks until the engine has done it, beside running mutations.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn apply_schema(&self) -> Result<State, OpenError> {
        self.follow_schema(Extent::Whole)
    }

    /// Applies the applicable part of the schema, so that a migration finds the fields of the code. The store stays
    /// closed for the rest. After that, the former version of the program cannot serve this database.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn apply_schema_in_part(&self) -> Result<State, OpenError> {
        self.follow_schema(Extent::Part)
    }

    fn follow_schema(&self, extent: Extent) -> Result<State, OpenError> {
        self.inner.engine.follow_schema(extent)?;
        Ok(self.state())
    }

    /// Returns the feed of changed pages; see [`Engine::page_feed`].
    pub fn page_feed(&self) -> Option<Arc<dyn PageFeed>> {
        self.inner.engine.page_feed()
    }

    /// Returns true if the store follows another database. It then rejects all writes.
    pub fn follows(&self) -> bool {
        self.inner.follows
    }

    /// Returns the receiver of another database's pages; see [`Engine::page_sink`].
    pub fn page_sink(&self) -> Option<Arc<dyn PageSink>> {
        self.inner.engine.page_sink()
    }

    /// Returns the greatest row id at the time the store was opened. New ids must be greater.
    pub fn greatest_id(&self) -> u128 {
        self.inner.engine.greatest_id()
    }

    /// Checks if another read of `flow` would be accepted now, running or queued. Reserves nothing. An error counts as
    /// a rejection.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    pub fn room_to_read(&self, flow: Flow) -> Result<(), StoreError> {
        self.inner.engine.room_to_read(flow)
    }

    /// Checks if another mutation of `flow` would be accepted now. Reserves nothing. An error counts as a rejection.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    pub fn room_to_write(&self, flow: Flow) -> Result<(), StoreError> {
        self.inner.engine.room_to_write(flow)
    }

    /// Runs `read` on one snapshot, which ends when `read` returns. If the engine cannot order the read among
    /// concurrent mutations, it runs `read` again on another snapshot. A function with short recent runs executes on
    /// the calling thread if a reader is free. Other functions execute on a thread pool in the fair order of `flow`. A
    /// panic of the function propagates to the caller.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`]: too many reads are queued; [`StoreError::ShareFull`]: too many of `flow` are;
    /// [`StoreError::Closed`].
    pub async fn read<R, F>(&self, access: Access, flow: Flow, latency: &LatencyClass, read: F) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: Fn(Rc<dyn Reader>) -> R + Send + 'static,
    {
        self.read_timed(access, flow, latency, read).await.map(|(result, _)| result)
    }

    /// Like [`Store::read`]. Also returns the duration of the read, if an engine thread ran it.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub async fn read_timed<R, F>(
        &self,
        access: Access,
        flow: Flow,
        latency: &LatencyClass,
        read: F,
    ) -> Result<(R, Option<Duration>), StoreError>
    where
        R: Send + 'static,
        F: Fn(Rc<dyn Reader>) -> R + Send + 'static,
    {
        self.may_read(access)?;
        if latency.is_quick() {
            let mut result = None;
            let measured = latency.begin();
            if let Some(ran) = self.inner.engine.read_at_once(flow, &mut |reader| {
                // Frees the result of an earlier run first.
                result = None;
                result = Some(read(reader));
            })? {
                latency.record(ran.elapsed, measured.waited());
                ran.outcome?;
                return result.map(|result| (result, None)).ok_or_else(not_run);
            }
        }
        let (reply, answer) = oneshot::channel();
        let job = Waiting { read, result: None, waited: Duration::ZERO, reply };
        self.inner.engine.read_in_turn(flow, Box::new(job))?;
        let Answer { result, waited, ran } = answer.await.map_err(|_| shutting_down())?;
        let result = result.transpose().unwrap_or_else(|panic| resume_unwind(panic));
        let ran = ran?;
        latency.record(ran.elapsed, Some(waited));
        ran.outcome?;
        result.map(|result| (result, Some(ran.elapsed))).ok_or_else(not_run)
    }

    /// Like [`Store::read`], on the calling thread. Waits for a reader if none is free. For tools and tests.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn read_blocking<R>(&self, access: Access, read: impl Fn(Rc<dyn Reader>) -> R) -> Result<R, StoreError> {
        self.may_read(access)?;
        let mut result = None;
        let ran = self.inner.engine.read_blocking(Flow::SYSTEM, &mut |reader| {
            result = None;
            result = Some(read(reader));
        })?;
        ran.outcome?;
        result.ok_or_else(not_run)
    }

    /// Checks if the store serves reads of this access now. [`Store::read`] checks it first.
    ///
    /// # Errors
    /// [`StoreError::Closed`].
    pub fn may_read(&self, access: Access) -> Result<(), StoreError> {
        self.inner.gate.refuses_read(access).map_or(Ok(()), |reason| Err(StoreError::Closed(reason)))
    }

    /// Checks if the store is one that accepts writes.
    ///
    /// # Errors
    /// [`StoreError::NotWritable`]: it follows another database.
    pub fn may_write(&self) -> Result<(), StoreError> {
        if self.follows() { Err(StoreError::NotWritable(FOLLOWS)) } else { Ok(()) }
    }

    /// Queues a mutation for the writer, which completes it by [`WriteJob::finish`] on its own thread.
    ///
    /// # Errors
    /// Returns the job with [`StoreError::QueueFull`], [`StoreError::ShareFull`], [`StoreError::Closed`], or
    /// [`StoreError::NotWritable`] if the store follows copies.
    pub fn write(&self, job: Box<dyn WriteJob>) -> Result<(), (Box<dyn WriteJob>, StoreError)> {
        if let Err(error) = self.may_write() {
            return Err((job, error));
        }
        if let Some(reason) = self.inner.gate.refuses_write(job.access()) {
            return Err((job, StoreError::Closed(reason)));
        }
        self.inner.engine.write(job)
    }

    /// Returns the commits with their numbers and changes.
    pub fn commits(&self) -> &Arc<Commits> {
        &self.inner.commits
    }

    /// Returns the state of the store for all callers.
    pub fn state(&self) -> State {
        self.inner.gate.closed().map_or(State::Open, |reason| State::Closed { reason })
    }

    /// Checks readiness for `/readyz`: the store is open, the disk serves reads, and no mutation is stuck.
    ///
    /// # Errors
    /// The reason, in plain words.
    pub fn ready(&self) -> Result<(), String> {
        if let State::Closed { reason } = self.state() {
            return Err(reason);
        }
        self.inner.engine.health()?;
        match self.stuck() {
            Some((name, since)) => Err(format!("the mutation {name} has been running for {} ms", since.as_millis())),
            None => Ok(()),
        }
    }

    /// Returns the name and duration of a mutation that does not return and blocks all others.
    pub fn stuck(&self) -> Option<(String, Duration)> {
        self.inner.engine.stuck()
    }

    /// Returns the name of the engine for users.
    pub fn engine_name(&self) -> &'static str {
        self.inner.engine.name()
    }

    /// Returns the processes that serve the database.
    pub fn nodes(&self) -> Nodes {
        self.inner.engine.nodes()
    }

    /// Returns the clock that all nodes share, which rows and ids must use. `None`: there is a single node.
    pub fn clock(&self) -> Option<Arc<dyn Clock>> {
        self.inner.engine.clock()
    }

    /// Takes tokens from a bucket that all nodes share.
    ///
    /// # Errors
    /// As [`super::Engine::draw`].
    pub fn draw(&self, draw: &Draw) -> Result<Drawn, StoreError> {
        self.inner.engine.draw(draw)
    }

    /// Sends a request to another node and blocks for a few seconds until it responds. `None`: no node has this number.
    ///
    /// # Errors
    /// As [`super::Engine::ask`].
    pub fn ask(&self, node: u32, request: &str) -> Result<Option<String>, StoreError> {
        self.inner.engine.ask(node, request)
    }

    /// Sets the function that answers requests of other nodes.
    pub fn answer_by(&self, answerer: Answerer) {
        self.inner.engine.answer_by(answerer);
    }

    /// Returns the leases that all nodes share; `None` for a single node.
    pub fn leases(&self) -> Option<&dyn LeaseRows> {
        self.inner.engine.leases()
    }

    /// Returns the turns over all nodes; `None` for a single node.
    pub fn turns(&self) -> Option<&dyn TurnRows> {
        self.inner.engine.turns()
    }

    /// Returns the counters of the store.
    pub fn stats(&self) -> Stats {
        self.inner.engine.stats()
    }

    /// Returns the counters that only this engine has.
    pub fn own_stats(&self) -> Vec<NamedStat> {
        self.inner.engine.own_stats()
    }

    /// Copies the database into a new file while it is in use. Blocks until the copy is complete, verified and renamed
    /// to its final name. Another thread calls `progress`, which must be fast. `seal` receives the finished file before
    /// the rename, so that companion files exist first; its result is returned. A failed copy leaves no file.
    ///
    /// # Errors
    /// [`StoreError::Engine`]: the file cannot be written, the verification fails, or `seal` fails;
    /// [`StoreError::Closed`].
    pub fn backup<R>(
        &self,
        to: &Path,
        progress: impl FnMut(Progress) + Send + 'static,
        seal: impl FnOnce(&Path) -> std::io::Result<R>,
    ) -> Result<R, StoreError> {
        let (mut seal, mut sealed) = (Some(seal), None);
        self.inner.engine.backup(to, Box::new(progress), &mut |whole| {
            if let Some(seal) = seal.take() {
                sealed = Some(seal(whole)?);
            }
            Ok(())
        })?;
        sealed.ok_or_else(|| StoreError::Engine("a copy got its name before it was sealed".to_owned()))
    }

    /// Returns a read-only copy of the database as of one commit. It holds no snapshot, and dropping it removes the
    /// copy. Blocks until the copy is made, and needs as much disk space as the database.
    ///
    /// # Errors
    /// As [`Store::backup`].
    pub fn snapshot(
        &self,
        progress: impl FnMut(Progress) + Send + 'static,
    ) -> Result<Box<dyn OfflineDatabase>, StoreError> {
        self.inner.engine.snapshot(Box::new(progress))
    }

    /// Copies a foreign database and inspects the copy while this store serves. It changes nothing here and leaves
    /// nothing. Blocks, and needs as much disk space as the file. `progress` receives the bytes copied so far.
    ///
    /// # Errors
    /// Errors of `look` and of the file system; [`OfflineError::Foreign`]: the file is no database of this engine.
    pub fn examine<R>(
        &self,
        file: &Path,
        clock: Arc<dyn Clock>,
        progress: &mut dyn FnMut(u64),
        look: impl FnOnce(&dyn OfflineDatabase) -> Result<R, OfflineError>,
    ) -> Result<R, OfflineError> {
        if let Some(tool) = self.inner.factory.backed_up_by() {
            return Err(StoreError::BackedUpBy(tool).into());
        }
        // After a crash, the next start removes the folder of temporary files.
        let scratch = self.inner.data.join(EXAMINED);
        let failed = |source| OfflineError::File { path: scratch.clone(), source };
        match std::fs::remove_dir_all(&scratch) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        std::fs::create_dir_all(&scratch).map_err(failed)?;
        let looked = self.inner.factory.lock(&scratch, clock).map_err(OfflineError::from).and_then(|installation| {
            let copy = installation.take_in(file, progress)?;
            look(&*copy)
        });
        // It is only a copy; the next start removes the rest.
        let _ = std::fs::remove_dir_all(&scratch);
        looked
    }

    /// Returns the tables of the store, by name.
    pub fn tables(&self) -> &[&'static TableDef] {
        &self.inner.tables
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        &self.inner.data
    }

    /// Returns the files of the engine in the data folder.
    pub fn files(&self) -> Files {
        self.inner.factory.files(&self.inner.data)
    }

    /// Closes the store: rejects new work, completes queued work, and joins the engine's threads. Blocks until then.
    /// Running reads continue.
    pub fn close(&self) {
        self.inner.engine.close();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.engine.close();
    }
}

fn shutting_down() -> StoreError {
    StoreError::Closed("it is shutting down".to_owned())
}

fn not_run() -> StoreError {
    StoreError::Engine("a read was answered without a run".to_owned())
}

/// A queued read.
struct Waiting<F, R> {
    read: F,
    /// The result of the last run.
    result: Option<thread::Result<R>>,
    /// Time in the queue.
    waited: Duration,
    reply: oneshot::Sender<Answer<R>>,
}

struct Answer<R> {
    /// Result of the function, or its panic; `None` if it did not run.
    result: Option<thread::Result<R>>,
    waited: Duration,
    ran: Result<Ran, StoreError>,
}

impl<R: Send, F: Fn(Rc<dyn Reader>) -> R + Send> ReadJob for Waiting<F, R> {
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn run(&mut self, reader: Rc<dyn Reader>) {
        let measured = CoreWait::begin();
        self.result = None;
        self.result = Some(catch_unwind(AssertUnwindSafe(|| (self.read)(reader))));
        self.waited += measured.waited().unwrap_or_default();
    }

    fn finish(self: Box<Self>, ran: Result<Ran, StoreError>) {
        let Self { read, result, waited, reply } = *self;
        // It holds the store: the receiver of the result may close it and open it again.
        drop(read);
        // Whoever asked may be gone.
        let _ = reply.send(Answer { result, waited, ran });
    }
}
