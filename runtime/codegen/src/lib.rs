//! Typed clients, generated from the registry.
//!
//! `model` describes the functions for clients of all languages, and is read once from their schemas. Each language has
//! a printer of the model and a hand-written client that contains no function names. The output depends only on the
//! functions: the same program prints the same file.

pub mod model;
mod prose;
mod reading;
pub mod rust;
pub mod typescript;
