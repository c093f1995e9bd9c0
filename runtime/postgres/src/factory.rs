//! Creates engines: for a node, and for an installation whose nodes are stopped.

use std::path::Path;
use std::sync::Arc;

use super::engine::PgEngine;
use super::installation::{self, PgInstallation};
use super::settings::{BACKED_UP_BY, Postgres};
use convoke_core::clock::Clock;
use convoke_store::{Engine, EngineFactory, EngineStart, Files, Installation, OpenError};

impl EngineFactory for Postgres {
    fn open(&self, start: EngineStart<'_>) -> Result<Box<dyn Engine>, OpenError> {
        Ok(Box::new(PgEngine::open(self, start)?))
    }

    fn lock(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
        Ok(Box::new(PgInstallation::lock(&self.server, data, clock)?))
    }

    fn look(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
        self.lock(data, clock)
    }

    fn empty(&self) -> Result<(), OpenError> {
        installation::empty(&self.server)
    }

    fn files(&self, _: &Path) -> Files {
        Files::default()
    }

    fn backed_up_by(&self) -> Option<&'static str> {
        Some(BACKED_UP_BY)
    }
}
