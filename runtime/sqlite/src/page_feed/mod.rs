//! The changed pages of the database, read from its log.
//!
//! Two threads read the log: the consumer of the feed, up to the newest commit that is on disk; and the writer thread,
//! up to the end, before each checkpoint. SQLite writes over the log only after a complete checkpoint. So each frame
//! is read before it is overwritten, and the consumer may be as slow as it likes.

mod log;
mod state;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing::{error, warn};

use crate::answer::answer;
use convoke_core::clock::Clock;
use convoke_store::page_feed::{CopyAcknowledgement, FeedPoint, FeedSnapshot, PageChanges, Resumed, Taken};
use convoke_store::{StoreError, WriteJob};
use log::{Log, Position};
use state::{FileMark, State};

/// File with the state between two processes.
const STATE: &str = "copy.json";
/// Sets the note of a database that no process has opened, without a position in its log.
pub(crate) fn set_note(database: &Path, note: &str) -> io::Result<()> {
    let state = State { note: note.to_owned(), log: Position::default(), closed: None };
    state.write(&database.with_file_name(STATE))
}

/// Most bytes of pages that wait for the consumer. Above it, a snapshot is cheaper.
const PENDING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The feed of a database.
pub(crate) struct PageFeed {
    database: PathBuf,
    log: PathBuf,
    state: PathBuf,
    clock: Arc<dyn Clock>,
    resumed: Option<Resumed>,
    acknowledgement: CopyAcknowledgement,
    reading: Mutex<Reading>,
    committed: Mutex<Committed>,
    waiting: Mutex<Waiting>,
    has_waiting: Condvar,
}

/// The part of the log that was read.
struct Reading {
    position: Position,
    /// Number of commits read.
    commits: u64,
    pending: BTreeMap<u32, Box<[u8]>>,
    pending_bytes: usize,
    database_pages: u32,
    page_bytes: u32,
    /// Number of times that changes were missed or pages dropped.
    gaps: u64,
    /// True from a gap until a snapshot: pages are not collected.
    has_gap: bool,
}

/// The newest commit on disk, published by the writer thread.
struct Committed {
    salts: [u32; 2],
    frames: u64,
    commits: u64,
    /// True if the log may have started again since the salts were read.
    may_have_restarted: bool,
}

/// Mutations that wait for their copy, in the order of their commits.
#[derive(Default)]
struct Waiting {
    jobs: VecDeque<WaitingJob>,
    confirmed: u64,
}

struct WaitingJob {
    commit: u64,
    since: Duration,
    job: Box<dyn WriteJob>,
    outcome: Result<(), StoreError>,
}

/// The part of the log to read.
enum Until {
    /// The newest commit on disk.
    Committed,
    /// The end. The caller is the thread that writes the log.
    End,
}

impl PageFeed {
    /// Opens the feed of a database that no connection has opened yet.
    pub(crate) fn open(
        database: &Path,
        log: PathBuf,
        acknowledgement: CopyAcknowledgement,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let state = database.with_file_name(STATE);
        let saved = State::read(&state);
        let position = match &saved {
            None => None,
            // Since the mark was made, no checkpoint has written to the file, so the log has everything.
            Some(saved) if saved.closed.is_some() && saved.closed == FileMark::of(database) => {
                Some(Position::default())
            }
            Some(saved) => match Log::open(&log)? {
                Some(mut log) => log.has(saved.log)?.then_some(saved.log),
                None => None,
            },
        };
        let reading = Reading {
            position: position.unwrap_or_default(),
            commits: 0,
            pending: BTreeMap::new(),
            pending_bytes: 0,
            database_pages: 0,
            page_bytes: 0,
            gaps: u64::from(position.is_none()),
            has_gap: position.is_none(),
        };
        let resumed = saved.map(|saved| Resumed { note: saved.note, is_complete: position.is_some() });
        Ok(Self {
            database: database.to_owned(),
            log,
            state,
            clock,
            resumed,
            acknowledgement,
            reading: Mutex::new(reading),
            committed: Mutex::new(Committed { salts: [0; 2], frames: 0, commits: 0, may_have_restarted: true }),
            waiting: Mutex::default(),
            has_waiting: Condvar::new(),
        })
    }

    /// Reads the rest of the log before a checkpoint. The caller is the thread that writes the log, and is not in a
    /// transaction.
    pub(crate) fn before_checkpoint(&self) {
        self.read(&mut self.reading.lock(), &Until::End);
        self.committed.lock().may_have_restarted = true;
    }

