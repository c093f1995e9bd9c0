//! What a client has not taken of its responses: how much, how fast it takes, and whether it takes anything at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::connection::Activity;

/// Into so many ticks the time is cut after which a response counts as stalled.
pub(super) const STALL_TICKS: u32 = 8;
/// The tick that is, those of a response that is not stalled, and the one behind them.
const SLOTS: usize = STALL_TICKS as usize + 2;

/// A response on its way. It is there for as long as any of its bytes wait to be taken.
pub(super) struct Response {
    connection: Arc<Activity>,
    /// The tick in which something of it was taken last.
    slot: AtomicU8,
}

impl Response {
    pub(super) fn new(connection: Arc<Activity>) -> Self {
        let slot = AtomicU8::new(connection.untaken.enter());
        Self { connection, slot }
    }

    pub(super) fn connection(&self) -> &Activity {
        &self.connection
    }

    /// The socket has taken so many bytes of it.
    pub(super) fn elapsed(&self, bytes: usize) {
        self.connection.held.elapsed(bytes);
        let untaken = &self.connection.untaken;
        let now = untaken.tick.load(Relaxed);
        let before = self.slot.swap(now, Relaxed);
        if before != now {
            untaken.responses[usize::from(now)].fetch_add(1, Relaxed);
            untaken.leave(before);
        }
    }
}

impl Drop for Response {
    fn drop(&mut self) {
        self.connection.untaken.leave(self.slot.load(Relaxed));
    }
}

/// How many responses of a connection wait to be taken, by the tick in which something of each was taken last. Ticks
/// are the connection's: it counts one when it looks and enough time has passed, so that no response asks the clock.
#[derive(Default)]
pub(super) struct Untaken {
    tick: AtomicU8,
    responses: [AtomicU32; SLOTS],
}

impl Untaken {
    /// Whether any wait.
    pub(super) fn is_any(&self) -> bool {
        self.responses.iter().any(|responses| responses.load(Relaxed) > 0)
    }

    /// Counts a tick. Whether nothing of a response was taken for [`STALL_TICKS`] whole ones.
    pub(super) fn tick(&self) -> bool {
        let tick = (usize::from(self.tick.load(Relaxed)) + 1) % SLOTS;
        self.tick.store(tick as u8, Relaxed);
        self.responses[(tick + 1) % SLOTS].load(Relaxed) > 0
    }

    fn enter(&self) -> u8 {
        let slot = self.tick.load(Relaxed);
        self.responses[usize::from(slot)].fetch_add(1, Relaxed);
        slot
    }

    fn leave(&self, slot: u8) {
        self.responses[usize::from(slot)].fetch_sub(1, Relaxed);
    }
}

/// The pace of a connection's client while responses wait for it: what it had taken at each of the last ticks.
#[derive(Default)]
pub(super) struct Pace {
    taken: [u64; STALL_TICKS as usize],
    ticks: usize,
}

impl Pace {
    /// Counts a tick at which responses wait. True if the client took fewer than `bytes_min` bytes in the last
    /// [`STALL_TICKS`] ticks, at all of which responses waited.
    pub(super) fn tick(&mut self, taken: u64, bytes_min: u64) -> bool {
        let oldest = std::mem::replace(&mut self.taken[self.ticks % STALL_TICKS as usize], taken);
        self.ticks += 1;
        self.ticks > STALL_TICKS as usize && taken - oldest < bytes_min
    }

    /// No response waits.
    pub(super) fn reset(&mut self) {
        self.ticks = 0;
    }
}

/// What is put on top of the bytes that a client took, when clients are compared: nobody is slow who has only begun.
const HEAD_START_BYTES: u64 = 64 * 1024;

/// Bytes of responses that a connection holds until the client takes them.
pub(super) struct Held {
    bytes: AtomicUsize,
    /// Bytes that were ever taken.
    taken: AtomicU64,
    /// When it last held nothing, in milliseconds after `opened`, and what had been taken by then.
    since_ms: AtomicU64,
    taken_before: AtomicU64,
    opened: Instant,
}

