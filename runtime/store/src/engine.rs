//! The seam: what an engine is, who opens one, and what it is handed to run.
//!
//! Above it nobody knows which engine there is. An engine hands a [`Reader`] to each read and a [`Writer`] to each
//! write, whole and isolated: a read sees one snapshot, writes take effect as if one ran after the other, and a write is
//! answered when it is durable. What one engine has and another has not (pages, a log, files) is asked of it as data:
//! [`Engine::own_stats`], [`EngineFactory::files`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::commits::{ChangeSet, Commits};
use super::disk::Disk;
use super::error::{OpenError, StoreError};
use super::fairness::Flow;
use super::gate::{Access, Gate};
use super::nodes::{LeaseRows, TurnRows};
use super::offline::{Installation, OfflineDatabase};
use super::schema::Extent;
use super::schema::table::TableDef;
use super::stats::{NamedStat, Stats};
use super::transaction::{Reader, Writer};
use convoke_core::clock::{Clock, Millis};
use convoke_core::limits::Limits;

/// A kind of engine, with its settings: opens databases, served or not.
pub trait EngineFactory: fmt::Debug + Send + Sync + 'static {
    /// Opens the database, has it follow the tables in what they add, and starts to serve. A schema that differs in more
    /// than additions is told to the gate ([`Gate::set_schema`]) and is no error.
    ///
    /// # Errors
    /// [`OpenError`]: another process serves it, it cannot be reached, the engine fails.
    fn open(&self, start: EngineStart<'_>) -> Result<Box<dyn Engine>, OpenError>;

    /// Takes an installation whose server is stopped, to look at its database and to replace it.
    ///
    /// # Errors
    /// [`OpenError::Locked`] if a server runs; [`OpenError::Folder`].
    fn lock(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError>;

    /// As [`EngineFactory::lock`], and leaves everything as it is: to look only.
    ///
    /// # Errors
    /// As [`EngineFactory::lock`].
    fn look(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError>;

    /// Removes every row of a database that nobody serves: for tests, which use one after the other where it takes long to
    /// make.
    ///
    /// # Errors
    /// The engine's; it has none that outlives its data folder.
    #[doc(hidden)]
    fn empty(&self) -> Result<(), OpenError> {
        Err(OpenError::Engine("its databases are files, which are removed".to_owned()))
    }

    /// What it keeps in a data folder.
    fn files(&self, data: &Path) -> Files;

    /// What backs its databases up and puts them back, in plain words, where it is not this program.
    fn backed_up_by(&self) -> Option<&'static str> {
        None
    }
}

/// What an engine is opened with.
pub struct EngineStart<'a> {
    /// The data folder of the installation.
    pub data: &'a Path,
    /// What all who serve the database at the same time must have alike, in a form that anybody may know. An engine that
    /// serves alone does not look at it.
    pub agreed: Option<&'a str>,
    /// The tables, by name; their definitions keep the rules.
    pub tables: Vec<&'static TableDef>,
    /// The bounds.
    pub limits: &'a Limits,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Where it learns how much room the data folder's disk has.
    pub disk: Arc<dyn Disk>,
    /// What happens when a mutation does not return.
    pub stuck: Stuck,
    /// Whether the store serves, and whom. The store asks it before each call; the engine closes and opens it.
    pub gate: Arc<Gate>,
    /// Where every commit is made that may change a row, so that it is numbered and published ([`Commits::commit`]).
    pub commits: Arc<Commits>,
    /// Receives each long step of opening the database.
    pub on_opening: OnOpening,
}

/// Receives a line of text for each long step of opening a database. It must be quick.
#[derive(Clone)]
pub struct OnOpening(Arc<dyn Fn(&str) + Send + Sync>);

impl OnOpening {
    /// Hands each line to `receive`.
    pub fn new(receive: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receive))
    }

    /// Begins a step.
    pub fn begins(&self, step: &str) {
        (self.0)(step);
    }
}

impl Default for OnOpening {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for OnOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnOpening")
    }
}

/// What happens when a mutation runs ten times as long as it may. It stops everybody, and cannot be stopped itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// It stands in the log, and in [`crate::Store::ready`].
    Report,
    /// The process ends, for its supervisor to start it again: nothing acknowledged is lost.
    EndProcess,
}

/// The files of an engine in a data folder, whether they are there or not.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Those that hold rows.
    pub database: Vec<PathBuf>,
    /// The one among them that holds what was written last and is copied back from time to time.
    pub log: Option<PathBuf>,
    /// Others, for the owner alone too.
    pub others: Vec<PathBuf>,
    /// The folder of what is being made.
    pub scratch: Option<PathBuf>,
    /// Databases that were replaced and kept.
    pub former: Vec<PathBuf>,
    /// Whether a replacement of the database was begun and not ended.
    pub is_half_replaced: bool,
}

