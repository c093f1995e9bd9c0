//! The schedule of a provider's key fetches: in the background, and when a token names an unknown key.
//!
//! A call with a known key never waits. At most one fetch runs at a time, and all waiting calls share it. The fetch is
//! a task of its own, so a cancelled call does not cancel it. Calls can start at most one fetch per interval, whatever
//! key ids they name. A failed fetch keeps the previous keys.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use super::key_set::KeySet;
use super::key_source::Fetcher;
use convoke_core::clock::Clock;
use convoke_core::limits::Limits;

/// The keys of a provider, refreshed in the background.
#[derive(Clone)]
pub struct Keys(Arc<Inner>);

struct Inner {
    issuer: String,
    fetcher: Fetcher,
    clock: Arc<dyn Clock>,
    current: RwLock<Option<Arc<KeySet>>>,
    fetches: Mutex<Fetches>,
    /// The result of the last fetch. Every fetch sends a change.
    ended: watch::Sender<End>,
    /// Shortest time between two fetches that calls start.
    interval_min: Duration,
    /// Time between two background fetches.
    interval: Duration,
}

/// The result of a fetch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// No fetch has ended yet.
    NoneYet,
    /// The fetch returned keys.
    Fetched,
    /// The fetch failed.
    Failed,
}

/// The state that decides whether a fetch may start.
#[derive(Default)]
struct Fetches {
    running: bool,
    /// Monotonic time at which the last fetch began.
    began: Option<Duration>,
}

/// First pause after a failed background fetch. It doubles up to the interval of calls.
const RETRY: Duration = Duration::from_secs(1);

/// Interval at which a file is read. A read costs almost nothing.
const FILE_INTERVAL: Duration = Duration::from_secs(1);

impl Keys {
    /// Creates the keys of `fetcher`, initially `at_hand`.
    pub fn new(
        issuer: &str,
        fetcher: Fetcher,
        at_hand: Option<KeySet>,
        clock: Arc<dyn Clock>,
        limits: &Limits,
    ) -> Self {
        let file = fetcher.is_file();
        Self(Arc::new(Inner {
            issuer: issuer.to_owned(),
            fetcher,
            clock,
            current: RwLock::new(at_hand.map(Arc::new)),
            fetches: Mutex::new(Fetches::default()),
            ended: watch::Sender::new(End::NoneYet),
            interval_min: if file { FILE_INTERVAL } else { limits.key_refresh_interval_min },
            interval: if file { FILE_INTERVAL } else { limits.key_refresh_interval },
        }))
    }

    /// Returns the latest keys; `None` if no fetch has succeeded.
    pub fn current(&self) -> Option<Arc<KeySet>> {
        self.0.current.read().clone()
    }

    /// Fetches the keys for a call with an unknown key: waits for the running fetch or starts one. Does nothing if the
    /// last fetch began within the interval.
    pub async fn refresh(&self) {
        let ended = {
            let mut fetches = self.0.fetches.lock();
            let too_soon = fetches.began.is_some_and(|began| self.0.since(began) < self.0.interval_min);
            if !fetches.running && (too_soon || !self.0.fetcher.can_change()) {
                return;
            }
            let ended = self.0.ended.subscribe();
            if !fetches.running {
                self.0.begin(&mut fetches);
            }
            ended
        };
        wait(ended).await;
    }

    /// Returns the time until a call can start the next fetch, for `Retry-After`: 1 to 5 seconds.
    pub fn retry_after(&self) -> Duration {
        let fetches = self.0.fetches.lock();
        let since = fetches.began.map_or(self.0.interval_min, |began| self.0.since(began));
        // The background task retries sooner than calls may.
        self.0.interval_min.saturating_sub(since).clamp(Duration::from_secs(1), Duration::from_secs(5))
    }

    /// Refreshes the keys until the task is dropped: immediately, then once per interval, and sooner after a failure.
    pub async fn keep_current(self) {
        if !self.0.fetcher.can_change() {
            return;
        }
        let mut pause = RETRY;
        loop {
            if self.fetch_now().await {
                pause = RETRY;
                tokio::time::sleep(self.0.interval).await;
            } else {
                tokio::time::sleep(pause.min(self.0.interval)).await;
                pause = (pause * 2).min(self.0.interval_min.max(RETRY));
            }
        }
    }

    /// Waits for the running fetch or starts one. Returns true if the fetch succeeded.
    async fn fetch_now(&self) -> bool {
        let ended = {
            let mut fetches = self.0.fetches.lock();
            let ended = self.0.ended.subscribe();
            if !fetches.running {
                self.0.begin(&mut fetches);
            }
            ended
        };
        wait(ended).await == End::Fetched
    }
}

/// Waits for the end of the running fetch. The sender lives as long as the fetch.
async fn wait(mut ended: watch::Receiver<End>) -> End {
    let _ = ended.changed().await;
    *ended.borrow()
}

impl Inner {
    fn since(&self, earlier: Duration) -> Duration {
        self.clock.monotonic().saturating_sub(earlier)
    }

    /// Starts a fetch. The caller holds the lock and has checked that no fetch runs.
    fn begin(self: &Arc<Self>, fetches: &mut Fetches) {
        fetches.running = true;
        fetches.began = Some(self.clock.monotonic());
        let running = Running { inner: Arc::clone(self), end: End::Failed };
        tokio::spawn(running.fetch());
    }

    fn take_over(&self, fetched: KeySet) {
        let mut current = self.current.write();
        let former = current.take();
        let keys = fetched.succeed(former.as_deref());
        let names = |set: &KeySet| set.iter().map(|key| key.id().unwrap_or("-").to_owned()).collect::<Vec<_>>();
        if former.as_deref().map(names) != Some(names(&keys)) {
            tracing::info!(issuer = %self.issuer, keys = ?names(&keys), "identity keys changed");
        }
        *current = Some(Arc::new(keys));
    }
}

/// A running fetch. Its drop, also by a panic, wakes the waiting calls and allows the next fetch.
struct Running {
    inner: Arc<Inner>,
    end: End,
}

impl Running {
    async fn fetch(mut self) {
        match self.inner.fetcher.fetch().await {
            Ok(keys) => {
                self.inner.take_over(keys);
                self.end = End::Fetched;
            }
            // Only the first failure in a row is a warning, because a file is read every second.
            Err(error) if *self.inner.ended.borrow() != End::Failed => {
                tracing::warn!(issuer = %self.inner.issuer, %error, "identity keys cannot be fetched; the former ones stay");
            }
            Err(error) => tracing::debug!(issuer = %self.inner.issuer, %error, "identity keys still cannot be fetched"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The lock ensures that later subscribers wait for a later fetch.
        let mut fetches = self.inner.fetches.lock();
        fetches.running = false;
        self.inner.ended.send_replace(self.end);
    }
}
