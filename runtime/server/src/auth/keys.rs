//! When a provider's keys are fetched: in the background, and when a token names a key that is not known.
//!
//! A caller whose key is known never comes here to wait. One fetch runs at a time; all who need it wait for the same
//! one. It is a task of its own, so a caller that goes away does not end it for the others. Calls can start one only
//! once per interval, however many unknown names they bring. A fetch that fails leaves the former keys in place.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use super::key_set::KeySet;
use super::key_source::Fetcher;
use convoke_core::clock::Clock;
use convoke_core::limits::Limits;

/// The keys of one provider, kept current.
#[derive(Clone)]
pub struct Keys(Arc<Inner>);

struct Inner {
    issuer: String,
    fetcher: Fetcher,
    clock: Arc<dyn Clock>,
    current: RwLock<Option<Arc<KeySet>>>,
    turn: Mutex<Turn>,
    /// How the last fetch ended; every end is a change.
    ended: watch::Sender<End>,
    /// Least time from one fetch to the next that a call may start.
    interval_min: Duration,
    /// Time between two fetches in the background.
    interval: Duration,
}

/// How a fetch ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// None has ended yet.
    NoneYet,
    /// With keys.
    Fetched,
    /// Without.
    Failed,
}

/// Who may start a fetch.
#[derive(Default)]
struct Turn {
    running: bool,
    /// Monotonic time at which the last fetch began.
    began: Option<Duration>,
}

/// First pause after a failure in the background; it doubles up to the interval that calls have.
const RETRY: Duration = Duration::from_secs(1);

/// How often a file is looked at. Reading one costs nothing that would have to be spared.
const FILE_INTERVAL: Duration = Duration::from_secs(1);

impl Keys {
    /// The keys that `fetcher` brings, starting with those `at_hand`.
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
            turn: Mutex::new(Turn::default()),
            ended: watch::Sender::new(End::NoneYet),
            interval_min: if file { FILE_INTERVAL } else { limits.key_refresh_interval_min },
            interval: if file { FILE_INTERVAL } else { limits.key_refresh_interval },
        }))
    }

    /// The keys as last fetched; `None` if that never succeeded.
    pub fn current(&self) -> Option<Arc<KeySet>> {
        self.0.current.read().clone()
    }

    /// Fetches because a call needs a key that is not known: waits for the running fetch, starts one, or does nothing
    /// if the last began too short a time ago.
    pub async fn refresh(&self) {
        let ended = {
            let mut turn = self.0.turn.lock();
            let too_soon = turn.began.is_some_and(|began| self.0.since(began) < self.0.interval_min);
            if !turn.running && (too_soon || !self.0.fetcher.can_change()) {
                return;
            }
            let ended = self.0.ended.subscribe();
            if !turn.running {
                self.0.begin(&mut turn);
            }
            ended
        };
        wait(ended).await;
    }

    /// How long until a call can start the next fetch, at least a second: what `Retry-After` says.
    pub fn retry_after(&self) -> Duration {
        let turn = self.0.turn.lock();
        let since = turn.began.map_or(self.0.interval_min, |began| self.0.since(began));
        // The background tries again sooner than calls may.
        self.0.interval_min.saturating_sub(since).clamp(Duration::from_secs(1), Duration::from_secs(5))
    }

    /// Keeps the keys current until the task is dropped: at once, then every interval; after a failure sooner.
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

    /// Waits for the running fetch or starts one. Whether it brought keys.
    async fn fetch_now(&self) -> bool {
        let ended = {
            let mut turn = self.0.turn.lock();
            let ended = self.0.ended.subscribe();
            if !turn.running {
                self.0.begin(&mut turn);
            }
            ended
        };
        wait(ended).await == End::Fetched
    }
}

/// Waits for the next end of a fetch. The sender lives as long as the fetch does.
async fn wait(mut ended: watch::Receiver<End>) -> End {
    let _ = ended.changed().await;
    *ended.borrow()
}

impl Inner {
    fn since(&self, earlier: Duration) -> Duration {
        self.clock.monotonic().saturating_sub(earlier)
    }

    /// Starts the one fetch. The caller holds the turn and has seen that none runs.
    fn begin(self: &Arc<Self>, turn: &mut Turn) {
        turn.running = true;
        turn.began = Some(self.clock.monotonic());
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

/// A fetch under way. However it ends, also by a panic, those who wait are woken and the next can begin.
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
            // Once a streak: a file is looked at every second.
            Err(error) if *self.inner.ended.borrow() != End::Failed => {
                tracing::warn!(issuer = %self.inner.issuer, %error, "identity keys cannot be fetched; the former ones stay");
            }
            Err(error) => tracing::debug!(issuer = %self.inner.issuer, %error, "identity keys still cannot be fetched"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Under the lock, so that who subscribes there waits for a later end than this.
        let mut turn = self.inner.turn.lock();
        turn.running = false;
        self.inner.ended.send_replace(self.end);
    }
}
