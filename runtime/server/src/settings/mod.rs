//! What an installation decides, described once.
//!
//! `sources` are the command line's flags and the file. `describe` puts all settings of the program into one tree, from
//! those two, the application's sections and the limits; `example` writes that tree as a `convoke.toml`, `check` holds a
//! file against it, `effective` says what is in force and why, `in_force` adds the meaning of each. Laying the sources
//! over each other is `config`'s.

pub mod check;
pub mod describe;
pub mod example;
pub mod effective;
pub mod in_force;
pub mod sources;

pub use convoke_core::section::{Section, SubmittedSection};
