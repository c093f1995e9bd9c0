//! Recent durations of a function, to decide if a read is worth another thread, and a mutation its own batch.
//!
//! Wall-clock time alone is misleading: on a busy machine, a fast function sometimes takes milliseconds because its
//! thread waits for a core, and moving its calls to other threads would increase the load. So a long call only starts a
//! measurement: for the next calls, the time spent waiting for a core is measured and subtracted.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use convoke_core::core_wait::CoreWait;

/// Queries below this run on the task of the caller. Moving a query to another thread costs about 20 µs of CPU time,
/// which is more than a short query takes and little for a long one. A long query on the task blocks other tasks of the
/// executor's thread.
const QUICK: Duration = Duration::from_micros(500);

/// Mutations above this start a new batch, so that earlier mutations complete first.
const SLOW: Duration = Duration::from_millis(5);

/// A single call above this is sufficient evidence.
const CERTAIN: Duration = Duration::from_millis(20);

/// Number of calls that are measured after a long call.
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
    /// Class of a function that never ran: its first call moves to another thread.
    pub const fn unknown() -> Self {
        Self { not_quick: LongCalls::new(LongCalls::UNKNOWN), slow: LongCalls::new(0), suspected: AtomicU32::new(0) }
    }

    /// Returns true if its recent calls were fast.
    pub fn is_quick(&self) -> bool {
        !self.not_quick.are_enough()
    }

    /// Returns true if other mutations should not share a batch with it.
    pub fn is_slow(&self) -> bool {
        self.slow.are_enough()
    }

    /// Starts to measure a call on its thread, if calls are to be measured.
    pub fn begin(&self) -> CoreWait {
        if !self.is_quick() || self.suspected.load(Relaxed) > 0 { CoreWait::begin() } else { CoreWait::unmeasured() }
    }

    /// Records the duration of a call, and the time in it spent waiting for a core, if that was measured.
    pub fn record(&self, elapsed: Duration, waited: Option<Duration>) {
        let worked = match waited {
            Some(waited) => elapsed.saturating_sub(waited),
            None if elapsed <= QUICK => elapsed,
            None => return self.suspected.store(SUSPECTED, Relaxed),
        };
        let suspected = self.suspected.load(Relaxed);
        if suspected > 0 {
            // Two concurrent calls may count as one.
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

/// Recent long calls. Each one counts for [`LongCalls::ONE`] calls; two long calls within that number are sufficient.
#[derive(Debug)]
struct LongCalls(AtomicU32);

impl LongCalls {
    const ONE: u32 = 32;
    /// Smallest sufficient value.
    const OUT: u32 = Self::ONE + 1;
    /// A function that was always slow counts as fast after this many fast calls minus one long call.
    const MAX: u32 = 4 * Self::ONE;
    /// No call yet: counts as slow.
    const UNKNOWN: u32 = u32::MAX;

    const fn new(count: u32) -> Self {
        Self(AtomicU32::new(count))
    }

    fn are_enough(&self) -> bool {
        self.0.load(Relaxed) >= Self::OUT
    }

    /// Two concurrent calls may lose one record; the next call makes up for it.
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

    /// Records a call of this duration without waiting time, measured if its class requests it.
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
    fn waiting_for_a_core_does_not_count() {
        let class = quick();
        for _ in 0..100 {
            let waited = class.begin().is_measured().then_some(LONG - SHORT);
            class.record(LONG, waited);
            assert!(class.is_quick() && !class.is_slow());
        }
    }

    #[test]
    fn fast_function_is_not_measured() {
        let class = quick();
        call(&class, SHORT);
        assert!(!class.begin().is_measured());
        call(&class, LONG);
        assert!(class.begin().is_measured());
        (0..SUSPECTED).for_each(|_| call(&class, SHORT));
        assert!(!class.begin().is_measured());
    }

    #[test]
    fn frequent_long_calls_make_a_function_slow_for_a_while() {
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
    fn very_long_measured_call_makes_a_function_slow() {
        let class = quick();
        call(&class, Duration::from_millis(50));
        call(&class, Duration::from_millis(50));
        assert!(!class.is_quick() && class.is_slow());
    }
}
