//! The store as the runtime holds it: opened once, read and written from any thread, closed at the end. It asks the gate
//! whether a call may pass, and hands it to the engine.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use super::commits::{Commits, RecordedJob};
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
use super::schema::table::TableDef;
use super::schema::{self, Extent};
use super::stats::{NamedStat, Stats};
use super::transaction::Reader;
use convoke_core::clock::{Clock, Millis};
use convoke_core::core_wait::CoreWait;
use convoke_core::limits::Limits;

/// Folder within the data folder to which a database from elsewhere is copied.
const EXAMINED: &str = "tmp/examined";

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The data folder; made where it is missing.
    pub data: PathBuf,
    /// What happens when a mutation does not return.
    pub stuck: Stuck,
    /// Where it learns how much room the disk has.
    pub disk: Arc<dyn Disk>,
    /// See [`EngineStart::agreed`].
    pub agreed: Option<String>,
    /// See [`EngineStart::on_opening`].
    pub on_opening: OnOpening,
}

impl StoreOptions {
    /// The defaults, in this folder.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            stuck: Stuck::Report,
            disk: Arc::new(SystemDisk),
            agreed: None,
            on_opening: OnOpening::default(),
        }
    }
}

/// Whether the store serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Reads and writes.
    Open,
    /// Not all of them, or none.
    Closed {
        /// Why, in plain words.
        reason: String,
    },
}

/// The database of a runtime. Clones are the same store; it closes with the last of them.
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
}

