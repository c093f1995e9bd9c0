//! The response bytes that a client has not read: their number, the client's pace, and whether it reads at all.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The number of ticks in the stall timeout.
pub(crate) const STALL_TICKS: u32 = 8;
/// The current tick, those of a response that is not stalled, and the slot after them.
const SLOTS: usize = STALL_TICKS as usize + 2;

/// The responses of a connection that wait for the client to read them.
pub(crate) struct Backlog {
    /// Response bytes that the client has not read.
    pub(crate) held: Held,
    /// The pending responses, by the time since the client last read from each.
    pub(crate) pending: PendingResponses,
    is_write_blocked: AtomicBool,
    write_unblocked: Notify,
}

impl Backlog {
    pub(crate) fn new() -> Self {
        Self {
            held: Held::new(),
            pending: PendingResponses::default(),
            is_write_blocked: AtomicBool::new(false),
            write_unblocked: Notify::new(),
        }
    }

    /// True if bytes of a response wait for the client to read them.
    pub(crate) fn is_any(&self) -> bool {
        self.held.bytes() > 0 || self.pending.is_any()
    }

    /// Records whether writes to the client block.
    pub(crate) fn set_write_blocked(&self, is_blocked: bool) {
        self.is_write_blocked.store(is_blocked, Relaxed);
        if !is_blocked {
            self.write_unblocked.notify_waiters();
        }
    }

    /// True if writes to the client block.
    pub(crate) fn is_write_blocked(&self) -> bool {
        self.is_write_blocked.load(Relaxed)
    }

    /// Waits until writes to the client no longer block.
    pub(crate) async fn writable(&self) {
        while self.is_write_blocked() {
            self.write_unblocked.notified().await;
        }
    }
}

/// The number of pending responses of a connection, by the tick in which the client last read from each. The connection
/// counts the ticks when it checks its timeouts, so that no response reads the clock.
#[derive(Default)]
pub(crate) struct PendingResponses {
    tick: AtomicU8,
    responses: [AtomicU32; SLOTS],
}

impl PendingResponses {
    /// True if a response is pending.
    pub(crate) fn is_any(&self) -> bool {
        self.responses.iter().any(|responses| responses.load(Relaxed) > 0)
    }

    /// Counts a tick. Returns true if the client read nothing from a response for [`STALL_TICKS`] whole ticks.
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

    /// Moves a response to the current tick, because the client read from it.
    pub(crate) fn advance(&self, slot: &AtomicU8) {
        let now = self.tick.load(Relaxed);
        let before = slot.swap(now, Relaxed);
        if before != now {
            self.responses[usize::from(now)].fetch_add(1, Relaxed);
            self.leave(before);
        }
    }

    /// Removes a response whose last tick was `slot`.
    pub(crate) fn leave(&self, slot: u8) {
        self.responses[usize::from(slot)].fetch_sub(1, Relaxed);
    }
}

/// The pace of a connection's client while responses are pending: the bytes that it had read at each of the last ticks.
#[derive(Default)]
pub(crate) struct Pace {
    read: [u64; STALL_TICKS as usize],
    ticks: usize,
}

impl Pace {
    /// Counts a tick with pending responses. Returns true if the client read fewer than `bytes_min` bytes in the last
    /// [`STALL_TICKS`] ticks, all of which had pending responses.
    pub(crate) fn tick(&mut self, read: u64, bytes_min: u64) -> bool {
        let oldest = std::mem::replace(&mut self.read[self.ticks % STALL_TICKS as usize], read);
        self.ticks += 1;
        self.ticks > STALL_TICKS as usize && read - oldest < bytes_min
    }

    /// Starts again, because no response is pending.
    pub(crate) fn reset(&mut self) {
        self.ticks = 0;
    }
}

/// Bytes added to what a client has read when clients are compared, so that a new client does not count as slow.
const HEAD_START_BYTES: u64 = 64 * 1024;