impl Files {
    /// The bytes of the database.
    pub fn bytes(&self) -> u64 {
        self.database.iter().map(|file| size(file)).sum()
    }

    /// The bytes of the log; 0 if the engine has none.
    pub fn log_bytes(&self) -> u64 {
        self.log.as_deref().map_or(0, size)
    }
}

fn size(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |metadata| metadata.len())
}

/// An open database. The store holds one and passes on what the gate lets through.
pub trait Engine: Send + Sync + 'static {
    /// Runs `read` in one snapshot on the thread that calls, if that takes nobody's turn; `None` and nothing else if it
    /// would. An engine that cannot put the snapshot into the order of the mutations runs it again in another one.
    ///
    /// # Errors
    /// [`StoreError::Closed`]; the engine's, before a run of `read` began.
    fn read_at_once(&self, flow: Flow, read: &mut Read<'_>) -> Result<Option<Ran>, StoreError>;

    /// Runs `read` as [`Engine::read_at_once`] does, on the thread that calls, which waits for the turn of `flow`.
    ///
    /// # Errors
    /// As [`Engine::read_at_once`]; [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    fn read_blocking(&self, flow: Flow, read: &mut Read<'_>) -> Result<Ran, StoreError>;

    /// Has a thread of the engine's run `job`, now or when it is the turn of `flow`, and answer it through
    /// [`ReadJob::finish`].
    ///
    /// # Errors
    /// It is not taken, and not answered: [`StoreError::QueueFull`], [`StoreError::ShareFull`], [`StoreError::Closed`].
    fn read_in_turn(&self, flow: Flow, job: Box<dyn ReadJob>) -> Result<(), StoreError>;

    /// Lines a mutation up, which is answered through [`WriteJob::finish`].
    ///
    /// # Errors
    /// Gives the job back, with [`StoreError::QueueFull`], [`StoreError::ShareFull`] or [`StoreError::Closed`].
    fn write(&self, job: Box<dyn WriteJob>) -> Result<(), (Box<dyn WriteJob>, StoreError)>;

    /// Whether one more read of `flow` would be taken now, at once or to wait. It reserves nothing. A no counts as a
    /// rejection.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    fn room_to_read(&self, flow: Flow) -> Result<(), StoreError>;

    /// Whether one more mutation of `flow` would be taken now. It reserves nothing. A no counts as a rejection.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    fn room_to_write(&self, flow: Flow) -> Result<(), StoreError>;

    /// Has the database follow the tables once more, beside mutations at work, and tells the gate what is left.
    ///
    /// # Errors
    /// The engine's.
    fn follow_schema(&self, extent: Extent) -> Result<(), OpenError>;

    /// What it is called, for people.
    fn name(&self) -> &'static str;

    /// The greatest id of any row when the database was opened; 0 if there was none.
    fn greatest_id(&self) -> u128;

    /// Who serves the database.
    fn nodes(&self) -> Nodes {
        Nodes::Alone
    }

    /// The time of day that all nodes share; `None` where one serves alone, by the clock that it was given.
    fn clock(&self) -> Option<Arc<dyn Clock>> {
        None
    }

    /// Takes tokens out of a bucket that all nodes share. Where one serves alone nobody asks.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`]: nothing is known then, and it may have been taken.
    fn draw(&self, _: &Draw) -> Result<Drawn, StoreError> {
        Err(StoreError::Engine("one node alone shares no buckets".to_owned()))
    }

    /// Asks another node, by its number, and waits some seconds for what its [`Answerer`] says; `None` if no node of this
    /// number lives. Where one serves alone nobody asks.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`]: it has not answered, and may have done what was asked.
    fn ask(&self, _node: u32, _request: &str) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    /// Has other nodes answered by this one from now on; the first answerer stays.
    fn answer_by(&self, _answerer: Answerer) {}

    /// Leases that all nodes share; none where one serves alone.
    fn leases(&self) -> Option<&dyn LeaseRows> {
        None
    }

    /// Turns over all nodes; none where one serves alone.
    fn turns(&self) -> Option<&dyn TurnRows> {
        None
    }

    /// Whether calls that the gate lets through can be expected to be served.
    ///
    /// # Errors
    /// The reason why not, in plain words.
    fn health(&self) -> Result<(), String>;

    /// A mutation that does not return and holds up others, if there is one, and how long it has been running.
    fn stuck(&self) -> Option<(String, Duration)>;

    /// What every engine counts.
    fn stats(&self) -> Stats;

    /// What only this one counts.
    fn own_stats(&self) -> Vec<NamedStat>;

    /// Copies the database into a file of its own, while it is in use; blocks until the copy is whole, checked, and has
    /// its name. `progress` is told on another thread and must be quick. `seal` is handed the finished file before it has
    /// its name. A copy that fails leaves no file.
    ///
    /// # Errors
    /// [`StoreError::Engine`] if the file cannot be written, the check finds something, or `seal` fails;
    /// [`StoreError::Closed`].
    fn backup(&self, to: &Path, progress: OnProgress, seal: &mut Seal<'_>) -> Result<(), StoreError>;

    /// The database as of one commit, for reading at leisure; nothing is left when it is dropped.
    ///
    /// # Errors
    /// As [`Engine::backup`].
    fn snapshot(&self, progress: OnProgress) -> Result<Box<dyn OfflineDatabase>, StoreError>;

    /// Takes no more work, answers what waits, and ends its threads; blocks until then. Reads that have begun go on. A
    /// second call does nothing.
    fn close(&self);
}

/// Says what a node answers to another one. It must be quick.
pub type Answerer = Box<dyn Fn(&str) -> String + Send + Sync>;

/// Tokens to be taken out of a bucket that the nodes of a database share: it refills evenly up to what it holds at most,
/// and is full at first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// Which one; all nodes name it alike.
    pub bucket: u128,
    /// Tokens that it holds at most.
    pub full: f64,
    /// Tokens that come a second.
    pub per_second: f64,
    /// It must hold so many; otherwise nothing is taken.
    pub needed: f64,
    /// So many are taken, even if it owes some then.
    pub cost: f64,
    /// Where it holds more than that, so many are taken, as a stock.
    pub block: f64,
    /// Time, by the clock of the node.
    pub now: Millis,
}

