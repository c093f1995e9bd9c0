//! Stopping the watch threads.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Stops the watch threads of a store.
#[derive(Clone, Default)]
pub(crate) struct Switch(Arc<(Mutex<bool>, Condvar)>);

impl Switch {
    /// Stops them.
    pub(crate) fn off(&self) {
        *self.0.0.lock() = true;
        self.0.1.notify_all();
    }

    /// Waits for the stop, at most for `patience`. Returns true if it came.
    pub(crate) fn off_within(&self, patience: Duration) -> bool {
        let mut off = self.0.0.lock();
        if !*off {
            self.0.1.wait_for(&mut off, patience);
        }
        *off
    }
}