/// Response bytes that a connection holds until the client reads them.
pub(crate) struct Held {
    bytes: AtomicUsize,
    /// Bytes that the client has read since the connection opened.
    read: AtomicU64,
    /// The last time that the connection held nothing, in milliseconds after `opened`, and the bytes read by then.
    since_ms: AtomicU64,
    read_before: AtomicU64,
    opened: Instant,
}

impl Held {
    pub(crate) fn new() -> Self {
        let opened = Instant::now();
        let zero = || AtomicU64::new(0);
        Self { bytes: AtomicUsize::new(0), read: zero(), since_ms: zero(), read_before: zero(), opened }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    pub(crate) fn add(&self, bytes: usize) {
        if bytes > 0 && self.bytes.fetch_add(bytes, Relaxed) == 0 {
            self.read_before.store(self.read_bytes(), Relaxed);
            self.since_ms.store(milliseconds(self.opened.elapsed()), Relaxed);
        }
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    /// Counts bytes that the client read.
    pub(crate) fn record_read(&self, bytes: usize) {
        self.read.fetch_add(bytes as u64, Relaxed);
    }

    /// Bytes that the client has read since the connection opened.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.read.load(Relaxed)
    }

    /// The time that the client needs for `bytes`, at its pace since it last had read everything.
    ///
    /// The pace alone is not enough: a small response that the server has not sent yet has no pace.
    pub(crate) fn needs(&self, bytes: usize, now: Instant) -> Duration {
        let ms = milliseconds(now.saturating_duration_since(self.opened)).saturating_sub(self.since_ms.load(Relaxed));
        let read = self.read_bytes().saturating_sub(self.read_before.load(Relaxed)).saturating_add(HEAD_START_BYTES);
        Duration::from_micros((bytes as u64).saturating_mul(1_000).saturating_mul(ms + 1) / read)
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_that_is_not_read_for_all_ticks_is_stalled() {
        let pending = PendingResponses::default();
        assert!(!pending.is_any());
        pending.enter();
        let first = pending.enter();
        for _ in 0..STALL_TICKS {
            assert!(!pending.tick());
        }
        pending.leave(first);
        pending.enter();
        assert!(pending.tick(), "the other of the first two responses");
        pending.leave(first);
        assert!(pending.is_any() && !pending.tick());
    }

    #[test]
    fn client_below_the_minimum_rate_is_detected_after_all_ticks() {
        let mut pace = Pace::default();
        let read = |tick: u64, rate: u64| tick * rate;
        for tick in 0..20 {
            assert!(!pace.tick(read(tick, 100), 100 * u64::from(STALL_TICKS)), "{tick}");
        }
        pace.reset();
        for tick in 0..u64::from(STALL_TICKS) {
            assert!(!pace.tick(read(tick, 99), 100 * u64::from(STALL_TICKS)), "{tick}");
        }
        assert!(pace.tick(read(u64::from(STALL_TICKS), 99), 100 * u64::from(STALL_TICKS)));
    }

    #[tokio::test(start_paused = true)]
    async fn client_that_reads_less_in_the_same_time_is_slower() {
        let (fast, slow, small, new) = (Held::new(), Held::new(), Held::new(), Held::new());
        fast.add(10_000_000);
        slow.add(10_000_000);
        small.add(500);
        tokio::time::advance(Duration::from_secs(2)).await;
        fast.record_read(1_000_000);
        slow.record_read(9_000);
        new.add(10_000_000);
        let now = Instant::now();
        let needs = |held: &Held| held.needs(held.bytes(), now);
        assert!(needs(&slow) > needs(&fast) && needs(&fast) > needs(&new));
        assert!(needs(&small) < needs(&new), "a few unsent bytes do not make a client slow");
        slow.release(10_000_000);
        slow.add(10_000_000);
        assert_eq!(needs(&slow), needs(&new), "the pace starts again");
    }
}
