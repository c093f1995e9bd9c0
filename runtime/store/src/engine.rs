//! The engine interface: engines, their factories, and the work that the store passes to them.
//!
//! The crates above it are independent of the engine. An engine passes a [`Reader`] to each read and a
//! [`Transaction`] to each write, serializable: a read uses one snapshot, writes take effect one after the other, and a write completes
//! when it is durable. Differences between engines (pages, a log, files) are available as data: [`Engine::own_stats`],
//! [`EngineFactory::files`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::commits::Commits;
use super::disk::Disk;
use super::error::{OpenError, StoreError};
use super::fairness::Flow;
use super::gate::{Access, Gate};
use super::nodes::{LeaseRows, TurnRows};
use super::offline::{Installation, OfflineDatabase};
use super::overlay::Transaction;
use super::page_feed::{CopyAcknowledgement, PageFeed};
use super::page_sink::PageSink;
use super::reader::Reader;
use super::schema::Extent;
use super::schema::table::TableDef;
use super::stats::{NamedStat, Stats};
use convoke_core::clock::{Clock, Millis};
use convoke_core::limits::Limits;

/// A kind of engine with its settings. It opens databases for serving or for inspection.
pub trait EngineFactory: fmt::Debug + Send + Sync + 'static {
    /// Opens the database, applies additions of the tables, and starts to serve. Other schema differences are reported
    /// to the gate ([`Gate::set_schema`]) and are no error.
    ///
    /// # Errors
    /// [`OpenError`]: another process serves the database, it cannot be reached, or the engine fails.
    fn open(&self, start: EngineStart<'_>) -> Result<Box<dyn Engine>, OpenError>;

    /// Opens an installation whose server is stopped, to inspect or replace its database.
    ///
    /// # Errors
    /// [`OpenError::Locked`]: a server is running; [`OpenError::Folder`].
    fn lock(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError>;

    /// Like [`EngineFactory::lock`], read-only.
    ///
    /// # Errors
    /// As [`EngineFactory::lock`].
    fn look(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError>;

    /// Deletes all rows of a database that no process serves. Tests reuse a database with it where creating one takes
    /// long.
    ///
    /// # Errors
    /// Errors of the engine; the engine has no database outside of its data folder.
    #[doc(hidden)]
    fn empty(&self) -> Result<(), OpenError> {
        Err(OpenError::Engine("its databases are files, which are removed".to_owned()))
    }

    /// Returns its files in a data folder.
    fn files(&self, data: &Path) -> Files;

    /// Returns the tool that backs up and restores its databases, in plain words, if it is not this program.
    fn backed_up_by(&self) -> Option<&'static str> {
        None
    }
}

/// Arguments for opening an engine.
pub struct EngineStart<'a> {
    /// The data folder of the installation.
    pub data: &'a Path,
    /// Public text of settings that all nodes of a database must share. An engine with a single node ignores it.
    pub agreed: Option<&'a str>,
    /// The tables, by name. Their definitions are valid.
    pub tables: Vec<&'static TableDef>,
    /// The limits.
    pub limits: &'a Limits,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Source of the free space on the disk of the data folder.
    pub disk: Arc<dyn Disk>,
    /// Reaction to a mutation that does not return.
    pub stuck: Stuck,
    /// Decides which calls are served. The store checks it before each call; the engine closes and opens it.
    pub gate: Arc<Gate>,
    /// Numbers and publishes each commit that may change a row ([`Commits::commit`]).
    pub commits: Arc<Commits>,
    /// Receives each long step of opening the database.
    pub on_opening: OnOpening,
    /// Opens the database with a [`PageFeed`], if set.
    pub copied: Option<CopyAcknowledgement>,
    /// True if the rows are those of another database, whose pages arrive through [`Engine::page_sink`]. The engine
    /// itself then writes nothing.
    pub follows: bool,
}

/// Receives a line of text for each long step of opening a database. It must be fast.
#[derive(Clone)]
pub struct OnOpening(Arc<dyn Fn(&str) + Send + Sync>);

impl OnOpening {
    /// Creates one that passes each line to `receive`.
    pub fn new(receive: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receive))
    }

    /// Reports the start of a step.
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

/// Reaction to a mutation that exceeds ten times its time limit. It blocks all others and cannot be interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Report it in the log and in [`crate::Store::ready`].
    Report,
    /// End the process, so that its supervisor restarts it. Acknowledged writes are not lost.
    EndProcess,
}

/// The files of an engine in a data folder; they may not exist.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Files with rows.
    pub database: Vec<PathBuf>,
    /// The one of them with the latest writes, which is copied back periodically.
    pub log: Option<PathBuf>,
    /// Other private files.
    pub others: Vec<PathBuf>,
    /// Folder of temporary files.
    pub scratch: Option<PathBuf>,
    /// Databases that were replaced and kept.
    pub former: Vec<PathBuf>,
    /// True if a replacement of the database was started and not completed.
    pub is_half_replaced: bool,
}

impl Files {
    /// Returns the size of the database in bytes.
    pub fn bytes(&self) -> u64 {
        self.database.iter().map(|file| size(file)).sum()
    }

