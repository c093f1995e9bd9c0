//! Typed clients, written from the registry.
//!
//! `model` is what a client needs to know of the functions, read from their schemas once for all languages; each
//! language is a printer of it beside a hand-written client that holds no function's name. What is printed depends on
//! the functions alone: the same program prints the same file.

pub mod model;
mod prose;
mod reading;
pub mod rust;
pub mod typescript;
