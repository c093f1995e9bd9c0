//! Completed calls, for `convoke logs` and the console: recorded on disk, and sent to followers as they end.
//!
//! Each call adds one record to a queue of its thread's shard, and a background task writes the queues to disk
//! (`files.rs`). No call waits: a full queue drops records and counts them. A follower has a bounded queue too. A slow
//! follower loses records and receives their number. If calls are not recorded, the latest ones stay in memory.

mod arguments;
mod files;
mod filter;
mod record;
mod settings;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use crate::observe::{CallObserver, Called, CompletedCall, Stage};
use crate::shards::Shards;
use convoke_core::clock::{Clock, Millis};
use convoke_core::error::{Error, Result};
use convoke_store::{Disk, Floor};

pub use arguments::Arguments;
use files::{Bounds, Files};
pub use filter::{Filter, Wanted};
pub use record::CallRecord;
pub use settings::RecordedCalls;

/// Default number of calls that are shown, and number of calls in memory if they are not on disk.
pub const RECENT_MAX: usize = 256;
/// Maximum calls of one response.
pub const SHOWN_MAX: usize = 10_000;
/// Approximate maximum bytes of logs, arguments and errors in one response.
const SHOWN_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Interval between two writes of completed calls to disk.
pub const WRITE: Duration = Duration::from_millis(250);
/// Maximum records of one shard that wait to be written.
const PENDING_MAX: usize = 512;
/// Maximum records among them of requests without a function, so that a flood of such requests leaves room for calls.
const PENDING_REJECTED_MAX: usize = 64;
/// Maximum bytes of log lines, arguments and errors of one shard. Older calls are dropped first.
const SHARD_BYTES_MAX: usize = 1024 * 1024;
/// Maximum records that wait for one follower.
const WAITING_MAX: usize = 512;
/// Maximum number of concurrent followers.
const FOLLOWERS_MAX: usize = 16;
/// Folder in the data folder.
const FOLDER: &str = "calls";

/// The completed calls of a runtime.
pub struct RecentCalls {
    pending: Shards<Queue>,
    with_arguments: bool,
    /// None if calls are not recorded.
    recorder: Option<Recorder>,
    unrecorded: Unrecorded,
    followers: Arc<Semaphore>,
    sender: broadcast::Sender<Arc<CallRecord>>,
}

/// Counters of calls that were not recorded, by reason. They only increase.
#[derive(Debug, Default)]
pub struct Unrecorded {
    /// The queue was full.
    pub queue: AtomicU64,
    /// The disk was full or failed.
    pub disk: AtomicU64,
}

/// Arguments of [`RecentCalls::new`].
pub(crate) struct RecordOptions {
    pub settings: Arc<RecordedCalls>,
    pub data: PathBuf,
    pub clock: Arc<dyn Clock>,
    pub disk: Arc<dyn Disk>,
    pub floor: Floor,
}

/// Writes calls to disk.
struct Recorder {
    options: RecordOptions,
    state: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    /// None until the first write or read.
    files: Option<Files>,
    /// The latest calls that could not be written.
    unwritten: VecDeque<CallRecord>,
    /// True if the last write failed. Only the first failure is logged.
    is_failing: bool,
}

#[derive(Default)]
struct Queue {
    records: VecDeque<CallRecord>,
    bytes: usize,
    rejected: usize,
}

impl CallObserver for RecentCalls {
    fn completed(&self, call: &CompletedCall<'_>) -> Option<BoxFuture<'static, ()>> {
        let record = || CallRecord::of(call, self.with_arguments);
        match call.called {
            Called::Rejected(rejection) if rejection.stage == Stage::Listener => self.mention(record),
            Called::Rejected(_) => self.enter(Rank::Rejected, record),
            Called::Function(_) => match call.outcome() {
                Some(code) if code.is_failure() => self.enter(Rank::Failed, record),
                Some(_) | None => self.enter(Rank::Usual, record),
            },
        }
        None
    }
}

/// The treatment of a record by a full queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    /// It is dropped.
    Usual,
    /// It is dropped. It is also dropped if there are too many records of its kind.
    Rejected,
    /// It replaces the oldest record.
    Failed,
}