    /// Publishes that the log has `frames` frames after some more commits, all on disk. Called by the thread that
    /// writes the log.
    pub(crate) fn committed(&self, frames: u64, commits: u64) {
        let mut committed = self.committed.lock();
        if committed.may_have_restarted || frames <= committed.frames {
            let Ok(Some(log)) = Log::open(&self.log).inspect_err(|error| warn!("the log cannot be read: {error}"))
            else {
                // The next commit or checkpoint tries again.
                committed.may_have_restarted = true;
                committed.commits += commits;
                return;
            };
            (committed.salts, committed.may_have_restarted) = (log.start().salts, false);
        }
        committed.frames = frames;
        committed.commits += commits;
    }

    /// Publishes the commits of the time before the writer's hook. Called by the thread that writes the log.
    pub(crate) fn begin(&self) {
        let mut reading = self.reading.lock();
        self.read(&mut reading, &Until::End);
        let mut committed = self.committed.lock();
        (committed.salts, committed.frames) = (reading.position.salts, reading.position.frames);
        (committed.commits, committed.may_have_restarted) = (reading.commits, true);
    }

    /// Reports that the outcome of a commit is unknown, so that a snapshot is needed.
    pub(crate) fn lose(&self) {
        self.reading.lock().drop_pages();
    }

    /// Completes a mutation: now, or when the copy has the newest commit.
    pub(crate) fn answer(&self, job: Box<dyn WriteJob>, outcome: Result<(), StoreError>) {
        if self.acknowledgement == CopyAcknowledgement::Local {
            return answer(job, outcome);
        }
        let commit = self.committed.lock().commits;
        let mut waiting = self.waiting.lock();
        if waiting.confirmed >= commit {
            drop(waiting);
            return answer(job, outcome);
        }
        waiting.jobs.push_back(WaitingJob { commit, since: self.clock.monotonic(), job, outcome });
        self.has_waiting.notify_one();
    }

    /// See [`convoke_store::PageFeed::resumed`].
    pub(crate) fn resumed(&self) -> Option<Resumed> {
        self.resumed.clone()
    }

    /// See [`convoke_store::PageFeed::take`].
    pub(crate) fn take(&self, gaps: u64) -> Taken {
        let mut reading = self.reading.lock();
        self.read(&mut reading, &Until::Committed);
        if reading.has_gap || reading.gaps != gaps {
            return Taken::Gap;
        }
        if reading.pending.is_empty() {
            return Taken::Nothing(reading.point());
        }
        reading.pending_bytes = 0;
        Taken::Changes(PageChanges {
            pages: std::mem::take(&mut reading.pending),
            database_pages: reading.database_pages,
            page_bytes: reading.page_bytes,
            point: reading.point(),
        })
    }

    /// See [`convoke_store::PageFeed::confirm`].
    pub(crate) fn confirm(&self, point: &FeedPoint, note: &str) -> io::Result<()> {
        let mut copied = Vec::new();
        {
            let mut waiting = self.waiting.lock();
            waiting.confirmed = waiting.confirmed.max(point.commits);
            let count = waiting.jobs.iter().take_while(|one| one.commit <= point.commits).count();
            copied.extend(waiting.jobs.drain(..count));
        }
        for WaitingJob { job, outcome, .. } in copied {
            answer(job, outcome);
        }
        let log: Position = serde_json::from_str(&point.log)?;
        // The mark comes first: if the log is empty afterwards, no commit has changed the file since.
        let mark = FileMark::of(&self.database);
        let is_newest = self.reading.lock().position == log;
        let is_empty = std::fs::metadata(&self.log).map_or(true, |log| log.len() == 0);
        let closed = mark.filter(|_| is_newest && is_empty);
        State { note: note.to_owned(), log, closed }.write(&self.state)
    }

    /// See [`convoke_store::PageFeed::commits`].
    pub(crate) fn commits(&self) -> u64 {
        self.committed.lock().commits
    }

