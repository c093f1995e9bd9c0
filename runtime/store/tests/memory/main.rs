//! A second engine, to show that the seam is one: rows in ordered maps that share what they have in common, so that a
//! snapshot is a copy that costs nothing, and a commit is one such copy in the place of another. It passes the suite of
//! every engine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod database;
mod engine;
mod installation;
mod schema;
mod transaction;

use std::sync::Arc;

use convoke_store::conformance::support::Factory;

convoke_store::conformance_tests!(crate::memory());

/// Engines whose databases live as long as this factory does.
fn memory() -> Factory {
    Arc::new(engine::Memory::default())
}