impl Store {
    /// Opens the database of a folder with an engine of this kind, applies what the tables add to it, and starts to
    /// serve.
    ///
    /// A schema that differs in more than additions is no error here: the store is [`State::Closed`] then, and serves
    /// [`Access::Admin`] only.
    ///
    /// # Errors
    /// [`OpenError`]: the folder is locked or unusable, a table's definition is wrong, the engine fails.
    pub fn open(
        factory: Arc<dyn EngineFactory>,
        options: StoreOptions,
        limits: &Limits,
        clock: Arc<dyn Clock>,
        mut tables: Vec<&'static TableDef>,
    ) -> Result<Self, OpenError> {
        schema::check(&tables)?;
        tables.sort_unstable_by_key(|table| table.name);
        let StoreOptions { data, stuck, disk, agreed, on_opening } = options;
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
        })?;
        // An id begins with the milliseconds at which it was made.
        commits.advance_past(Millis(i64::try_from(engine.greatest_id() >> 80).unwrap_or(0)));
        Ok(Self { inner: Arc::new(Inner { engine, gate, commits, tables, factory, data }) })
    }

    /// The difference between the schema in code and the database that keeps the store closed, in plain words.
    pub fn difference(&self) -> Option<String> {
        self.inner.gate.difference()
    }

    /// Compares the schema once more, when a migration has run: what fits now is applied, and the store opens. Blocks
    /// until the engine has done it, beside the mutations at work.
    ///
    /// # Errors
    /// The engine's.
    pub fn apply_schema(&self) -> Result<State, OpenError> {
        self.follow_schema(Extent::Whole)
    }

    /// Has the database follow the schema in what it can, so that a migration finds the fields that the code has; the
    /// store stays closed for the rest. From then on the former code does not serve it any more.
    ///
    /// # Errors
    /// The engine's.
    pub fn apply_schema_in_part(&self) -> Result<State, OpenError> {
        self.follow_schema(Extent::Part)
    }

    fn follow_schema(&self, extent: Extent) -> Result<State, OpenError> {
        self.inner.engine.follow_schema(extent)?;
        Ok(self.state())
    }

    /// The greatest id of any row when the store was opened: new ids must exceed it.
    pub fn greatest_id(&self) -> u128 {
        self.inner.engine.greatest_id()
    }

    /// Whether one more read of `flow` would be taken now, at once or to wait. It reserves nothing. A no counts as a
    /// rejection.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    pub fn room_to_read(&self, flow: Flow) -> Result<(), StoreError> {
        self.inner.engine.room_to_read(flow)
    }

    /// Whether one more mutation of `flow` would be taken now. It reserves nothing. A no counts as a rejection.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    pub fn room_to_write(&self, flow: Flow) -> Result<(), StoreError> {
        self.inner.engine.room_to_write(flow)
    }

    /// Runs `read` in one snapshot, which ends when it returns; again, in another one, as often as the engine could not
    /// put what it read into the order of the mutations beside it. A function that was quick lately runs right here if a
    /// reader is free; any other on a thread for such work, when it is the turn of `flow`. A panic of the function goes
    /// on in the caller.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`] if more wait for a reader than may, [`StoreError::ShareFull`] if more of `flow` do;
    /// [`StoreError::Closed`].
    pub async fn read<R, F>(&self, access: Access, flow: Flow, latency: &LatencyClass, read: F) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: Fn(Rc<dyn Reader>) -> R + Send + 'static,
    {
        self.read_timed(access, flow, latency, read).await.map(|(result, _)| result)
    }

    /// As [`Store::read`]. Returns also how long the read ran, if it was queued for a thread of the engine.
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
                // That of a run before must not take room beside it.
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

    /// As [`Store::read`], on the thread that calls, which waits for a reader if none is free: for tools and tests.
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

    /// Whether the store serves reads of this access now: what [`Store::read`] asks first.
    ///
    /// # Errors
    /// [`StoreError::Closed`].
    pub fn may_read(&self, access: Access) -> Result<(), StoreError> {
        self.inner.gate.refuses_read(access).map_or(Ok(()), |reason| Err(StoreError::Closed(reason)))
    }

    /// Lines a mutation up for the writer, which answers it through [`WriteJob::finish`] on its own thread.
    ///
    /// # Errors
    /// Gives the job back, with [`StoreError::QueueFull`], [`StoreError::ShareFull`] or [`StoreError::Closed`].
    pub fn write(&self, job: Box<dyn WriteJob>) -> Result<(), (Box<dyn WriteJob>, StoreError)> {
        if let Some(reason) = self.inner.gate.refuses_write(job.access()) {
            return Err((job, StoreError::Closed(reason)));
        }
        self.inner.engine.write(Box::new(RecordedJob::new(job, self.inner.commits.clone())))
    }

    /// What is committed, with its number and what it changed.
    pub fn commits(&self) -> &Arc<Commits> {
        &self.inner.commits
    }

    /// Whether the store serves everybody.
    pub fn state(&self) -> State {
        self.inner.gate.closed().map_or(State::Open, |reason| State::Closed { reason })
    }

    /// Whether calls can be expected to be served, for `/readyz`: the store is open, the disk answers reads, and no
    /// mutation is stuck.
    ///
    /// # Errors
    /// The reason why not, in plain words.
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

    /// The mutation that does not return and so holds up all others, if there is one, and how long it has been running.
    pub fn stuck(&self) -> Option<(String, Duration)> {
        self.inner.engine.stuck()
    }

    /// What the engine is called, for people.
    pub fn engine_name(&self) -> &'static str {
        self.inner.engine.name()
    }

    /// Who serves the database.
    pub fn nodes(&self) -> Nodes {
        self.inner.engine.nodes()
    }

    /// The time of day that all nodes share, by which rows and ids are to be made; `None` where one serves alone.
    pub fn clock(&self) -> Option<Arc<dyn Clock>> {
        self.inner.engine.clock()
    }

    /// Takes tokens out of a bucket that all nodes share.
    ///
    /// # Errors
    /// As [`super::Engine::draw`].
    pub fn draw(&self, draw: &Draw) -> Result<Drawn, StoreError> {
        self.inner.engine.draw(draw)
    }

    /// Asks another node, and blocks for some seconds until it has answered; `None` if there is none of this number.
    ///
    /// # Errors
    /// As [`super::Engine::ask`].
    pub fn ask(&self, node: u32, request: &str) -> Result<Option<String>, StoreError> {
        self.inner.engine.ask(node, request)
    }

    /// Has other nodes answered by this one from now on.
    pub fn answer_by(&self, answerer: Answerer) {
        self.inner.engine.answer_by(answerer);
    }

    /// Leases that all nodes share; none where one serves alone.
    pub fn leases(&self) -> Option<&dyn LeaseRows> {
        self.inner.engine.leases()
    }

    /// Turns over all nodes; none where one serves alone.
    pub fn turns(&self) -> Option<&dyn TurnRows> {
        self.inner.engine.turns()
    }

    /// What the store counts about itself.
    pub fn stats(&self) -> Stats {
        self.inner.engine.stats()
    }

    /// What only an engine of this kind counts.
    pub fn own_stats(&self) -> Vec<NamedStat> {
        self.inner.engine.own_stats()
    }

    /// Copies the database into a file of its own, while it is in use; blocks until the copy is whole, checked, and
    /// has its name. `progress` is told on another thread and must be quick. `seal` is handed the finished file
    /// before it has its name, so that what belongs beside it is there first; its result is returned. A copy that fails
    /// leaves no file.
    ///
    /// # Errors
    /// [`StoreError::Engine`] if the file cannot be written, the check finds something, or `seal` fails;
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

    /// A copy of the database as of one commit, for reading at leisure: no snapshot is held, and nothing is left when
    /// it is dropped. Blocks until the copy is made, and takes as much of the disk as the database.
    ///
    /// # Errors
    /// As [`Store::backup`].
    pub fn snapshot(
        &self,
        progress: impl FnMut(Progress) + Send + 'static,
    ) -> Result<Box<dyn OfflineDatabase>, StoreError> {
        self.inner.engine.snapshot(Box::new(progress))
    }

    /// Copies a database from elsewhere and looks at the copy, while this one serves. Nothing of this one changes, and nothing
    /// is left at the end. Blocks, and takes as much of the disk as the file. `progress` receives the bytes copied so far.
    ///
    /// # Errors
    /// Those of `look`; those of the file system; [`OfflineError::Foreign`] for a file that is no database of this engine.
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
        // It is a copy; the next start removes what cannot be removed now.
        let _ = std::fs::remove_dir_all(&scratch);
        looked
    }

    /// The tables it was opened with, by name.
    pub fn tables(&self) -> &[&'static TableDef] {
        &self.inner.tables
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        &self.inner.data
    }

    /// What the engine keeps in the data folder.
    pub fn files(&self) -> Files {
        self.inner.factory.files(&self.inner.data)
    }

    /// Takes no more work, answers what waits, and ends the engine's threads; blocks until then. Reads that have begun go
    /// on.
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

/// A read that waits for its turn.
struct Waiting<F, R> {
    read: F,
    /// Of its last run.
    result: Option<thread::Result<R>>,
    /// How long it waited for a core.
    waited: Duration,
    reply: oneshot::Sender<Answer<R>>,
}

struct Answer<R> {
    /// What the function returned, or its panic; `None` if it did not run.
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
        // It holds the store: whoever has the answer may close it, and open it again.
        drop(read);
        // Whoever asked may be gone.
        let _ = reply.send(Answer { result, waited, ran });
    }
}
