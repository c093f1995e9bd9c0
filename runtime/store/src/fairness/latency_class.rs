//! How long a function takes lately: whether a read of it is worth another thread, a mutation a batch of its own.
//!
//! The time by the clock alone does not tell: on a busy machine a quick function now and then takes milliseconds because
//! its thread waited for a core, and handing its calls over would make the machine busier still. So a call that took long
//! only makes suspicious; of the next ones it is measured how long they waited for a core, which is no work of theirs.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use convoke_core::core_wait::CoreWait;

/// Below this a query runs on the task that called it. Handing it to another thread costs some 20 µs of CPU time, which is
/// more than a short one takes and little of a long one; the longer it runs here, the longer those wait that share the
/// executor's thread.
const QUICK: Duration = Duration::from_micros(500);

/// Above this a mutation begins a batch of its own: those before it are answered first.
const SLOW: Duration = Duration::from_millis(5);

/// One such call is enough.
const CERTAIN: Duration = Duration::from_millis(20);

/// Calls that are measured after one that took long.
const SUSPECTED: u32 = 32;

/// The latency class of one function.
#[derive(Debug)]
pub struct LatencyClass {
    not_quick: LongCalls,
    slow: LongCalls,
    /// Calls that are still to be measured.
    suspected: AtomicU32,
}

impl LatencyClass {
    /// Of a function that never ran: it is handed over the first time.
    pub const fn unknown() -> Self {
        Self { not_quick: LongCalls::new(LongCalls::UNKNOWN), slow: LongCalls::new(0), suspected: AtomicU32::new(0) }
    }

    /// Whether it is quick lately.
    pub fn is_quick(&self) -> bool {
        !self.not_quick.are_enough()
    }

    /// Whether others should not wait for it in one batch.
    pub fn is_slow(&self) -> bool {
        self.slow.are_enough()
    }

    /// Begins to measure a call on the thread that runs it, if it is to be measured.
    pub fn begin(&self) -> CoreWait {
        if !self.is_quick() || self.suspected.load(Relaxed) > 0 { CoreWait::begin() } else { CoreWait::unmeasured() }
    }

    /// Takes in how long a call took, of which it waited for a core so long, if that was measured.
    pub fn record(&self, elapsed: Duration, waited: Option<Duration>) {
        let worked = match waited {
            Some(waited) => elapsed.saturating_sub(waited),
            None if elapsed <= QUICK => elapsed,
            None => return self.suspected.store(SUSPECTED, Relaxed),
        };
        let suspected = self.suspected.load(Relaxed);
        if suspected > 0 {
            // Two calls at once may count as one.
            self.suspected.store(if worked > QUICK { SUSPECTED } else { suspected - 1 }, Relaxed);
        }
        self.not_quick.record(worked > QUICK, worked > CERTAIN);
        self.slow.record(worked > SLOW, worked > CERTAIN);
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
    const LONG: Duration = Duration::from_millis(8);

    /// A call that took so long without waiting for a core, measured if its class asks for it.
    fn call(class: &LatencyClass, elapsed: Duration) {
        let is_measured = class.begin().is_measured();
        class.record(elapsed, is_measured.then_some(Duration::ZERO));
    }

    fn quick() -> LatencyClass {
        let class = LatencyClass::unknown();
        assert!(!class.is_quick());
        call(&class, SHORT);
        assert!(class.is_quick());
        class
    }

    #[test]
    fn calls_that_waited_for_a_core_change_nothing() {
        let class = quick();
        for _ in 0..100 {
            let waited = class.begin().is_measured().then_some(LONG - SHORT);
            class.record(LONG, waited);
            assert!(class.is_quick() && !class.is_slow());
        }
    }

    #[test]
    fn a_quick_function_is_not_measured() {
        let class = quick();
        call(&class, SHORT);
        assert!(!class.begin().is_measured());
        call(&class, LONG);
        assert!(class.begin().is_measured());
        (0..SUSPECTED).for_each(|_| call(&class, SHORT));
        assert!(!class.begin().is_measured());
    }

    #[test]
    fn long_calls_of_a_few_are_believed_until_they_are_long_ago() {
        let class = quick();
        call(&class, LONG);
        for _ in 0..2 {
            call(&class, SHORT);
            call(&class, LONG);
        }
        assert!(!class.is_quick() && class.is_slow());
        let calls = (1..).find(|_| {
            call(&class, SHORT);
            class.is_quick()
        });
        assert!((10..100).contains(&calls.unwrap()));
        assert!(!class.is_slow());
    }

    #[test]
    fn a_call_that_is_much_too_long_is_believed_as_soon_as_it_is_measured() {
        let class = quick();
        call(&class, Duration::from_millis(50));
        call(&class, Duration::from_millis(50));
        assert!(!class.is_quick() && class.is_slow());
    }
}
