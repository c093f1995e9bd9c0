//! The lock for copies of the database.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::schedule;
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

    /// Takes the lock and checks the free space for a copy in the data folder.
    ///
    /// # Errors
    /// `CONFLICT`: another copy is being made. `FAILED_PRECONDITION`: not enough disk space.
    pub(crate) fn begin(runtime: &Runtime) -> Result<Self> {
        Self::begin_in(runtime, runtime.store().folder())
    }

    /// Takes the lock and checks the free space for a backup.
    pub(crate) fn begin_backup(runtime: &Runtime) -> Result<Self> {
        // If the folder cannot be created, the backup reports it.
        let folder = schedule::folder(runtime).unwrap_or_else(|_| runtime.store().folder().to_owned());
        Self::begin_in(runtime, &folder)
    }

    fn begin_in(runtime: &Runtime, folder: &Path) -> Result<Self> {
        let taken = runtime.memory::<Taken>();
        if taken.0.swap(true, Ordering::AcqRel) {
            return Err(Error::conflict("Another copy of the database is being made; retry when it is complete"));
        }
        let copying = Self(taken);
        space::require(folder, runtime.store().files().bytes()).map_err(Error::failed_precondition)?;
        Ok(copying)
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Release);
    }
}
