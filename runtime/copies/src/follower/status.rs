//! The state of a follower, for metrics, readiness and the doctor.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use crate::shipper::status::LOUD_AFTER;
use convoke_core::clock::Millis;

/// Counters and the newest state of a follower.
#[derive(Debug)]
pub struct FollowerStatus {
    /// URL of the place.
    pub url: String,
    /// Number of applied files.
    pub files: AtomicU64,
    /// Bytes of applied files.
    pub bytes: AtomicU64,
    /// Number of failed attempts.
    pub failures: AtomicU64,
    begun_at: Millis,
    state: Mutex<FollowerState>,
}

/// The newest state of a follower.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowerState {
    /// The generation that it follows.
    pub generation: u32,
    /// The last commit of that generation in the database.
    pub commit: u64,
    /// The time at which the newest applied changes were copied; none before the first changes of this process.
    pub copied_at: Option<Millis>,
    /// Everything that was in the place at this time is in the database; none until the follower has caught up.
    pub caught_up_at: Option<Millis>,
    /// The newest error, if the newest attempt failed.
    pub error: Option<String>,
    /// Begin of the current failures, on the monotonic clock.
    failing_since: Option<Duration>,
}

impl FollowerStatus {
    pub(super) fn new(url: String, (generation, commit): (u32, u64), begun_at: Millis) -> Self {
        let (files, bytes, failures) = Default::default();
        let state = FollowerState { generation, commit, ..FollowerState::default() };
        Self { url, files, bytes, failures, begun_at, state: Mutex::new(state) }
    }

    /// Returns the newest state.
    pub fn state(&self) -> FollowerState {
        self.state.lock().clone()
    }

    /// Returns how much older than the place the database may be: the time since it had everything, or since the start.
    pub fn behind(&self, now: Millis) -> Duration {
        now.since(self.state.lock().caught_up_at.unwrap_or(self.begun_at))
    }

    /// Returns the problem that the operator must solve: the copies cannot be read for more than 60 seconds.
    pub fn problem(&self, now: Duration) -> Option<String> {
        let state = self.state.lock();
        let (since, error) = (now.saturating_sub(state.failing_since?), state.error.as_ref()?);
        (since >= LOUD_AFTER).then(|| format!("the copies cannot be followed for {} s: {error}", since.as_secs()))
    }

    pub(super) fn applied(&self, generation: u32, commit: u64, copied_at: Millis, files: u64, bytes: u64) {
        self.files.fetch_add(files, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        let mut state = self.state.lock();
        (state.generation, state.commit, state.copied_at) = (generation, commit, Some(copied_at));
    }

    pub(super) fn caught_up(&self, at: Millis) {
        let mut state = self.state.lock();
        state.caught_up_at = Some(at);
        (state.error, state.failing_since) = (None, None);
    }

    /// Records a failed attempt. Returns true at the first one.
    pub(super) fn failed(&self, now: Duration, error: String) -> bool {
        self.failures.fetch_add(1, Relaxed);
        let mut state = self.state.lock();
        state.error = Some(error);
        let is_first = state.failing_since.is_none();
        state.failing_since.get_or_insert(now);
        is_first
    }
}
