//! The engine for the store: readers, the writer and the watch threads, opened and closed together.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::answer::answer;
use super::cache::{Changed, Newest, page_cache};
use super::connection::{Common, Connection, Purpose, Readers};
use super::counters::Counters;
use super::file::names::log_of;
use super::file::{BackupJob, Bounds, DataDir, DatabaseFile, Watched, backup, schema};
use super::page_feed::PageFeed;
use super::page_sink::{self, PageSink};
use super::queue::{NotQueued, Queue, Whole};
use super::read;
use super::settings::Sqlite;
use super::switch::Switch;
use super::threads::{Current, Shared};
use super::watchdog;
use super::writer::Writer;
use convoke_core::clock::Clock;
use convoke_core::limits::Limits;
use convoke_store::disk::Floor;
use convoke_store::engine::{OnProgress, Read, Seal};
use convoke_store::gate::Gate;
use convoke_store::page_feed::{FeedPoint, FeedSnapshot, Receive, Resumed, Taken};
use convoke_store::schema::Extent;
use convoke_store::{
    Engine, EngineStart, Flow, NamedStat, OfflineDatabase, OpenError, Ran, ReadJob, Stats, StoreError, TableDef,
    WriteJob,
};

/// An open database.
pub(crate) struct SqliteEngine {
    shared: Arc<Shared>,
    readers: Arc<Readers>,
    common: Common,
    tables: Arc<[&'static TableDef]>,
    way: schema::Way,
    clock: Arc<dyn Clock>,
    wal_bytes_max: u64,
    greatest_id: u128,
    follows: bool,
    threads: Mutex<Vec<JoinHandle<()>>>,
    watches: Switch,
    snapshots: AtomicU64,
    // Last: the folder is unlocked after everything in it is closed.
    folder: DataDir,
}

impl SqliteEngine {
    /// Opens the database of a folder, applies additions of the tables, and starts the writer.
    ///
    /// # Errors
    /// [`OpenError`]: the folder is locked or unusable, or the engine fails.
    pub(crate) fn open(settings: &Sqlite, start: EngineStart<'_>) -> Result<Self, OpenError> {
        let EngineStart {
            data,
            agreed: _,
            tables,
            limits,
            clock,
            disk,
            stuck,
            gate,
            commits,
            on_opening,
            copied,
            follows,
        } = start;
        schema::require_free_names(&tables)?;
        let tables: Arc<[_]> = tables.into();
        let folder = DataDir::open(data)?;
        let shared = Arc::new(shared(limits, gate));
        let page_feed = copied.map(|acknowledgement| {
            let database = folder.database();
            PageFeed::open(&database, log_of(&database), acknowledgement, clock.clone()).map(Arc::new)
        });
        let page_feed =
            page_feed.transpose().map_err(|source| OpenError::Folder { folder: data.to_owned(), source })?;
        let common = Common {
            path: folder.database().into(),
            synchronous: settings.synchronous,
            page_bytes: settings.page_bytes,
            cache: page_cache::of_connections(limits),
            pages_max: settings.pages_max,
            wal_bytes_kept: settings.checkpoint_bytes,
            clock: clock.clone(),
            counters: shared.counters.clone(),
            newest: Arc::new(Newest::new(page_cache::bytes_of_rows(limits))),
            commits,
            reads: shared.reads.clone(),
            page_feed,
        };
        let connection = Rc::new(Connection::open(&common, Purpose::Write)?);
        let way = schema::Way { large_rows: settings.large_rows, on_opening };
        shared.gate.set_schema(if follows {
            page_sink::require_pages(&connection)?;
            page_sink::difference(&connection, &tables)?
        } else {
            schema::apply(&connection, &tables, Extent::Whole, clock.now(), &way)?
        });
        let greatest_id = schema::greatest_id(&connection)?;
        let connection = Rc::into_inner(connection)
            .ok_or_else(|| OpenError::Engine("the schema is still being applied".to_owned()))?;
        let readers = Arc::new(Readers::open(&common, limits, read::run)?);
        let bounds =
            Bounds { checkpoint_bytes: settings.checkpoint_bytes, interrupt_bytes: limits.wal_bytes_interrupt };
        let writer = start_writer(shared.clone(), common.clone(), bounds, readers.clone(), (connection, greatest_id))?;
        let watches = Switch::default();
        let no_thread = |error: io::Error| OpenError::Engine(format!("no thread for a watch: {error}"));
        let watchdog = watchdog::start(shared.clone(), clock.clone(), limits.mutation_timeout, stuck, watches.clone());
        let watchdog = watchdog.map_err(no_thread)?;
        let probed = common.clone();
        let disk = Watched {
            folder: folder.path().to_owned(),
            disk,
            floor: Floor::of(limits),
            gate: shared.gate.clone(),
            reads: shared.reads.clone(),
            probe: move || Connection::probe(&probed),
            clock: clock.clone(),
        };
        let disk = disk.watch(watches.clone()).map_err(no_thread)?;
        Ok(Self {
            shared,
            readers,
            common,
            tables,
            way,
            clock,
            wal_bytes_max: limits.wal_bytes_max,
            greatest_id,
            follows,
            threads: Mutex::new(vec![writer, watchdog, disk]),
            watches,
            snapshots: AtomicU64::new(0),
            folder,
        })
    }