/// What came of a [`Draw`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Tokens that were taken; none = 0.
    pub taken: f64,
    /// Those that are left.
    pub left: f64,
}

/// Who serves a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// This process alone, as long as it holds the database.
    Alone,
    /// Several processes, each by a number that no other one has, also none before it.
    Many {
        /// This one.
        own: u32,
        /// What this one is called, for people.
        name: Arc<str>,
        /// All that are known to live, lately.
        living: Vec<u32>,
    },
}

impl Nodes {
    /// How many serve it, this one among them.
    pub fn count(&self) -> usize {
        match self {
            Nodes::Alone => 1,
            Nodes::Many { own, living, .. } => living.iter().filter(|number| *number != own).count() + 1,
        }
    }

    /// Whether the process of this number may still be at work.
    pub fn may_live(&self, number: u32) -> bool {
        matches!(self, Nodes::Many { own, living, .. } if *own == number || living.contains(&number))
    }
}

/// A read: it is handed its reader, and keeps its result itself, that of its last run.
pub type Read<'a> = dyn FnMut(Rc<dyn Reader>) + 'a;

/// Told how far a copy is.
pub type OnProgress = Box<dyn FnMut(Progress) + Send>;

/// Handed a finished copy before it has its name.
pub type Seal<'a> = dyn FnMut(&Path) -> std::io::Result<()> + 'a;

/// How far a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Pages copied, or whatever the engine copies by.
    pub done: u64,
    /// All there are, as of now.
    pub total: u64,
}

/// What became of a read that ran.
#[derive(Debug)]
pub struct Ran {
    /// Whether what it made stands. It does not if the engine failed the read in a way that its function may have
    /// overlooked: past the deadline, a disk that did not answer.
    pub outcome: Result<(), StoreError>,
    /// How long it took, with the opening of its snapshot.
    pub elapsed: Duration,
}

/// A read that waits for its turn.
pub trait ReadJob: Send {
    /// Whether nobody waits for its answer any more.
    fn is_abandoned(&self) -> bool;

    /// Runs it; the last run counts. Does not panic.
    fn run(&mut self, reader: Rc<dyn Reader>);

    /// Answers it: what became of it, or why it did not run.
    fn finish(self: Box<Self>, ran: Result<Ran, StoreError>);
}

/// A mutation, as the engine runs it: possibly more than once, and answered exactly once.
pub trait WriteJob: Send {
    /// Runs it inside a savepoint of its own. `Err` means: roll back what it wrote (its answer is an error).
    ///
    /// # Errors
    /// The failure of the store that makes the mutation's outcome an error; `None` for the function's own refusal.
    fn run(&mut self, writer: Rc<dyn Writer>) -> Result<(), Option<StoreError>>;

    /// What `run` changed when it ran last: asked once, of a mutation that is kept, before its commit.
    fn take_changes(&mut self) -> ChangeSet {
        ChangeSet::everything()
    }

    /// Answers it, when its outcome is durable: `Ok` = what `run` made of it last stands (kept or rolled back as it
    /// said); `Err` = the engine failed it, whatever `run` said.
    fn finish(self: Box<Self>, outcome: Result<(), StoreError>);

    /// Whether the batch is to be committed before it, since it is known to take long.
    fn slow(&self) -> bool {
        false
    }

    /// For whom it runs.
    fn access(&self) -> Access {
        Access::Everyone
    }

    /// Whose share of the writer it takes.
    fn flow(&self) -> Flow {
        Flow::SYSTEM
    }

    /// What the watchdog calls it in the log.
    fn name(&self) -> &str;
}