    /// Returns the size of the log in bytes; 0 if the engine has none.
    pub fn log_bytes(&self) -> u64 {
        self.log.as_deref().map_or(0, size)
    }
}

fn size(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |metadata| metadata.len())
}

/// An open database. The store passes it the calls that the gate lets through.
pub trait Engine: Send + Sync + 'static {
    /// Runs `read` on one snapshot on the calling thread if no other caller has to wait for it; otherwise returns
    /// `None` and does nothing. If the engine cannot order the snapshot among the mutations, it runs `read` again on
    /// another one.
    ///
    /// # Errors
    /// [`StoreError::Closed`]; errors of the engine before the first run of `read`.
    fn read_at_once(&self, flow: Flow, read: &mut Read<'_>) -> Result<Option<Ran>, StoreError>;

    /// Like [`Engine::read_at_once`], but the calling thread waits for the turn of `flow`.
    ///
    /// # Errors
    /// As [`Engine::read_at_once`]; [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    fn read_blocking(&self, flow: Flow, read: &mut Read<'_>) -> Result<Ran, StoreError>;

    /// Runs `job` on a thread of the engine, now or in the turn of `flow`, and completes it by [`ReadJob::finish`].
    ///
    /// # Errors
    /// The job is neither queued nor completed: [`StoreError::QueueFull`], [`StoreError::ShareFull`],
    /// [`StoreError::Closed`].
    fn read_in_turn(&self, flow: Flow, job: Box<dyn ReadJob>) -> Result<(), StoreError>;

    /// Queues a mutation, which is completed by [`WriteJob::finish`].
    ///
    /// # Errors
    /// Returns the job with [`StoreError::QueueFull`], [`StoreError::ShareFull`] or [`StoreError::Closed`].
    fn write(&self, job: Box<dyn WriteJob>) -> Result<(), (Box<dyn WriteJob>, StoreError)>;

    /// Checks if another read of `flow` would be accepted now, running or queued. Reserves nothing. An error counts as
    /// a rejection.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    fn room_to_read(&self, flow: Flow) -> Result<(), StoreError>;

    /// Checks if another mutation of `flow` would be accepted now. Reserves nothing. An error counts as a rejection.
    ///
    /// # Errors
    /// [`StoreError::QueueFull`], [`StoreError::ShareFull`].
    fn room_to_write(&self, flow: Flow) -> Result<(), StoreError>;

    /// Compares the database with the tables again, beside running mutations, and reports the remaining differences to
    /// the gate.
    ///
    /// # Errors
    /// The engine's.
    fn follow_schema(&self, extent: Extent) -> Result<(), OpenError>;

    /// Returns the name of the engine for users.
    fn name(&self) -> &'static str;

    /// Returns the greatest row id at the time the database was opened; 0 if there was no row.
    fn greatest_id(&self) -> u128;

    /// Returns the processes that serve the database.
    fn nodes(&self) -> Nodes {
        Nodes::Alone
    }

    /// Returns the clock that all nodes share. `None`: a single node uses its own clock.
    fn clock(&self) -> Option<Arc<dyn Clock>> {
        None
    }

    /// Takes tokens from a bucket that all nodes share. A single node does not call it.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`]: the outcome is unknown, and the tokens may have been taken.
    fn draw(&self, _: &Draw) -> Result<Drawn, StoreError> {
        Err(StoreError::Engine("one node alone shares no buckets".to_owned()))
    }

    /// Sends a request to another node and waits a few seconds for the response of its [`Answerer`]. `None`: no live
    /// node has this number. A single node does not call it.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`]: the node did not respond and may have executed the request.
    fn ask(&self, _node: u32, _request: &str) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    /// Sets the function that answers requests of other nodes. Later calls have no effect.
    fn answer_by(&self, _answerer: Answerer) {}

    /// Returns the leases that all nodes share; `None` for a single node.
    fn leases(&self) -> Option<&dyn LeaseRows> {
        None
    }

    /// Returns the turns over all nodes; `None` for a single node.
    fn turns(&self) -> Option<&dyn TurnRows> {
        None
    }

    /// Checks if the engine can serve the calls that the gate lets through.
    ///
    /// # Errors
    /// The reason, in plain words.
    fn health(&self) -> Result<(), String>;

    /// Returns the name and duration of a mutation that does not return and blocks others.
    fn stuck(&self) -> Option<(String, Duration)>;

    /// Returns the counters that every engine has.
    fn stats(&self) -> Stats;

    /// Returns the counters that only this engine has.
    fn own_stats(&self) -> Vec<NamedStat>;

    /// Returns the feed of changed pages, if the database was opened with one ([`EngineStart::copied`]) and the engine
    /// has pages.
    fn page_feed(&self) -> Option<Arc<dyn PageFeed>> {
        None
    }

    /// Returns the receiver of another database's pages, if the database was opened to follow one
    /// ([`EngineStart::follows`]) and the engine has pages.
    fn page_sink(&self) -> Option<Arc<dyn PageSink>> {
        None
    }

    /// Copies the database into a new file while it is in use. Blocks until the copy is complete, verified and renamed
    /// to its final name. Another thread calls `progress`, which must be fast. `seal` receives the finished file before
    /// the rename. A failed copy leaves no file.
    ///
    /// # Errors
    /// [`StoreError::Engine`]: the file cannot be written, the verification fails, or `seal` fails;
    /// [`StoreError::Closed`].
    fn backup(&self, to: &Path, progress: OnProgress, seal: &mut Seal<'_>) -> Result<(), StoreError>;

    /// Returns a read-only copy of the database as of one commit. Dropping it removes the copy.
    ///
    /// # Errors
    /// As [`Engine::backup`].
    fn snapshot(&self, progress: OnProgress) -> Result<Box<dyn OfflineDatabase>, StoreError>;

    /// Stops the engine: rejects new work, completes queued work, and joins its threads. Blocks until then. Running
    /// reads continue. A second call does nothing.
    fn close(&self);
}

/// Answers requests of other nodes. It must be fast.
pub type Answerer = Box<dyn Fn(&str) -> String + Send + Sync>;

/// A request for tokens of a bucket that all nodes of a database share. The bucket refills evenly up to its capacity
/// and starts full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// Bucket id; all nodes use the same.
    pub bucket: u128,
    /// Capacity in tokens.
    pub full: f64,
    /// Tokens per second.
    pub per_second: f64,
    /// Tokens that the bucket must contain; otherwise nothing is taken.
    pub needed: f64,
    /// Tokens to take, even if the balance becomes negative.
    pub cost: f64,
    /// Tokens to take in advance if the bucket contains more than that.
    pub block: f64,
    /// Time of the node's clock.
    pub now: Millis,
}