impl Held {
    pub(super) fn new() -> Self {
        let opened = Instant::now();
        let zero = || AtomicU64::new(0);
        Self { bytes: AtomicUsize::new(0), taken: zero(), since_ms: zero(), taken_before: zero(), opened }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    pub(super) fn add(&self, bytes: usize) {
        if bytes > 0 && self.bytes.fetch_add(bytes, Relaxed) == 0 {
            self.taken_before.store(self.taken(), Relaxed);
            self.since_ms.store(milliseconds(self.opened.elapsed()), Relaxed);
        }
    }

    pub(super) fn release(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    fn elapsed(&self, bytes: usize) {
        self.taken.fetch_add(bytes as u64, Relaxed);
    }

    /// Bytes that the client ever took.
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }

    /// How long the client needs for so many bytes, at the pace at which it has been taking since it last had all of it.
    ///
    /// The pace alone would not do: a small answer that the server has not come to sending yet has none.
    pub(super) fn needs(&self, bytes: usize, now: Instant) -> Duration {
        let ms = milliseconds(now.saturating_duration_since(self.opened)).saturating_sub(self.since_ms.load(Relaxed));
        let taken = self.taken().saturating_sub(self.taken_before.load(Relaxed)).saturating_add(HEAD_START_BYTES);
        Duration::from_micros((bytes as u64).saturating_mul(1_000).saturating_mul(ms + 1) / taken)
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_core::limits::Limits;

    #[test]
    fn a_response_is_stalled_when_nothing_of_it_was_taken_for_all_ticks() {
        let untaken = Untaken::default();
        assert!(!untaken.is_any());
        untaken.enter();
        let first = untaken.enter();
        for _ in 0..STALL_TICKS {
            assert!(!untaken.tick());
        }
        untaken.leave(first);
        untaken.enter();
        assert!(untaken.tick(), "the other one of the first two");
        untaken.leave(first);
        assert!(untaken.is_any() && !untaken.tick());
    }

    #[tokio::test]
    async fn a_response_of_which_something_is_taken_is_not_stalled() {
        let connection = Arc::new(Activity::new(&Limits::default()));
        let response = Response::new(Arc::clone(&connection));
        for _ in 0..5 {
            for _ in 0..STALL_TICKS {
                assert!(!connection.untaken.tick());
            }
            response.elapsed(1);
        }
        for _ in 0..STALL_TICKS {
            assert!(!connection.untaken.tick());
        }
        assert!(connection.untaken.tick());
        drop(response);
        assert!(!connection.untaken.is_any());
    }

    #[test]
    fn a_client_below_the_least_rate_is_noticed_after_all_ticks() {
        let mut pace = Pace::default();
        let taken = |tick: u64, rate: u64| tick * rate;
        for tick in 0..20 {
            assert!(!pace.tick(taken(tick, 100), 100 * u64::from(STALL_TICKS)), "{tick}");
        }
        pace.reset();
        for tick in 0..u64::from(STALL_TICKS) {
            assert!(!pace.tick(taken(tick, 99), 100 * u64::from(STALL_TICKS)), "{tick}");
        }
        assert!(pace.tick(taken(u64::from(STALL_TICKS), 99), 100 * u64::from(STALL_TICKS)));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_less_in_the_same_time_is_slower() {
        let (fast, slow, small, new) = (Held::new(), Held::new(), Held::new(), Held::new());
        fast.add(10_000_000);
        slow.add(10_000_000);
        small.add(500);
        tokio::time::advance(Duration::from_secs(2)).await;
        fast.elapsed(1_000_000);
        slow.elapsed(9_000);
        new.add(10_000_000);
        let now = Instant::now();
        let needs = |held: &Held| held.needs(held.bytes(), now);
        assert!(needs(&slow) > needs(&fast) && needs(&fast) > needs(&new));
        assert!(needs(&small) < needs(&new), "a few bytes that nobody came to sending are nobody's slowness");
        slow.release(10_000_000);
        slow.add(10_000_000);
        assert_eq!(needs(&slow), needs(&new), "it begins anew");
    }
}
