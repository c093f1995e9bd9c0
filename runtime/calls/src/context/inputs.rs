//! The inputs that a function used, which decide how long its result is valid.

use std::sync::atomic::{AtomicU8, Ordering};

/// Inputs of a function beside its arguments and the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inputs(u8);

impl Inputs {
    /// The caller.
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
#[derive(Debug, Default)]
pub(crate) struct UsedInputs(AtomicU8);

impl UsedInputs {
    /// Records the use of an input.
    pub(crate) fn record(&self, input: Inputs) {
        // Only one thread runs a function. An exclusive write would be too expensive for each call.
        let recorded = self.0.load(Ordering::Relaxed);
        if recorded | input.0 != recorded {
            self.0.store(recorded | input.0, Ordering::Relaxed);
        }
    }

    /// Returns all inputs that were used.
    pub(crate) fn used(&self) -> Inputs {
        Inputs(self.0.load(Ordering::Relaxed))
    }
}
