//! The store: what it keeps, what it refuses, and what survives.

mod basics;
mod crash;
mod dangers;
mod folder;
mod model;
mod schema;
pub mod support;
