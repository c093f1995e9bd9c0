//! The OpenAPI document of a program's functions, and the pages that show it.
//!
//! The document is generated from the registry (paths, kinds, docs, types) and the application's description
//! ([`About`]). It describes the behaviour that `http`, `gateway` and `call` implement.

pub mod document;
pub mod llms;
pub mod pages;
mod common;
mod errors;
mod examples;
mod fit;
mod operation;
pub(crate) mod prose;
mod route;
pub(crate) mod schemas;
mod server;

pub use convoke_calls::about::{About, Tag};
pub use document::{Document, Options};
