//! The engine on PostgreSQL, against a real server: it passes the suite of every engine, and what is its own holds too.
//!
//! `runtime/postgres/tests/postgres.sh` starts a server and names it in `CONVOKE_TEST_POSTGRES`.

#![cfg(feature = "server-tests")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

// The attributes speak of `convoke`.
extern crate convoke_store as convoke;

mod faults;
mod nodes;
mod tls;

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::path::Path;
use std::sync::Arc;

use convoke_core::clock::Clock;
use convoke_postgres::Postgres;
use convoke_store::conformance::support::Factory;
use convoke_store::{Engine, EngineFactory, EngineStart, Files, Installation, OpenError};

convoke_store::conformance_tests!(crate::postgres());

/// The server of the tests.
fn server() -> Postgres {
    let url = std::env::var("CONVOKE_TEST_POSTGRES").expect("runtime/postgres/tests/postgres.sh names a server");
    Postgres::at(&url, None).unwrap()
}

/// As [`postgres`], with an isolation that is too low.
fn lowered() -> Factory {
    Arc::new(ByFolder(server().with_snapshots_alone()))
}

/// As [`postgres`], with connections that the server knows by this name.
fn named(application: &str) -> Factory {
    let url = std::env::var("CONVOKE_TEST_POSTGRES").unwrap();
    Arc::new(ByFolder(Postgres::at(&format!("{url}?application_name={application}"), None).unwrap()))
}

/// Engines whose databases lie in a schema for each folder.
fn postgres() -> Factory {
    Arc::new(ByFolder(server()))
}

#[derive(Debug)]
struct ByFolder(Postgres);

impl ByFolder {
    fn of(&self, folder: &Path) -> Postgres {
        let digest = BuildHasherDefault::<DefaultHasher>::new().hash_one(folder);
        self.0.in_schema(&format!("t{digest:016x}"))
    }
}

impl EngineFactory for ByFolder {
    fn open(&self, start: EngineStart<'_>) -> Result<Box<dyn Engine>, OpenError> {
        self.of(start.data).open(start)
    }

    fn lock(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
        self.of(data).lock(data, clock)
    }

    fn look(&self, data: &Path, clock: Arc<dyn Clock>) -> Result<Box<dyn Installation>, OpenError> {
        self.of(data).look(data, clock)
    }

    fn files(&self, data: &Path) -> Files {
        self.of(data).files(data)
    }
}
