//! The state of the copies, for metrics, readiness and the doctor.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use convoke_core::clock::Millis;

/// Time without a copy after which the operator must act.
pub(crate) const LOUD_AFTER: Duration = Duration::from_secs(60);

/// Counters and the newest state of the copies of a server.
#[derive(Debug)]
pub struct CopyStatus {
    /// Bytes of stored files.
    pub bytes: AtomicU64,
    /// Number of stored files with changes.
    pub files: AtomicU64,
    /// Number of stored snapshots.
    pub snapshots: AtomicU64,
    /// Number of failed attempts.
    pub failures: AtomicU64,
    begun_at: Millis,
    state: Mutex<CopyState>,
}

/// The newest state of the copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyState {
    /// The generation; none until the first copy.
    pub generation: Option<u32>,
    /// The last copied commit.
    pub commit: u64,
    /// Everything that was committed at this time is copied; none until the first copy.
    pub copied_at: Option<Millis>,
    /// Commits that are not copied yet.
    pub commits_behind: u64,
    /// The newest error, if the newest attempt failed.
    pub error: Option<String>,
    /// Begin of the current failures, on the monotonic clock.
    failing_since: Option<Duration>,
    /// True while a snapshot is made.
    pub makes_snapshot: bool,
}

impl CopyStatus {
    pub(crate) fn new(begun_at: Millis) -> Self {
        let (bytes, files, snapshots, failures) = Default::default();
        Self { bytes, files, snapshots, failures, begun_at, state: Mutex::default() }
    }

    /// Returns the time since everything was copied, or since the start.
    pub fn age(&self, now: Millis) -> Duration {
        now.since(self.state.lock().copied_at.unwrap_or(self.begun_at))
    }

    /// Returns the newest state.
    pub fn state(&self) -> CopyState {
        self.state.lock().clone()
    }

    /// Returns the problem that the operator must solve: the copies fail for more than 60 seconds, or do not end.
    pub fn problem(&self, now: Duration, at: Millis) -> Option<String> {
        let state = self.state.lock();
        if let (Some(since), Some(error)) = (state.failing_since, &state.error) {
            let since = now.saturating_sub(since);
            return (since >= LOUD_AFTER)
                .then(|| format!("the database is not copied for {} s: {error}", since.as_secs()));
        }
        let since = at.since(state.copied_at?);
        (since >= LOUD_AFTER && !state.makes_snapshot)
            .then(|| format!("the database is not copied for {} s: the place does not respond", since.as_secs()))
    }

    pub(crate) fn reached(&self, generation: u32, commit: u64) {
        let mut state = self.state.lock();
        (state.generation, state.commit) = (Some(generation), commit);
    }

    /// Records that the copy has everything up to now, but for some commits.
    pub(crate) fn succeeded(&self, at: Millis, commits_behind: u64) {
        let mut state = self.state.lock();
        (state.copied_at, state.commits_behind) = (Some(at), commits_behind);
        (state.error, state.failing_since) = (None, None);
    }

    /// Records that the copy is not complete before a snapshot is stored.
    pub(crate) fn waits_for_snapshot(&self, commits_behind: u64) {
        self.state.lock().commits_behind = commits_behind;
    }

    /// Records a failed attempt. Returns true at the first one.
    pub(crate) fn failed(&self, now: Duration, error: String, commits_behind: u64) -> bool {
        self.failures.fetch_add(1, Relaxed);
        let mut state = self.state.lock();
        (state.error, state.commits_behind) = (Some(error), commits_behind);
        let is_first = state.failing_since.is_none();
        state.failing_since.get_or_insert(now);
        is_first
    }

    pub(crate) fn makes_snapshot(&self, makes: bool) {
        self.state.lock().makes_snapshot = makes;
    }
}