    /// Counts a rejection because of the share of its flow.
    fn rejected(&self, error: StoreError) -> StoreError {
        let counters = &self.shared.counters;
        match error {
            StoreError::ShareFull("writer") => counters.writer_share_rejections.fetch_add(1, Relaxed),
            StoreError::ShareFull(_) => counters.reader_share_rejections.fetch_add(1, Relaxed),
            _ => 0,
        };
        error
    }

    fn wal_bytes(&self) -> u64 {
        self.shared.counters.wal_bytes.load(Relaxed)
    }

    fn running(&self) -> Option<(String, Duration)> {
        self.shared.current.running(self.clock.monotonic())
    }

    /// Copies the pages on the writer's thread.
    fn copy_to(&self, to: &Path, progress: OnProgress) -> Result<rusqlite::Connection, StoreError> {
        copy_to(&self.shared, to, progress, false).map(|(copy, _)| copy)
    }

    fn scratch(&self, name: &str) -> Result<PathBuf, StoreError> {
        let name = format!("{name}-{}", self.snapshots.fetch_add(1, Relaxed));
        self.folder.scratch(&name).map_err(|error| StoreError::Engine(format!("no place for a copy: {error}")))
    }
}

/// Copies the pages on the writer's thread.
fn copy_to(
    shared: &Shared,
    to: &Path,
    progress: OnProgress,
    is_of_feed: bool,
) -> Result<(rusqlite::Connection, Option<FeedSnapshot>), StoreError> {
    let (done, copied) = mpsc::channel();
    let job = BackupJob { to: backup::destination(to)?, progress, done, is_of_feed };
    let closed = || StoreError::Closed("it is shutting down".to_owned());
    if !shared.queue.push_whole(Whole::Backup(Box::new(job))) {
        return Err(closed());
    }
    copied.recv().map_err(|_| closed())?
}

/// The feed of an engine, which takes its snapshots on the writer's thread.
struct EngineFeed {
    feed: Arc<PageFeed>,
    shared: Arc<Shared>,
    snapshot: PathBuf,
}

impl convoke_store::PageFeed for EngineFeed {
    fn resumed(&self) -> Option<Resumed> {
        self.feed.resumed()
    }

    fn take(&self, gaps: u64) -> Taken {
        self.feed.take(gaps)
    }

    fn confirm(&self, point: &FeedPoint, note: &str) -> io::Result<()> {
        self.feed.confirm(point, note)
    }

    fn commits(&self) -> u64 {
        self.feed.commits()
    }

    fn wait(&self, longest: Duration) -> bool {
        self.feed.wait(longest)
    }

    fn give_up(&self, after: Duration, reason: &str) {
        self.feed.give_up(after, reason);
    }