impl RecentCalls {
    pub(crate) fn new(options: RecordOptions) -> Self {
        let (with_arguments, is_enabled) = (options.settings.arguments, options.settings.enabled);
        Self {
            pending: Shards::default(),
            with_arguments,
            recorder: is_enabled.then(|| Recorder { options, state: Mutex::default() }),
            unrecorded: Unrecorded::default(),
            followers: Arc::new(Semaphore::new(FOLLOWERS_MAX)),
            sender: broadcast::Sender::new(WAITING_MAX),
        }
    }

    /// Adds a call that ended.
    fn enter(&self, rank: Rank, record: impl FnOnce() -> CallRecord) {
        if self.is_followed() {
            let record = self.show(record());
            self.queue(rank, || record);
        } else {
            self.queue(rank, record);
        }
    }

    fn queue(&self, rank: Rank, record: impl FnOnce() -> CallRecord) {
        let mut queue = self.pending.mine();
        let dropped = match self.recorder {
            None => {
                queue.push(record(), RECENT_MAX);
                return;
            }
            Some(_) => queue.take(rank, record),
        };
        drop(queue);
        if dropped > 0 {
            self.unrecorded.queue.fetch_add(dropped, Relaxed);
        }
    }

    /// Sends a request that never reached a function to followers. It replaces no recorded call, because a flood of
    /// such requests would leave nothing else.
    fn mention(&self, record: impl FnOnce() -> CallRecord) {
        if self.is_followed() {
            self.show(record());
        }
    }

    fn is_followed(&self) -> bool {
        self.followers.available_permits() < FOLLOWERS_MAX
    }

    fn show(&self, record: CallRecord) -> CallRecord {
        // Fails if the last follower has just disconnected.
        let _ = self.sender.send(Arc::new(record.clone()));
        record
    }

    /// Returns the counters of calls that were not recorded.
    pub fn unrecorded(&self) -> &Unrecorded {
        &self.unrecorded
    }

    /// Returns the calls and bytes on disk.
    pub fn recorded(&self) -> (u64, u64) {
        let state = self.recorder.as_ref().map(|recorder| recorder.state.lock());
        state.and_then(|state| state.files.as_ref().map(Files::size)).unwrap_or_default()
    }

    /// Returns true if calls wait to be written, or calls on disk are old enough to be removed.
    pub fn is_due(&self) -> bool {
        let Some(recorder) = &self.recorder else { return false };
        if self.pending.each().any(|queue| !queue.records.is_empty()) {
            return true;
        }
        let Some(state) = recorder.state.try_lock() else { return false };
        let end = recorder.options.clock.now() - recorder.options.settings.life();
        !state.unwritten.is_empty() || state.files.as_ref().is_some_and(|files| files.has_ended_before(end))
    }

    /// Writes the waiting calls to disk, and removes old ones. Blocks on the disk.
    pub fn write(&self) {
        let Some(recorder) = &self.recorder else { return };
        let mut state = recorder.state.lock();
        let mut records = Vec::new();
        for mut queue in self.pending.each() {
            // Calls of this shard wait only for this swap.
            let room = VecDeque::with_capacity(queue.records.len());
            let Queue { records: taken, .. } =
                std::mem::replace(&mut *queue, Queue { records: room, ..Queue::default() });
            drop(queue);
            records.extend(taken);
        }
        records.sort_by_key(|record| record.time);
        let lost = recorder.write(&mut state, records);
        self.unrecorded.disk.fetch_add(lost, Relaxed);
    }

