//! The engine on PostgreSQL, against a real server: it passes the suite of every engine, and what is its own holds too.
//!
//! `e2e/postgres.sh` starts a server and names it in `CONVOKE_TEST_POSTGRES`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

// The attributes speak of `convoke`.
extern crate convoke_store as convoke;

mod faults;
mod indexes;
mod nodes;
mod shared;
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
    let url = std::env::var("CONVOKE_TEST_POSTGRES").expect("e2e/postgres.sh names a server");
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

/// The schema of the database that belongs to a folder. Its name has a capital, so that everybody has to quote it.
fn schema_of(folder: &Path) -> String {
    let digest = BuildHasherDefault::<DefaultHasher>::new().hash_one(folder);
    format!("T{digest:016x}")
}

/// The same as SQL names it.
fn quoted_schema_of(folder: &Path) -> String {
    format!("\"{}\"", schema_of(folder))
}

/// Waits until `is_so`, for as long as a busy machine may take.
fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..12_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("not within a minute: {what}");
}

/// Engines whose databases lie in a schema for each folder.
fn postgres() -> Factory {
    Arc::new(ByFolder(server()))
}

#[derive(Debug)]
struct ByFolder(Postgres);

impl ByFolder {
    fn of(&self, folder: &Path) -> Postgres {
        self.0.in_schema(&schema_of(folder))
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
