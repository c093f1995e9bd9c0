//! The inputs that a function used, which decide how long its result is valid.

use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

use convoke_core::clock::Millis;

/// Inputs of a function beside its arguments and the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inputs(u8);

impl Inputs {
    pub(crate) const CALLER: Inputs = Inputs(1);
    /// Inputs whose changes no commit announces: the time, metrics, the request id.
    pub(crate) const UNANNOUNCED: Inputs = Inputs(2);
    /// State in memory.
    pub(crate) const MEMORY: Inputs = Inputs(4);

    /// Returns true if there is no such input.
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns true if `input` is among them.
    pub(crate) fn has(self, input: Inputs) -> bool {
        self.0 & input.0 != 0
    }
}

/// The inputs that were used so far.
#[derive(Debug)]
pub(crate) struct UsedInputs {
    used: AtomicU8,
    until: AtomicI64,
}

impl Default for UsedInputs {
    fn default() -> Self {
        Self { used: AtomicU8::new(0), until: AtomicI64::new(UsedInputs::UNLIMITED.0) }
    }
}

impl UsedInputs {
    /// The end of a result that does not change with time.
    pub(crate) const UNLIMITED: Millis = Millis(i64::MAX);

    pub(crate) fn record(&self, input: Inputs) {
        // Only one thread runs a function. An exclusive write would be too expensive for each call.
        let recorded = self.used.load(Ordering::Relaxed);
        if recorded | input.0 != recorded {
            self.used.store(recorded | input.0, Ordering::Relaxed);
        }
    }

    /// Records that the result is the same until this time, unless another input changes.
    pub(crate) fn record_until(&self, time: Millis) {
        if time < self.until() {
            self.until.store(time.0, Ordering::Relaxed);
        }
    }

    pub(crate) fn used(&self) -> Inputs {
        Inputs(self.used.load(Ordering::Relaxed))
    }

    /// Returns the time at which the result changes without another input; [`UsedInputs::UNLIMITED`] by default.
    pub(crate) fn until(&self) -> Millis {
        Millis(self.until.load(Ordering::Relaxed))
    }
}