/// The result of a [`Draw`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Number of tokens taken; 0 if none.
    pub taken: f64,
    /// Number of tokens left.
    pub left: f64,
}

/// The processes that serve a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// Only this process, as long as it has the database open.
    Alone,
    /// Several processes. No two processes, past or present, have the same number.
    Many {
        /// Number of this process.
        own: u32,
        /// Name of this process for users.
        name: Arc<str>,
        /// Numbers of all processes that were recently alive.
        living: Vec<u32>,
    },
}

impl Nodes {
    /// Returns the number of processes, including this one.
    pub fn count(&self) -> usize {
        match self {
            Nodes::Alone => 1,
            Nodes::Many { own, living, .. } => living.iter().filter(|number| *number != own).count() + 1,
        }
    }

    /// Returns true if the process with this number may still be running.
    pub fn may_live(&self, number: u32) -> bool {
        matches!(self, Nodes::Many { own, living, .. } if *own == number || living.contains(&number))
    }
}

/// A read. It receives the reader and stores its result itself; the last run counts.
pub type Read<'a> = dyn FnMut(Rc<dyn Reader>) + 'a;

/// Receives the progress of a copy.
pub type OnProgress = Box<dyn FnMut(Progress) + Send>;

/// Receives a finished copy before its rename.
pub type Seal<'a> = dyn FnMut(&Path) -> std::io::Result<()> + 'a;

/// Progress of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Pages, or other units of the engine, copied so far.
    pub done: u64,
    /// Total number of units at present.
    pub total: u64,
}

/// The result of a completed read.
#[derive(Debug)]
pub struct Ran {
    /// `Err` if the engine failed the read in a way that the function may have ignored, such as a timeout or an I/O
    /// error.
    pub outcome: Result<(), StoreError>,
    /// Duration, including opening the snapshot.
    pub elapsed: Duration,
}

/// A queued read.
pub trait ReadJob: Send {
    /// Returns true if its caller no longer waits.
    fn is_abandoned(&self) -> bool;

    /// Runs the read; the last run counts. Does not panic.
    fn run(&mut self, reader: Rc<dyn Reader>);

    /// Completes the read with its result, or with the reason why it did not run.
    fn finish(self: Box<Self>, ran: Result<Ran, StoreError>);
}

/// A mutation for the engine. The engine may run it several times and completes it exactly once.
pub trait WriteJob: Send {
    /// Runs the mutation inside its own savepoint. `Err` rolls back its writes (the caller receives an error).
    ///
    /// # Errors
    /// The store's failure that makes the mutation fail; `None` for an error of the function.
    fn run(&mut self, transaction: Rc<Transaction>) -> Result<(), Option<StoreError>>;

    /// Completes the mutation once its outcome is durable. `Ok`: the result of the last run holds (committed or rolled
    /// back as it returned). `Err`: the engine failed it, whatever `run` returned.
    fn finish(self: Box<Self>, outcome: Result<(), StoreError>);

    /// Returns true if the batch must be committed before this mutation, because it takes long.
    fn slow(&self) -> bool {
        false
    }

    /// Returns the access class of the caller.
    fn access(&self) -> Access {
        Access::Everyone
    }

    /// Returns the flow whose share of the writer it uses.
    fn flow(&self) -> Flow {
        Flow::SYSTEM
    }

    /// Returns its name for the watchdog's log.
    fn name(&self) -> &str;
}