    /// See [`convoke_store::PageFeed::wait`].
    pub(crate) fn wait(&self, longest: Duration) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.jobs.is_empty() {
            self.has_waiting.wait_for(&mut waiting, longest);
        }
        !waiting.jobs.is_empty()
    }

    /// See [`convoke_store::PageFeed::give_up`].
    pub(crate) fn give_up(&self, after: Duration, reason: &str) {
        let now = self.clock.monotonic();
        let late: Vec<_> = {
            let mut waiting = self.waiting.lock();
            let count = waiting.jobs.iter().take_while(|one| now.saturating_sub(one.since) >= after).count();
            waiting.jobs.drain(..count).collect()
        };
        for WaitingJob { job, outcome, .. } in late {
            answer(job, outcome.and_then(|()| Err(StoreError::CommitUnknown(reason.to_owned()))));
        }
    }

    /// Returns the point of a snapshot that the writer thread has just completed. Pages are collected from there.
    pub(crate) fn at_snapshot(&self) -> FeedSnapshot {
        let mut reading = self.reading.lock();
        self.read(&mut reading, &Until::End);
        reading.has_gap = false;
        FeedSnapshot { point: reading.point(), gaps: reading.gaps }
    }

    fn read(&self, reading: &mut Reading, until: &Until) {
        if let Err(error) = self.try_read(reading, until) {
            error!("changes could not be read from the log, so the copy needs a new snapshot: {error}");
            reading.drop_pages();
        }
    }

    fn try_read(&self, reading: &mut Reading, until: &Until) -> io::Result<()> {
        let Some(mut log) = Log::open(&self.log)? else { return Ok(()) };
        let frames = match until {
            Until::End => u64::MAX,
            Until::Committed => {
                let committed = self.committed.lock();
                if committed.salts == log.start().salts { committed.frames } else { 0 }
            }
        };
        if frames == 0 {
            return Ok(());
        }
        if log.start().salts != reading.position.salts {
            // The log has started again. All of its former frames were read before the checkpoint.
            reading.position = log.start();
        }
        reading.page_bytes = log.page_bytes();
        let mut position = reading.position;
        log.seek(position)?;
        let mut commit = BTreeMap::new();
        while position.frames < frames
            && let Some(frame) = log.next(position)?
        {
            position = frame.after;
            if !reading.has_gap {
                commit.insert(frame.page, frame.content);
                if reading.pending_bytes + commit.len() * reading.page_bytes as usize > PENDING_BYTES_MAX {
                    warn!("the copy is too far behind and needs a new snapshot");
                    reading.drop_pages();
                    commit.clear();
                }
            }
            if frame.database_pages != 0 {
                reading.keep(std::mem::take(&mut commit));
                reading.database_pages = frame.database_pages;
                reading.commits += 1;
                reading.position = position;
            }
        }
        if matches!(until, Until::Committed) && reading.position.frames < frames {
            return Err(io::Error::other("a commit is missing in the log"));
        }
        Ok(())
    }
}

impl Reading {
    fn keep(&mut self, commit: BTreeMap<u32, Box<[u8]>>) {
        for (page, content) in commit {
            let bytes = content.len();
            if self.pending.insert(page, content).is_none() {
                self.pending_bytes += bytes;
            }
        }
    }

    fn drop_pages(&mut self) {
        self.gaps += u64::from(!self.has_gap);
        self.pending.clear();
        (self.pending_bytes, self.has_gap) = (0, true);
    }

    fn point(&self) -> FeedPoint {
        FeedPoint { commits: self.commits, log: serde_json::to_string(&self.position).unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_core::clock::SystemClock;

    fn changes(taken: Taken) -> PageChanges {
        match taken {
            Taken::Changes(changes) => changes,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn changes_after_a_snapshot_are_taken_only_with_its_number_of_gaps() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("convoke.db");
        let sqlite = rusqlite::Connection::open(&database).unwrap();
        sqlite.execute_batch("PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a)").unwrap();
        let (log, clock) = (folder.path().join("convoke.db-wal"), Arc::new(SystemClock::new()));
        let feed = PageFeed::open(&database, log, CopyAcknowledgement::Local, clock).unwrap();
        let insert = || {
            sqlite.execute("INSERT INTO t VALUES (1)", []).unwrap();
            feed.begin();
        };
        insert();
        assert!(matches!(feed.take(0), Taken::Gap), "the feed does not know what was there before");
        let first = feed.at_snapshot();
        insert();
        assert!(matches!(feed.take(0), Taken::Gap), "the consumer does not know the snapshot yet");
        let after = changes(feed.take(first.gaps));
        assert_eq!((after.point.commits, after.pages.len()), (first.point.commits + 1, 1));
        assert!(matches!(feed.take(first.gaps), Taken::Nothing(_)));

        // Pages that are lost between two calls are never missing silently, also if a snapshot closes the gap.
        insert();
        feed.lose();
        let second = feed.at_snapshot();
        insert();
        assert!(matches!(feed.take(first.gaps), Taken::Gap));
        assert_eq!(changes(feed.take(second.gaps)).point.commits, second.point.commits + 1);
    }
}