    /// Returns the latest calls that match a filter, at most `count` and [`SHOWN_MAX`], oldest first. Blocks on the
    /// disk.
    pub fn recent(&self, filter: &Filter, count: usize) -> Vec<CallRecord> {
        let mut found = Search { filter, count: count.min(SHOWN_MAX), records: Vec::new(), bytes: 0 };
        self.write();
        if let Some(recorder) = &self.recorder {
            let state = recorder.state.lock();
            let snapshot = state.files.as_ref().map(Files::snapshot);
            let unwritten = state.unwritten.clone();
            drop(state);
            let is_over = unwritten.into_iter().rev().any(|record| found.take(record).is_break());
            if let Some(snapshot) = snapshot.filter(|_| !is_over) {
                let life = recorder.options.clock.now() - recorder.options.settings.life();
                let since = filter.since.map_or(life, |since| since.max(life));
                snapshot.newest_first(since, |record| found.take(record));
            }
        } else {
            let mut records: Vec<CallRecord> = Vec::new();
            for queue in self.pending.each() {
                records.extend(queue.records.iter().cloned());
            }
            records.sort_by_key(|record| record.time);
            records.into_iter().rev().take(RECENT_MAX).any(|record| found.take(record).is_break());
        }
        found.records.reverse();
        found.records
    }

    /// Follows calls that end from now on.
    ///
    /// # Errors
    /// `OVERLOADED` if the maximum number of followers is reached.
    pub fn follow(&self, filter: Filter) -> Result<Follower> {
        let permit =
            self.followers.clone().try_acquire_owned().map_err(|_| {
                Error::overloaded("Too many clients follow the calls; try again when one has disconnected")
            })?;
        Ok(Follower { receiver: self.sender.subscribe(), filter, _permit: permit })
    }
}

/// The result of a search, newest first.
struct Search<'a> {
    filter: &'a Filter,
    count: usize,
    records: Vec<CallRecord>,
    bytes: usize,
}

impl Search<'_> {
    fn take(&mut self, record: CallRecord) -> ControlFlow<()> {
        if self.records.len() >= self.count || self.bytes >= SHOWN_BYTES_MAX {
            return ControlFlow::Break(());
        }
        if self.filter.admits(&record) {
            self.bytes += record.bytes();
            self.records.push(record);
        }
        ControlFlow::Continue(())
    }
}

impl Recorder {
    /// Appends records; returns the number of lost ones.
    fn write(&self, state: &mut Written, records: Vec<CallRecord>) -> u64 {
        let now = self.options.clock.now();
        let written = self.append(state, &records, now);
        match written {
            Ok(()) => {
                if state.is_failing {
                    tracing::info!(target: "convoke::background", "completed calls are recorded again");
                }
                state.is_failing = false;
                0
            }
            Err(error) => {
                if !state.is_failing {
                    tracing::warn!(target: "convoke::background", "completed calls are not recorded: {error}");
                }
                state.is_failing = true;
                state.unwritten.extend(records);
                let surplus = state.unwritten.len().saturating_sub(RECENT_MAX);
                state.unwritten.drain(..surplus);
                surplus as u64
            }
        }
    }

    fn append(&self, state: &mut Written, records: &[CallRecord], now: Millis) -> std::io::Result<()> {
        let Written { files, unwritten, .. } = state;
        let folder = self.options.data.join(FOLDER);
        let files = match files {
            Some(files) => files,
            None if records.is_empty() && !folder.exists() => return Ok(()),
            none => none.insert(Files::open(folder, self.bounds())?),
        };
        let all = || unwritten.iter().chain(records);
        if let (Some(first), Some(last)) = (all().next(), all().last()) {
            self.require_room()?;
            let mut lines = Vec::with_capacity(256 * (unwritten.len() + records.len()));
            for record in all() {
                serde_json::to_writer(&mut lines, record)?;
                lines.push(b'\n');
            }
            let calls = all().count() as u64;
            files.append(&lines, calls, (first.time, last.time))?;
            unwritten.clear();
        }
        files.prune(now)
    }

