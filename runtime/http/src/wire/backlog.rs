//! What a client has not taken of its responses: how much, how fast it takes, and whether it takes anything at all.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Into so many ticks the time is cut after which a response counts as stalled.
pub(crate) const STALL_TICKS: u32 = 8;
/// The tick that is, those of a response that is not stalled, and the one behind them.
const SLOTS: usize = STALL_TICKS as usize + 2;

/// The responses of a connection that wait for its client.
pub(crate) struct Backlog {
    /// Bytes of responses that the client has not taken.
    pub(crate) held: Held,
    /// How long the client has taken nothing of each.
    pub(crate) untaken: Untaken,
    is_write_blocked: AtomicBool,
    write_unblocked: Notify,
}

impl Backlog {
    pub(crate) fn new() -> Self {
        Self {
            held: Held::new(),
            untaken: Untaken::default(),
            is_write_blocked: AtomicBool::new(false),
            write_unblocked: Notify::new(),
        }
    }

    /// True if bytes of a response wait for the client to take them.
    pub(crate) fn is_any(&self) -> bool {
        self.held.bytes() > 0 || self.untaken.is_any()
    }

    /// Records whether the client takes what is written.
    pub(crate) fn set_write_blocked(&self, is_blocked: bool) {
        self.is_write_blocked.store(is_blocked, Relaxed);
        if !is_blocked {
            self.write_unblocked.notify_waiters();
        }
    }

    /// True if the client does not take what is written.
    pub(crate) fn is_write_blocked(&self) -> bool {
        self.is_write_blocked.load(Relaxed)
    }

    /// Waits until the client takes what was written.
    pub(crate) async fn writable(&self) {
        while self.is_write_blocked() {
            self.write_unblocked.notified().await;
        }
    }
}

/// How many responses of a connection wait to be taken, by the tick in which something of each was taken last. Ticks
/// are the connection's: it counts one when it looks and enough time has passed, so that no response asks the clock.
#[derive(Default)]
pub(crate) struct Untaken {
    tick: AtomicU8,
    responses: [AtomicU32; SLOTS],
}

impl Untaken {
    /// Whether any wait.
    pub(crate) fn is_any(&self) -> bool {
        self.responses.iter().any(|responses| responses.load(Relaxed) > 0)
    }

    /// Counts a tick. Whether nothing of a response was taken for [`STALL_TICKS`] whole ones.
    pub(crate) fn tick(&self) -> bool {
        let tick = (usize::from(self.tick.load(Relaxed)) + 1) % SLOTS;
        self.tick.store(tick as u8, Relaxed);
        self.responses[(tick + 1) % SLOTS].load(Relaxed) > 0
    }

    /// Adds a response, and returns its tick.
    pub(crate) fn enter(&self) -> u8 {
        let slot = self.tick.load(Relaxed);
        self.responses[usize::from(slot)].fetch_add(1, Relaxed);
        slot
    }

    /// Moves a response to the current tick, because the client took something of it.
    pub(crate) fn advance(&self, slot: &AtomicU8) {
        let now = self.tick.load(Relaxed);
        let before = slot.swap(now, Relaxed);
        if before != now {
            self.responses[usize::from(now)].fetch_add(1, Relaxed);
            self.leave(before);
        }
    }

    /// Removes a response that was last in this tick.
    pub(crate) fn leave(&self, slot: u8) {
        self.responses[usize::from(slot)].fetch_sub(1, Relaxed);
    }
}

/// The pace of a connection's client while responses wait for it: what it had taken at each of the last ticks.
#[derive(Default)]
pub(crate) struct Pace {
    taken: [u64; STALL_TICKS as usize],
    ticks: usize,
}

impl Pace {
    /// Counts a tick at which responses wait. True if the client took fewer than `bytes_min` bytes in the last
    /// [`STALL_TICKS`] ticks, at all of which responses waited.
    pub(crate) fn tick(&mut self, taken: u64, bytes_min: u64) -> bool {
        let oldest = std::mem::replace(&mut self.taken[self.ticks % STALL_TICKS as usize], taken);
        self.ticks += 1;
        self.ticks > STALL_TICKS as usize && taken - oldest < bytes_min
    }

    /// No response waits.
    pub(crate) fn reset(&mut self) {
        self.ticks = 0;
    }
}

/// What is put on top of the bytes that a client took, when clients are compared: nobody is slow who has only begun.
const HEAD_START_BYTES: u64 = 64 * 1024;

/// Bytes of responses that a connection holds until the client takes them.
pub(crate) struct Held {
    bytes: AtomicUsize,
    /// Bytes that were ever taken.
    taken: AtomicU64,
    /// When it last held nothing, in milliseconds after `opened`, and what had been taken by then.
    since_ms: AtomicU64,
    taken_before: AtomicU64,
    opened: Instant,
}

impl Held {
    pub(crate) fn new() -> Self {
        let opened = Instant::now();
        let zero = || AtomicU64::new(0);
        Self { bytes: AtomicUsize::new(0), taken: zero(), since_ms: zero(), taken_before: zero(), opened }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    pub(crate) fn add(&self, bytes: usize) {
        if bytes > 0 && self.bytes.fetch_add(bytes, Relaxed) == 0 {
            self.taken_before.store(self.taken(), Relaxed);
            self.since_ms.store(milliseconds(self.opened.elapsed()), Relaxed);
        }
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    /// Counts bytes that the client took.
    pub(crate) fn elapsed(&self, bytes: usize) {
        self.taken.fetch_add(bytes as u64, Relaxed);
    }

    /// Bytes that the client ever took.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Relaxed)
    }

    /// How long the client needs for so many bytes, at the pace at which it has been taking since it last had all of it.
    ///
    /// The pace alone would not do: a small answer that the server has not come to sending yet has none.
    pub(crate) fn needs(&self, bytes: usize, now: Instant) -> Duration {
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
    async fn client_that_takes_less_in_the_same_time_is_slower() {
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
        assert!(needs(&small) < needs(&new), "a few bytes that were not sent yet do not make a client slow");
        slow.release(10_000_000);
        slow.add(10_000_000);
        assert_eq!(needs(&slow), needs(&new), "it starts again");
    }
}
