//! The log of recent commits with their numbers and changes, for readers whose results may be out of date.
//!
//! An engine makes every commit through [`Commits::commit`]. It assigns the number and publishes the changes, so that
//! no snapshot between commit and publication gets a wrong number. A change that does not pass a
//! [`Transaction`](crate::Transaction) counts as a change of everything.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use super::change_set::{ChangeSet, Commit};
use super::read_set::ReadSet;
use crate::error::StoreError;
use crate::schema::table::TableDef;
use convoke_core::clock::{Clock, Millis};

/// Most rows and tables in the log of recent commits.
const LOG_MAX: usize = 50_000;
/// Most rows and tables that are compared to decide if a result is current; beyond that, reading it again is cheaper.
const LOOKED_AT_MAX: usize = 2_000;
/// Time after its last subscriber for which the rows of a table are still recorded. A client that reconnects within it
/// learns the changed rows instead of a change of the whole table.
const WATCHED_FOR: Duration = Duration::from_secs(60);
/// Longest wait for a running commit before a snapshot with a known number is given up.
const PATIENCE: Duration = Duration::from_secs(1);

/// A commit with its changes.
#[derive(Debug)]
pub struct Committed {
    /// Its number.
    pub commit: Commit,
    /// Its changes.
    pub changes: ChangeSet,
}

/// The commits of a store.
pub struct Commits {
    clock: Arc<dyn Clock>,
    /// Locked during a commit, and while a snapshot with a known number is opened.
    making: Mutex<()>,
    newest: AtomicU64,
    /// Incremented when a commit starts and when it is published.
    moment: AtomicU64,
    history: AtomicU64,
    log: RwLock<Log>,
    published: watch::Sender<Commit>,
    watched: FxHashMap<&'static str, Watched>,
}

/// Subscribers of the rows of a table.
#[derive(Default)]
struct Watched {
    by: AtomicUsize,
    /// Time when the last of them left, in milliseconds of monotonic time plus one; 0 if that is long ago.
    left_ms: AtomicU64,
}

struct Log {
    commits: VecDeque<Arc<Committed>>,
    /// Changes of the running commit.
    pending: Option<ChangeSet>,
    weight: usize,
    /// The log contains all commits after this one.
    from: Commit,
}

