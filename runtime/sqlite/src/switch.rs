//! The end of the threads that watch.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Ends the watches of a store.
#[derive(Clone, Default)]
pub(crate) struct Switch(Arc<(Mutex<bool>, Condvar)>);

impl Switch {
    /// Ends them now.
    pub(crate) fn off(&self) {
        *self.0.0.lock() = true;
        self.0.1.notify_all();
    }

    /// Waits for the end, at most for `patience`; says whether it came.
    pub(crate) fn off_within(&self, patience: Duration) -> bool {
        let mut off = self.0.0.lock();
        if !*off {
            self.0.1.wait_for(&mut off, patience);
        }
        *off
    }
}
