//! The settings of an installation.
//!
//! `sources` defines the flags and the file. `describe` builds one tree of all settings, from flags, file, the
//! application's sections and the limits. `example` writes the tree as a `convoke.toml`, and `check` checks a file
//! against it. `effective` computes the effective values and their sources, and `in_force` adds descriptions. `log_filter`
//! checks one setting. `config` merges the sources.

pub mod check;
pub mod describe;
pub mod example;
pub mod effective;
pub mod in_force;
pub mod log_filter;
pub mod sources;

pub use convoke_core::sections::{Section, SubmittedSection};
