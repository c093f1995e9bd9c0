//! The failure of the last build of a watched program, for a banner on the pages.

use std::sync::Arc;

use parking_lot::Mutex;

/// The failure of the last build. Cheap to clone; clones share one value.
#[derive(Clone, Debug, Default)]
pub struct BuildFailure(Arc<Mutex<Option<String>>>);

impl BuildFailure {
    /// Sets the text of the failure; `None` after a build that succeeded.
    pub fn set(&self, text: Option<String>) {
        *self.0.lock() = text;
    }

    /// Returns the text of the failure.
    pub fn get(&self) -> Option<String> {
        self.0.lock().clone()
    }
}
