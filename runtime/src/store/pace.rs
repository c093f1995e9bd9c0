//! How long a function took lately: whether a read of it is worth another thread.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Below this a query runs on the task that called it: handing a read of 5 µs to another thread costs more than it.
const QUICK: Duration = Duration::from_micros(200);

/// Above this a mutation begins a batch of its own: those before it are answered first.
const SLOW: Duration = Duration::from_millis(5);

/// The recent maximum of a function's duration, in microseconds; it falls by a thirty-second part a call.
#[derive(Debug)]
pub struct FunctionPace(AtomicU32);

impl FunctionPace {
    /// Of a function that never ran: it is handed over the first time.
    pub const fn unknown() -> Self {
        Self(AtomicU32::new(u32::MAX))
    }

    /// Whether it was quick lately.
    pub fn is_quick(&self) -> bool {
        self.0.load(Relaxed) < QUICK.as_micros() as u32
    }

    /// Whether others should not wait for it in one batch.
    pub fn is_slow(&self) -> bool {
        let recent = self.0.load(Relaxed);
        recent != u32::MAX && recent > SLOW.as_micros() as u32
    }

    /// Takes in how long a call took. Two at once may lose one of them, which the next makes good.
    pub fn record(&self, took: Duration) {
        let took = u32::try_from(took.as_micros()).unwrap_or(u32::MAX - 1).min(u32::MAX - 1);
        let recent = match self.0.load(Relaxed) {
            u32::MAX => 0,
            recent => recent - recent.div_ceil(32),
        };
        self.0.store(took.max(recent), Relaxed);
    }
}

impl Default for FunctionPace {
    fn default() -> Self {
        Self::unknown()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_quick_once_its_slow_call_is_long_ago() {
        let pace = FunctionPace::unknown();
        assert!(!pace.is_quick());
        pace.record(Duration::from_micros(20));
        assert!(pace.is_quick());
        pace.record(Duration::from_millis(5));
        assert!(!pace.is_quick());
        let calls = (1..).find(|_| {
            pace.record(Duration::from_micros(20));
            pace.is_quick()
        });
        assert!((50..200).contains(&calls.unwrap()));
    }
}
