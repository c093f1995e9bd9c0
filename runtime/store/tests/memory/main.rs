//! A second engine, which shows that the engine interface is sufficient. Its rows are in ordered maps with shared
//! structure: a snapshot is a cheap copy, and a commit replaces one copy by another. It passes the conformance suite.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod database;
mod engine;
mod installation;
mod schema;
mod transaction;

use std::sync::Arc;

use convoke_store::conformance::support::Factory;

convoke_store::conformance_tests!(crate::memory());

/// Creates engines whose databases live as long as this factory.
fn memory() -> Factory {
    Arc::new(engine::Memory::default())
}
