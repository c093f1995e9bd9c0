//! The right to copy the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::archive::space;
use convoke_calls::runtime::Runtime;
use convoke_core::error::{Error, Result};

/// The right to copy the database: one copy at a time, since each takes its share of the writer and of the disk.
pub(crate) struct Copying(Arc<Taken>);

#[derive(Default)]
struct Taken(AtomicBool);

impl Copying {
    /// Whether a copy is being made now.
    pub(crate) fn is_taken(runtime: &Runtime) -> bool {
        runtime.memory::<Taken>().0.load(Ordering::Acquire)
    }

    /// Takes it, if there is room for a copy.
    ///
    /// # Errors
    /// `CONFLICT`, `FAILED_PRECONDITION`.
    pub(crate) fn begin(runtime: &Runtime) -> Result<Self> {
        let taken = runtime.memory::<Taken>();
        if taken.0.swap(true, Ordering::AcqRel) {
            return Err(Error::conflict("Another copy of the database is being made; try again when it is done"));
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