    /// Checks the free space: the last space on a full disk is reserved for the database.
    fn require_room(&self) -> std::io::Result<()> {
        let room = self.options.disk.room(&self.options.data);
        match room.is_ok_and(|room| !self.options.floor.is_kept(room, true)) {
            true => Err(std::io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }

    fn bounds(&self) -> Bounds {
        let RecordedCalls { calls_max, bytes_max, .. } = *self.options.settings;
        Bounds { calls_max, bytes_max, life: self.options.settings.life() }
    }
}

impl Queue {
    /// Adds a record if there is room for it; returns the number of dropped records.
    fn take(&mut self, rank: Rank, record: impl FnOnce() -> CallRecord) -> u64 {
        let is_full = self.records.len() >= PENDING_MAX || self.bytes > SHARD_BYTES_MAX;
        match rank {
            Rank::Usual | Rank::Rejected if is_full => return 1,
            Rank::Rejected if self.rejected >= PENDING_REJECTED_MAX => return 1,
            Rank::Rejected => self.rejected += 1,
            Rank::Usual | Rank::Failed => {}
        }
        self.push(record(), PENDING_MAX)
    }

    /// Adds a record, and removes the oldest ones beyond the limits; returns their number.
    fn push(&mut self, record: CallRecord, count_max: usize) -> u64 {
        self.bytes += record.bytes();
        let mut removed = 0;
        while self.records.len() >= count_max || (self.bytes > SHARD_BYTES_MAX && !self.records.is_empty()) {
            let oldest = self.records.pop_front();
            self.bytes -= oldest.map_or(0, |record| record.bytes());
            removed += 1;
        }
        self.records.push_back(record);
        removed
    }
}

/// A follower of calls. Dropping it frees its place.
pub struct Follower {
    receiver: broadcast::Receiver<Arc<CallRecord>>,
    filter: Filter,
    _permit: OwnedSemaphorePermit,
}

/// An item that a follower receives.
#[derive(Clone, Debug)]
pub enum Followed {
    /// A call ended.
    Ended(Arc<CallRecord>),
    /// Number of records that were lost because they came faster than they were taken.
    Lost(u64),
}

impl Follower {
    /// Returns the next call that matches the filter; `None` when the runtime has ended.
    pub async fn next(&mut self) -> Option<Followed> {
        loop {
            match self.receiver.recv().await {
                Ok(record) if self.filter.admits(&record) => return Some(Followed::Ended(record)),
                Ok(_) => {}
                Err(broadcast::error::RecvError::Lagged(lost)) => return Some(Followed::Lost(lost)),
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use convoke_core::clock::SystemClock;
    use convoke_core::error::Code;
    use convoke_core::limits::Limits;
    use convoke_store::{HeldDisk, Room};

    use super::*;
    use crate::function::Kind;
    use crate::logs::LogLines;

    fn record(time: Millis, function: &str, outcome: Option<Code>) -> CallRecord {
        CallRecord {
            time,
            request_id: format!("r{}", time.0).into(),
            function: function.into(),
            kind: Some(Kind::Query),
            outcome,
            refused: outcome.is_some_and(|code| !code.is_failure()),
            elapsed: Duration::from_micros(410),
            waited: Duration::ZERO,
            subject: Some("ada".into()),
            deploy_key: None,
            scheduled: false,
            arguments: None,
            result_bytes: None,
            cached: false,
            rows_read: 0,
            rows_written: 0,
            error: None,
            trace_id: None,
            log_lines: LogLines::default(),
        }
    }

    fn calls(data: PathBuf, settings: RecordedCalls, disk: Arc<dyn Disk>) -> RecentCalls {
        RecentCalls::new(RecordOptions {
            settings: Arc::new(settings),
            data,
            clock: Arc::new(SystemClock::new()),
            disk,
            floor: Floor::of(&Limits::default()),
        })
    }

    fn in_memory() -> RecentCalls {
        calls(PathBuf::new(), RecordedCalls { enabled: false, ..RecordedCalls::default() }, Arc::<HeldDisk>::default())
    }

    impl RecentCalls {
        fn ended(&self, record: CallRecord) {
            let rank = if record.outcome.is_some_and(Code::is_failure) { Rank::Failed } else { Rank::Usual };
            self.enter(rank, || record);
        }

        fn times(&self, count: usize) -> Vec<i64> {
            self.recent(&Filter::default(), count).iter().map(|record| record.time.0).collect()
        }
    }

    #[test]
    fn record_omits_absent_members_and_round_trips() {
        let json = r#"{"time":7,"requestId":"r7","function":"a/b","kind":"query","outcome":"OK","durationMs":0.41,"subject":"ada"}"#;
        assert_eq!(serde_json::to_string(&record(Millis(7), "a/b", None)).unwrap(), json);
        let whole = r#"{"time":7,"requestId":"r","function":"a/b","kind":"mutation","outcome":"FORBIDDEN","refused":true,"durationMs":0.41,"waitedMs":1.5,"deployKey":"ci","scheduled":true,"arguments":{"b":1,"a":"(secret)"},"resultBytes":120,"cached":true,"rowsRead":3,"rowsWritten":2,"error":"No","logLines":["[INFO] x"]}"#;
        let read: CallRecord = serde_json::from_str(whole).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), whole);
    }

    #[test]
    fn latest_calls_of_all_threads_are_in_order() {
        let (recent, clock) = (in_memory(), Mutex::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        // A later record is added later.
                        let mut clock = clock.lock();
                        recent.ended(record(Millis(*clock), "a/b", None));
                        *clock += 1;
                    }
                });
            }
        });
        assert_eq!(recent.times(1_000), (1_200 - 256..1_200).collect::<Vec<_>>());
        assert_eq!(recent.times(3).len(), 3);
        let one = Filter { request_id: Some("r1100".to_owned()), ..Filter::default() };
        assert_eq!(recent.recent(&one, 10)[0].time, Millis(1_100));
    }

    #[test]
    fn memory_is_limited_by_bytes_too() {
        let recent = in_memory();
        for at in 0..200 {
            let log_lines = LogLines::of(vec!["x".repeat(20_000)]);
            recent.ended(CallRecord { log_lines, ..record(Millis(at), "a/b", None) });
        }
        let kept = recent.recent(&Filter::default(), 1_000);
        let bytes: usize = kept.iter().map(CallRecord::bytes).sum();
        assert!(bytes <= SHARD_BYTES_MAX && kept.len() > 10, "{} records of {bytes} bytes", kept.len());
        assert_eq!(kept.last().unwrap().time, Millis(199));
    }

    #[test]
    fn recorded_calls_survive_the_process_and_a_full_queue_counts_dropped_calls() {
        let data = tempfile::tempdir().unwrap();
        let now = SystemClock::new().now().0;
        let open = || calls(data.path().to_owned(), RecordedCalls::default(), Arc::<HeldDisk>::default());
        let recent = open();
        (0..600).for_each(|at| recent.ended(record(Millis(now + at), "a/b", None)));
        recent.ended(record(Millis(now + 600), "a/b", Some(Code::Internal)));
        recent.write();
        assert_eq!(recent.unrecorded().queue.load(Relaxed), 600 - PENDING_MAX as u64 + 1);
        assert_eq!(recent.recorded().0, PENDING_MAX as u64);
        recent.ended(record(Millis(now + 700), "a/b", None));
        let found = recent.times(10_000);
        assert_eq!((found.len(), found.first(), found.last()), (PENDING_MAX + 1, Some(&(now + 1)), Some(&(now + 700))));
        assert_eq!(found[found.len() - 2], now + 600, "a failure replaces the oldest call");
        drop(recent);
        let recent = open();
        assert_eq!(recent.times(10_000), found);
        recent.ended(record(Millis(now + 800), "a/b", None));
        assert_eq!(recent.times(10_000).len(), PENDING_MAX + 2);
        assert_eq!(recent.times(3), [now + 600, now + 700, now + 800]);
    }

    #[test]
    fn flood_of_rejected_requests_leaves_room_for_calls() {
        let data = tempfile::tempdir().unwrap();
        let recent = calls(data.path().to_owned(), RecordedCalls::default(), Arc::<HeldDisk>::default());
        let now = SystemClock::new().now().0;
        for at in 0..1_000 {
            recent.enter(Rank::Rejected, || record(Millis(now + at), "nothing", Some(Code::InvalidCredentials)));
        }
        recent.ended(record(Millis(now + 1_000), "a/b", None));
        assert_eq!(recent.times(10_000).len(), PENDING_REJECTED_MAX + 1);
    }

    #[test]
    fn full_disk_loses_calls_only_and_the_latest_ones_are_written_when_there_is_room() {
        let (data, disk) = (tempfile::tempdir().unwrap(), Arc::<HeldDisk>::default());
        let recent = calls(data.path().to_owned(), RecordedCalls::default(), disk.clone());
        let now = SystemClock::new().now().0;
        disk.set(Room { free_bytes: 0, total_bytes: 1 << 40 });
        for at in 0..300 {
            recent.ended(record(Millis(now + at), "a/b", None));
        }
        assert_eq!(recent.times(1_000), (now + 300 - 256..now + 300).collect::<Vec<_>>());
        assert_eq!((recent.unrecorded().disk.load(Relaxed), recent.recorded().0), (300 - 256, 0));
        disk.set(Room { free_bytes: 1 << 40, total_bytes: 1 << 40 });
        recent.ended(record(Millis(now + 300), "a/b", None));
        assert_eq!(recent.times(1_000).len(), 257);
        assert_eq!(recent.recorded().0, 257);
    }

    #[tokio::test]
    async fn follower_receives_matching_calls_and_a_slow_one_the_number_of_lost_calls() {
        let recent = in_memory();
        let entry = |time, outcome| record(Millis(time), "a/b", outcome);
        recent.ended(entry(0, None));
        let errors = Filter { outcome: Some("error".parse().unwrap()), ..Filter::default() };
        let mut errors = recent.follow(errors).unwrap();
        let mut slow = recent.follow(Filter::default()).unwrap();
        recent.ended(entry(1, None));
        recent.ended(entry(2, Some(Code::Forbidden)));
        recent.mention(|| record(Millis(3), "nothing", Some(Code::RouteNotFound)));
        for expected in [2, 3] {
            let Some(Followed::Ended(entry)) = errors.next().await else { panic!("a record") };
            assert_eq!(entry.time, Millis(expected));
        }
        (4..1_000).for_each(|at| recent.ended(entry(at, None)));
        let Some(Followed::Lost(lost)) = slow.next().await else { panic!("a number of lost records") };
        assert_eq!(lost, 999 - 512);
        let Some(Followed::Ended(entry)) = slow.next().await else { panic!("a record") };
        assert_eq!(entry.time, Millis(488));
        drop((errors, slow));
        assert!(!recent.is_followed());
        assert!(recent.recent(&Filter::default(), 1_000).iter().all(|record| &*record.function == "a/b"));
    }

    #[test]
    fn followers_are_limited() {
        let recent = in_memory();
        let followers: Vec<_> = (0..FOLLOWERS_MAX).map(|_| recent.follow(Filter::default()).unwrap()).collect();
        let refused = recent.follow(Filter::default()).err().unwrap();
        assert_eq!(refused.code(), Code::Overloaded);
        drop(followers);
        assert!(recent.follow(Filter::default()).is_ok());
    }
}