impl Commits {
    /// Creates the log of a database with these tables, without a commit.
    pub fn new(clock: Arc<dyn Clock>, tables: &[&'static TableDef]) -> Self {
        let newest = Commit(nanos(clock.now()));
        Self {
            clock,
            making: Mutex::default(),
            newest: AtomicU64::new(newest.0),
            moment: AtomicU64::new(1),
            history: AtomicU64::new(0),
            log: RwLock::new(Log { commits: VecDeque::new(), pending: None, weight: 0, from: newest }),
            published: watch::Sender::new(newest),
            watched: tables.iter().map(|table| (table.name, Watched::default())).collect(),
        }
    }

    /// Sets the time of the newest row of the database; commits are later. Must be called before any commit.
    ///
    /// A time without room for later commits cannot come from a clock and is ignored.
    pub(crate) fn advance_past(&self, time: Millis) {
        const LATEST: u64 = 1 << 62;
        let time = Some(nanos(time)).filter(|time| *time < LATEST).unwrap_or(0);
        let newest = self.newest.fetch_max(time, Ordering::AcqRel).max(time);
        self.log.write().from = Commit(newest);
        self.published.send_replace(Commit(newest));
    }

    /// Returns the newest published commit. A snapshot opened after this call contains it or a newer one.
    pub fn newest(&self) -> Commit {
        Commit(self.newest.load(Ordering::Acquire))
    }

    /// Calls `make` to commit these changes, and publishes them before any caller learns the result. If `make` fails,
    /// the content of the database is unknown, and everything counts as changed.
    ///
    /// # Errors
    /// Errors of `make`.
    pub fn commit<T, E>(&self, changes: ChangeSet, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let _making = self.making.lock();
        self.announce(changes);
        let made = make();
        self.publish(made.is_ok());
        made
    }

    /// Runs work that may change anything without a [`Transaction`](crate::Transaction).
    pub fn change_everything<R>(&self, work: impl FnOnce() -> R) -> R {
        let _making = self.making.lock();
        self.announce(ChangeSet::everything());
        let done = work();
        self.publish(true);
        done
    }

    /// Returns the number of the database's history. It grows when commits may have been lost, such as in a failover or
    /// a restore under a running node. A result of a former history may contain rows that no longer exist.
    pub fn history(&self) -> u64 {
        self.history.load(Ordering::Acquire)
    }

    /// Starts a new history of the database. The engine publishes a change of everything once it sees the new one.
    pub fn begin_history(&self) {
        self.history.fetch_add(1, Ordering::AcqRel);
    }

    /// Called before the changes are visible. Otherwise a client that knows them could receive an older result from the
    /// next node.
    fn announce(&self, changes: ChangeSet) {
        if !changes.is_empty() {
            let mut log = self.log.write();
            log.pending = Some(changes);
            self.moment.fetch_add(1, Ordering::Release);
        }
    }

    fn publish(&self, is_made: bool) {
        let mut log = self.log.write();
        let changes = log.pending.take().unwrap_or_default();
        let changes = if is_made { changes } else { ChangeSet::everything() };
        if changes.is_empty() {
            return;
        }
        let next = self.newest.load(Ordering::Relaxed) + 1;
        let commit = Commit(next.max(nanos(self.clock.now())));
        log.weight += changes.weight();
        log.commits.push_back(Arc::new(Committed { commit, changes }));
        while log.weight > LOG_MAX
            && let Some(oldest) = log.commits.pop_front()
        {
            log.weight -= oldest.changes.weight();
            log.from = oldest.commit;
        }
        // Within the lock, so that every reader of the number finds the commit.
        self.newest.store(commit.0, Ordering::Release);
        self.moment.fetch_add(1, Ordering::Release);
        drop(log);
        if self.published.receiver_count() > 0 {
            self.published.send_replace(commit);
        }
    }

    /// Runs `open` while no commit is made: a snapshot opened by it contains the returned commit.
    ///
    /// # Errors
    /// [`StoreError::Closed`]: a commit takes long; errors of `open`.
    pub fn exactly<R>(&self, open: impl FnOnce() -> Result<R, StoreError>) -> Result<(Commit, R), StoreError> {
        let making = self.making.try_lock_for(PATIENCE);
        let _making = making.ok_or_else(|| StoreError::Closed("a commit takes long".to_owned()))?;
        Ok((self.newest(), open()?))
    }

    /// Returns the published commits after `commit`, oldest first. `None`: the log no longer contains all of them.
    pub fn since(&self, commit: Commit) -> Option<Vec<Arc<Committed>>> {
        if commit >= self.newest() {
            return Some(Vec::new());
        }
        let log = self.log.read();
        if commit < log.from {
            return None;
        }
        let first = log.commits.partition_point(|committed| committed.commit <= commit);
        Some(log.commits.iter().skip(first).cloned().collect())
    }

    /// Returns true if no commit after `since`, up to `until`, changed these reads: a read as of `until` then has the
    /// same result as a read as of `since`. False if that is unknown.
    pub fn stood(&self, reads: &ReadSet, since: Commit, until: Commit) -> bool {
        let touched = |committed: &Arc<Committed>| reads.is_touched_by(&committed.changes);
        since == until
            || since < until
                && !reads.is_unannounced
                && self
                    .since(since)
                    .is_some_and(|later| !later.iter().take_while(|committed| committed.commit <= until).any(touched))
    }

    /// Returns a number that changes whenever a commit starts or is published.
    pub fn moment(&self) -> u64 {
        self.moment.load(Ordering::Acquire)
    }

    /// Checks if nothing in these reads as of `commit` or later has changed, including by the running commit. Returns
    /// the newest commit, and the [`Commits::moment`] of the check. Very many changes are not compared; the result is
    /// then unknown.
    pub fn stands(&self, reads: &ReadSet, since: Commit) -> Option<(Commit, u64)> {
        let log = self.log.read();
        if since < log.from {
            return None;
        }
        let first = log.commits.partition_point(|committed| committed.commit <= since);
        let mut left = LOOKED_AT_MAX;
        for committed in log.commits.range(first..) {
            left = left.checked_sub(committed.changes.weight())?;
            if reads.is_touched_by(&committed.changes) {
                return None;
            }
        }
        if log.pending.as_ref().is_some_and(|pending| reads.is_touched_by(pending)) {
            return None;
        }
        // Within the lock, so that both are consistent.
        Some((self.newest(), self.moment()))
    }

    /// Subscribes to commits; starts with the newest one.
    pub fn published(&self) -> watch::Receiver<Commit> {
        let mut receiver = self.published.subscribe();
        self.published.send_if_modified(|known| std::mem::replace(known, self.newest()) != self.newest());
        receiver.mark_unchanged();
        receiver
    }

    /// Starts to record the changes of a table row by row, until some time after the matching call of
    /// [`Commits::unwatch`].
    pub fn watch(&self, table: &'static str) {
        if let Some(watched) = self.watched.get(table) {
            watched.by.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Records the changes of every table row by row for the next minute.
    pub fn watch_all_for_a_while(&self) {
        for table in self.watched.keys() {
            self.watch(table);
            self.unwatch(table);
        }
    }

    /// Ends a subscription of [`Commits::watch`].
    pub fn unwatch(&self, table: &'static str) {
        if let Some(watched) = self.watched.get(table)
            && watched.by.fetch_sub(1, Ordering::AcqRel) == 1
        {
            watched.left_ms.store(self.monotonic_ms() + 1, Ordering::Release);
        }
    }

    /// Returns true if a table has a subscriber, or had one recently.
    pub fn is_watched(&self, table: &str) -> bool {
        let Some(watched) = self.watched.get(table) else { return false };
        if watched.by.load(Ordering::Acquire) > 0 {
            return true;
        }
        let left_ms = watched.left_ms.load(Ordering::Acquire);
        if left_ms == 0 {
            return false;
        }
        let is_recent = u128::from(self.monotonic_ms().saturating_sub(left_ms - 1)) < WATCHED_FOR.as_millis();
        if !is_recent {
            // From here on the clock is not read. A subscriber that left in the meantime stays recorded.
            let _ = watched.left_ms.compare_exchange(left_ms, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
        is_recent
    }

    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.clock.monotonic().as_millis()).unwrap_or(u64::MAX)
    }
}

fn nanos(time: Millis) -> u64 {
    u64::try_from(time.0).unwrap_or(0).saturating_mul(1_000_000)
}

#[cfg(all(test, feature = "conformance"))]
mod tests {
    use super::*;
    use crate::conformance::support::Account;
    use crate::schema::table::Table as _;

    #[derive(Default)]
    struct Monotonic(AtomicU64);

    impl Clock for Monotonic {
        fn now(&self) -> Millis {
            Millis(1)
        }

        fn monotonic(&self) -> Duration {
            Duration::from_secs(self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn table_stays_watched_for_a_while_after_its_last_subscriber() {
        let clock = Arc::new(Monotonic::default());
        let commits = Commits::new(clock.clone(), &[Account::DEF]);
        let watched_after = |seconds| {
            clock.0.fetch_add(seconds, Ordering::Relaxed);
            commits.is_watched("accounts")
        };
        assert!(!watched_after(0));
        (0..2).for_each(|_| commits.watch("accounts"));
        commits.unwatch("accounts");
        assert!(watched_after(100));
        commits.unwatch("accounts");
        assert!(watched_after(0) && watched_after(59) && !watched_after(1) && !watched_after(0));
        commits.watch("accounts");
        commits.unwatch("accounts");
        assert!(watched_after(59));
        commits.watch("accounts");
        assert!(watched_after(100));
        assert!(!commits.is_watched("messages"));
    }
}
