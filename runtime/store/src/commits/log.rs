//! What was committed: numbered, with what it changed, for those who have to know that what they read is out of date.
//!
//! An engine has every commit made here ([`Commits::commit`]), so that its number is given, its changes are published,
//! and nobody takes a snapshot in between and calls it by the wrong number. What does not pass a
//! [`Writer`](crate::Writer) changes everything.

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

/// Rows and tables in the log of recent commits.
const LOG_MAX: usize = 50_000;
/// Rows and tables that are looked at to find whether something read still stands: beyond, it is sooner read again.
const LOOKED_AT_MAX: usize = 2_000;
/// A table's rows are told for so long after the last one left who wanted it: a client that comes back meanwhile is told
/// what has changed, and not everything over the table.
const WATCHED_FOR: Duration = Duration::from_secs(60);
/// For a commit that is under way, before a snapshot whose number is known is given up.
const PATIENCE: Duration = Duration::from_secs(1);

/// A commit with what it changed.
#[derive(Debug)]
pub struct Committed {
    /// Its number.
    pub commit: Commit,
    /// What it changed.
    pub changes: ChangeSet,
}

/// The commits of a store.
pub struct Commits {
    clock: Arc<dyn Clock>,
    /// Held while a commit is made, and while a snapshot is opened whose number is to be known.
    making: Mutex<()>,
    newest: AtomicU64,
    /// Grows when a commit is begun and when it is published.
    moment: AtomicU64,
    history: AtomicU64,
    log: RwLock<Log>,
    published: watch::Sender<Commit>,
    watched: FxHashMap<&'static str, Watched>,
}

/// Who wants to be told the rows of a table.
#[derive(Default)]
struct Watched {
    by: AtomicUsize,
    /// When the last of them left, in milliseconds of monotonic time and one more; 0 if that is long ago.
    left_ms: AtomicU64,
}

struct Log {
    commits: VecDeque<Arc<Committed>>,
    /// What the commit that is being made changes.
    pending: Option<ChangeSet>,
    weight: usize,
    /// All commits behind this one are in it.
    from: Commit,
}

impl Commits {
    /// The commits of a database with these tables. None has been made yet.
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

    /// The newest row of the database is of this time: commits are later. Before any is made.
    ///
    /// A time that leaves no room for later commits is none that a clock has shown, and is passed over.
    pub(crate) fn advance_past(&self, time: Millis) {
        const LATEST: u64 = 1 << 62;
        let time = Some(nanos(time)).filter(|time| *time < LATEST).unwrap_or(0);
        let newest = self.newest.fetch_max(time, Ordering::AcqRel).max(time);
        self.log.write().from = Commit(newest);
        self.published.send_replace(Commit(newest));
    }

    /// The newest commit that was published. A snapshot that is opened after this was asked shows it or a newer one.
    pub fn newest(&self) -> Commit {
        Commit(self.newest.load(Ordering::Acquire))
    }

    /// Has `make` commit these changes, and publishes them before anybody is told of it. If it fails, it is unknown what
    /// the database holds, and everything has changed.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn commit<T, E>(&self, changes: ChangeSet, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let _making = self.making.lock();
        self.announce(changes);
        let made = make();
        self.publish(made.is_ok());
        made
    }

    /// Runs what may change anything without a [`Writer`](crate::Writer).
    pub fn change_everything<R>(&self, work: impl FnOnce() -> R) -> R {
        let _making = self.making.lock();
        self.announce(ChangeSet::everything());
        let done = work();
        self.publish(true);
        done
    }

    /// The number of the database's history. It grows when commits may have been lost, as by a failover or a restore under a
    /// running node: what was read in a former history may be of rows that never were.
    pub fn history(&self) -> u64 {
        self.history.load(Ordering::Acquire)
    }

    /// The database has another history from now on. The engine publishes that everything has changed once it sees the new one.
    pub fn begin_history(&self) {
        self.history.fetch_add(1, Ordering::AcqRel);
    }

    /// Before anybody can see the changes: who knows them already would otherwise be given less by the next one they ask.
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
        // Under the lock, so that one who knows the number finds the commit.
        self.newest.store(commit.0, Ordering::Release);
        self.moment.fetch_add(1, Ordering::Release);
        drop(log);
        if self.published.receiver_count() > 0 {
            self.published.send_replace(commit);
        }
    }

    /// Runs `open` while no commit is made: a snapshot that it opens shows the commit whose number is returned.
    ///
    /// # Errors
    /// [`StoreError::Closed`] if a commit takes long; those of `open`.
    pub fn exactly<R>(&self, open: impl FnOnce() -> Result<R, StoreError>) -> Result<(Commit, R), StoreError> {
        let making = self.making.try_lock_for(PATIENCE);
        let _making = making.ok_or_else(|| StoreError::Closed("a commit takes long".to_owned()))?;
        Ok((self.newest(), open()?))
    }

    /// The commits behind `commit` that were published so far, oldest first; `None` if they are not all remembered.
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

    /// Returns true if no commit behind `since`, up to `until`, has touched these reads: a read as of `until` then gives the
    /// same as one as of `since`. False if that is not known.
    pub fn stood(&self, reads: &ReadSet, since: Commit, until: Commit) -> bool {
        let touched = |committed: &Arc<Committed>| reads.is_touched_by(&committed.changes);
        since == until
            || since < until
                && !reads.is_unannounced
                && self
                    .since(since)
                    .is_some_and(|later| !later.iter().take_while(|committed| committed.commit <= until).any(touched))
    }

    /// A number that is the same as long as no commit is begun or published.
    pub fn moment(&self) -> u64 {
        self.moment.load(Ordering::Acquire)
    }

    /// Whether nothing that was read as of a commit, or later, has changed since, nor is changed by the commit that is
    /// being made: then the newest commit, and the [`Commits::moment`] at which that was so. A look at very many changes
    /// is not taken, and what they have touched is not known.
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
        // Under the lock: neither moves meanwhile.
        Some((self.newest(), self.moment()))
    }

    /// Tells of commits from now on: the newest one.
    pub fn published(&self) -> watch::Receiver<Commit> {
        let mut receiver = self.published.subscribe();
        self.published.send_if_modified(|known| std::mem::replace(known, self.newest()) != self.newest());
        receiver.mark_unchanged();
        receiver
    }

    /// From now on the rows of a table are told one by one, until a while after [`Commits::unwatch`] was called as often as
    /// this.
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

    /// Ends what [`Commits::watch`] began.
    pub fn unwatch(&self, table: &'static str) {
        if let Some(watched) = self.watched.get(table)
            && watched.by.fetch_sub(1, Ordering::AcqRel) == 1
        {
            watched.left_ms.store(self.monotonic_ms() + 1, Ordering::Release);
        }
    }

    /// Whether somebody wants to be told the rows of a table, or did a moment ago.
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
            // From here on nobody has to look at the clock. Another one who left meanwhile stays noted.
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
    fn a_table_is_watched_until_a_while_after_the_last_one_left() {
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
