//! Makes engines: for the folder of a server, and for one whose server is stopped.

use std::path::Path;
use std::sync::Arc;

use super::engine::SqliteEngine;
use super::file::names::{DATABASE, SCRATCH, former_name, log_of};
use super::file::{DataDir, DataDirInstallation, swap};
use super::settings::Sqlite;
use convoke_core::clock::Clock;
use convoke_store::{Engine, EngineFactory, EngineStart, Files, Installation, OpenError};

impl EngineFactory for Sqlite {
    fn open(&self, start: EngineStart<'_>) -> Result<Box<dyn Engine>, OpenError> {
        Ok(Box::new(SqliteEngine::open(self, start)?))
    }

    fn lock(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
        Ok(Box::new(DataDirInstallation::lock(data, clock)?))
    }

    fn look(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
        Ok(Box::new(DataDirInstallation::look(data, clock)?))
    }

    fn files(&self, data: &Path) -> Files {
        let database = data.join(DATABASE);
        let log = log_of(&database);
        let mut former: Vec<_> = std::fs::read_dir(data)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&former_name("")))
            .map(|entry| entry.path())
            .collect();
        former.sort_unstable();
        Files {
            database: vec![database, log.clone()],
            log: Some(log),
            others: vec![DataDir::lock_file(data)],
            scratch: Some(data.join(SCRATCH)),
            former,
            is_half_replaced: swap::is_half_done(data),
        }
    }
}