    fn snapshot(&self, receive: &mut Receive<'_>) -> Result<FeedSnapshot, StoreError> {
        let partial = backup::partial(&self.snapshot);
        let made = copy_to(&self.shared, &self.snapshot, Box::new(|_| {}), true).and_then(|(copy, snapshot)| {
            let snapshot = snapshot.ok_or_else(|| StoreError::Engine("the database has no page feed".to_owned()))?;
            backup::settle(copy)?;
            receive(&partial, &snapshot).map_err(|error| StoreError::Engine(error.to_string()))?;
            Ok(snapshot)
        });
        // `receive` has read it.
        let _ = std::fs::remove_file(partial);
        made
    }
}

impl Engine for SqliteEngine {
    fn read_at_once(&self, flow: Flow, read: &mut Read<'_>) -> Result<Option<Ran>, StoreError> {
        Ok(self.readers.lease_at_once(flow)?.map(|lease| read::run(lease, read)))
    }

    fn read_blocking(&self, flow: Flow, read: &mut Read<'_>) -> Result<Ran, StoreError> {
        Ok(read::run(self.readers.lease_blocking(flow)?, read))
    }

    fn read_in_turn(&self, flow: Flow, job: Box<dyn ReadJob>) -> Result<(), StoreError> {
        let pushed_out = self.readers.read(flow, job).map_err(|error| self.rejected(error))?;
        if let Some(other) = pushed_out {
            other.refuse(self.rejected(StoreError::ShareFull("reader")));
        }
        Ok(())
    }

    fn write(&self, job: Box<dyn WriteJob>) -> Result<(), (Box<dyn WriteJob>, StoreError)> {
        if self.wal_bytes() > self.wal_bytes_max {
            return Err((job, StoreError::QueueFull("writer")));
        }
        match self.shared.queue.push(job) {
            Ok(None) => Ok(()),
            Ok(Some(other)) => {
                answer(other, Err(self.rejected(refused(NotQueued::Share))));
                Ok(())
            }
            Err((job, refusal)) => Err((job, self.rejected(refused(refusal)))),
        }
    }

    fn room_to_read(&self, flow: Flow) -> Result<(), StoreError> {
        self.readers.room(flow).map_err(|error| self.rejected(error))
    }

    fn room_to_write(&self, flow: Flow) -> Result<(), StoreError> {
        if self.wal_bytes() > self.wal_bytes_max {
            return Err(StoreError::QueueFull("writer"));
        }
        self.shared.queue.admits(flow).map_err(|refusal| self.rejected(refused(refusal)))
    }

    fn follow_schema(&self, extent: Extent) -> Result<(), OpenError> {
        let (shared, newest, commits) = (self.shared.clone(), self.common.newest.clone(), self.common.commits.clone());
        let (tables, clock, way) = (self.tables.clone(), self.clock.clone(), self.way.clone());
        let (done, applied) = mpsc::channel();
        // On the writer's connection: a second writing connection would make mutations fail.
        let work = Box::new(move |connection: &Rc<Connection>| {
            let apply = || schema::apply(connection, &tables, extent, clock.now(), &way);
            let apply = || newest.change(Changed::Anything, apply);
            let difference = commits.change_everything(apply);
            // The caller may be gone; the gate's state is for all callers.
            let _ = done.send(difference.map(|difference| shared.gate.set_schema(difference)));
        });
        let closed = || OpenError::Engine("it is shutting down".to_owned());
        if !self.shared.queue.push_whole(Whole::Upkeep(work)) {
            return Err(closed());
        }
        applied.recv().map_err(|_| closed())?
    }

    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn greatest_id(&self) -> u128 {
        self.greatest_id
    }

    fn health(&self) -> Result<(), String> {
        if let Some(reason) = self.shared.reads.why() {
            return Err(reason);
        }
        let wal_bytes = self.wal_bytes();
        if wal_bytes > self.wal_bytes_max {
            return Err(format!("writes wait until the log can be copied back: it has {wal_bytes} bytes"));
        }
        Ok(())
    }

    fn stuck(&self) -> Option<(String, Duration)> {
        self.running().filter(|(_, since)| *since > watchdog::PATIENCE * self.shared.mutation_timeout)
    }

    fn stats(&self) -> Stats {
        let (readers_busy, reader_queue) = self.readers.busy();
        Stats {
            writer_queue: self.shared.queue.len(),
            reader_queue,
            readers_busy,
            readers: self.readers.count(),
            mutation_running: self.running().map_or(Duration::ZERO, |(_, since)| since),
            ..self.shared.counters.stats()
        }
    }

