//! What an installation decides, described once.
//!
//! `section` is how an application declares settings of its own; `describe` puts all settings of the program into one
//! tree, from the command line's flags, the types that are read and the limits; `example` writes that tree as a
//! `convoke.toml`, `check` holds a file against it, `force` says what is in force and why. Reading the settings is `config`'s.

pub mod check;
pub mod describe;
pub mod example;
pub mod force;
mod section;

pub use section::{Section, SubmittedSection, submitted};
