//! How long a function takes lately: whether a read of it is worth another thread, a mutation a batch of its own.
//!
//! What is measured is the time by the clock, and on a busy machine a quick function now and then takes milliseconds
//! because its thread had to wait for a core. So one long call says nothing yet, unless it is longer than any such wait.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Below this a query runs on the task that called it: handing a read of 5 µs to another thread costs more than it.
const QUICK: Duration = Duration::from_micros(200);

/// Above this a mutation begins a batch of its own: those before it are answered first.
const SLOW: Duration = Duration::from_millis(5);

/// No thread waits that long for a core on a machine that can still serve.
const CERTAIN: Duration = Duration::from_millis(20);

/// The latency class of one function.
#[derive(Debug)]
pub struct LatencyClass {
    not_quick: LongCalls,
    slow: LongCalls,
}

impl LatencyClass {
    /// Of a function that never ran: it is handed over the first time.
    pub const fn unknown() -> Self {
        Self { not_quick: LongCalls::new(LongCalls::UNKNOWN), slow: LongCalls::new(0) }
    }

    /// Whether it is quick lately.
    pub fn is_quick(&self) -> bool {
        !self.not_quick.are_enough()
    }

    /// Whether others should not wait for it in one batch.
    pub fn is_slow(&self) -> bool {
        self.slow.are_enough()
    }

    /// Takes in how long a call took.
    pub fn record(&self, elapsed: Duration) {
        self.not_quick.record(elapsed > QUICK, elapsed > CERTAIN);
        self.slow.record(elapsed > SLOW, elapsed > CERTAIN);
    }
}

impl Default for LatencyClass {
    fn default() -> Self {
        Self::unknown()
    }
}

/// Long calls of late: each counts for as many calls as [`LongCalls::ONE`]; two of them within that many are enough.
#[derive(Debug)]
struct LongCalls(AtomicU32);

impl LongCalls {
    const ONE: u32 = 32;
    /// The fewest that are enough.
    const OUT: u32 = Self::ONE + 1;
    /// A function that was always slow is believed to be quick after this many quick calls less one long one.
    const MAX: u32 = 4 * Self::ONE;
    /// No call yet: taken for long ones.
    const UNKNOWN: u32 = u32::MAX;

    const fn new(count: u32) -> Self {
        Self(AtomicU32::new(count))
    }

    fn are_enough(&self) -> bool {
        self.0.load(Relaxed) >= Self::OUT
    }

    /// Two calls at once may lose one of them, which the next makes good.
    fn record(&self, long: bool, certain: bool) {
        let count = match self.0.load(Relaxed) {
            0 if !long => return,
            Self::UNKNOWN => 0,
            count => count,
        };
        let next = match (long, certain) {
            (false, _) => count.saturating_sub(1),
            (true, false) => (count + Self::ONE).min(Self::MAX),
            (true, true) => (count + 2 * Self::ONE).min(Self::MAX),
        };
        self.0.store(next, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(20);

    fn quick() -> LatencyClass {
        let class = LatencyClass::unknown();
        assert!(!class.is_quick());
        class.record(SHORT);
        assert!(class.is_quick());
        class
    }

    #[test]
    fn a_call_that_waited_for_a_core_changes_nothing() {
        let class = quick();
        for _ in 0..10 {
            class.record(Duration::from_millis(8));
            assert!(class.is_quick() && !class.is_slow());
            (0..40).for_each(|_| class.record(SHORT));
        }
    }

    #[test]
    fn two_long_calls_of_a_few_are_believed_until_they_are_long_ago() {
        let class = quick();
        class.record(Duration::from_millis(8));
        class.record(SHORT);
        class.record(Duration::from_millis(8));
        assert!(!class.is_quick() && class.is_slow());
        let calls = (1..).find(|_| {
            class.record(SHORT);
            class.is_quick()
        });
        assert!((10..100).contains(&calls.unwrap()));
        assert!(!class.is_slow());
    }

    #[test]
    fn a_call_that_is_longer_than_any_wait_is_believed_at_once() {
        let class = quick();
        class.record(Duration::from_millis(50));
        assert!(!class.is_quick() && class.is_slow());
    }
}