    fn own_stats(&self) -> Vec<NamedStat> {
        let counters = &self.shared.counters;
        let mut stats = vec![
            NamedStat::gauge("wal_bytes", "Bytes of the write-ahead log in use.", self.wal_bytes()),
            NamedStat::counter(
                "checkpoints_total",
                "Times the write-ahead log was copied back, wholly or in part.",
                counters.checkpoints.load(Relaxed),
            ),
            NamedStat::counter(
                "readers_stopped_total",
                "Queries that were stopped because their snapshot kept the write-ahead log from shrinking.",
                counters.readers_stopped.load(Relaxed),
            ),
        ];
        if let Ok(metadata) = std::fs::metadata(&self.common.path) {
            stats.push(NamedStat::gauge(
                "database_bytes",
                "Size of the database file, without the write-ahead log.",
                metadata.len(),
            ));
        }
        stats
    }

    fn page_feed(&self) -> Option<Arc<dyn convoke_store::PageFeed>> {
        let feed = self.common.page_feed.clone()?;
        let snapshot = self.scratch("copied").ok()?;
        Some(Arc::new(EngineFeed { feed, shared: self.shared.clone(), snapshot }))
    }

    fn page_sink(&self) -> Option<Arc<dyn convoke_store::PageSink>> {
        let sink = || PageSink::new(self.shared.clone(), self.common.clone(), self.tables.clone());
        self.follows.then(|| Arc::new(sink()) as Arc<dyn convoke_store::PageSink>)
    }

    fn backup(&self, to: &Path, progress: OnProgress, seal: &mut Seal<'_>) -> Result<(), StoreError> {
        let made = self.copy_to(to, progress).and_then(|copy| backup::complete(copy, to, seal));
        if made.is_err() {
            // The first error is reported.
            let _ = std::fs::remove_file(backup::partial(to));
        }
        made
    }

    fn snapshot(&self, progress: OnProgress) -> Result<Box<dyn OfflineDatabase>, StoreError> {
        let path = self.scratch("snapshot")?;
        let partial = backup::partial(&path);
        let opened = self
            .copy_to(&path, progress)
            .and_then(backup::settle)
            .and_then(|()| DatabaseFile::open(&partial, self.clock.clone()).map_err(StoreError::from));
        // The open file remains without a name until its last user closes it.
        let _ = std::fs::remove_file(partial);
        opened.map(|copy| Box::new(copy) as Box<dyn OfflineDatabase>)
    }

    fn close(&self) {
        self.shared.queue.close();
        self.watches.off();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // The last handle may fall in an answer, that is on the writer's own thread: it ends right after.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
        self.shared.gate.shut();
        self.readers.close();
    }
}

fn refused(refusal: NotQueued) -> StoreError {
    match refusal {
        NotQueued::Full => StoreError::QueueFull("writer"),
        NotQueued::Share => StoreError::ShareFull("writer"),
        NotQueued::Closed => StoreError::Closed("it is shutting down".to_owned()),
    }
}

fn shared(limits: &Limits, gate: Arc<Gate>) -> Shared {
    Shared {
        gate,
        queue: Queue::new(limits.writer_queue_max),
        current: Current::default(),
        counters: Arc::new(Counters::default()),
        reads: Arc::default(),
        batch_max: limits.batch_max.max(1),
        batch_age_max: limits.batch_age_max,
        mutation_timeout: limits.mutation_timeout,
    }
}

/// Starts the writer's thread and waits until it has taken over the connection.
fn start_writer(
    shared: Arc<Shared>,
    common: Common,
    bounds: Bounds,
    readers: Arc<Readers>,
    (connection, greatest_id): (Connection, u128),
) -> Result<JoinHandle<()>, OpenError> {
    let (started, has_started) = mpsc::channel();
    let thread = thread::Builder::new()
        .name("convoke-writer".to_owned())
        .spawn(move || match Writer::new(shared, common, bounds, readers, connection, greatest_id) {
            Ok(writer) => {
                let _ = started.send(Ok(()));
                writer.run();
            }
            Err(error) => {
                let _ = started.send(Err(error));
            }
        })
        .map_err(|error| OpenError::Engine(format!("no thread for the writer: {error}")))?;
    has_started.recv().map_err(|error| OpenError::Engine(error.to_string()))??;
    Ok(thread)
}
