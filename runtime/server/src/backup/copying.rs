//! The lock for copies of the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::archive::space;
use convoke_calls::runtime::Runtime;
use convoke_core::error::{Error, Result};

/// A lock for copying the database. It allows one copy at a time, because each copy loads the writer and the disk.
pub(crate) struct Copying(Arc<Taken>);

#[derive(Default)]
struct Taken(AtomicBool);

impl Copying {
    /// Returns true while a copy is being made.
    pub(crate) fn is_taken(runtime: &Runtime) -> bool {
        runtime.memory::<Taken>().0.load(Ordering::Acquire)
    }

    /// Takes the lock and checks the free space for a copy.
    ///
    /// # Errors
    /// `CONFLICT`: another copy is being made. `FAILED_PRECONDITION`: not enough disk space.
    pub(crate) fn begin(runtime: &Runtime) -> Result<Self> {
        let taken = runtime.memory::<Taken>();
        if taken.0.swap(true, Ordering::AcqRel) {
            return Err(Error::conflict("Another copy of the database is being made; retry when it is complete"));
        }
        let copying = Self(taken);
        let store = runtime.store();
        space::require(store.folder(), store.files().bytes()).map_err(Error::failed_precondition)?;
        Ok(copying)
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Release);
    }
}
