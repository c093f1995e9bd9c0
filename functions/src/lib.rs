//! The functions of the application, in folders that mirror their paths.
//!
//! Files named for an algorithm (`generator`, `tokens`, `trend`, …) are plain modules: values in, values out, no
//! context and no database. The functions beside them read the rows, call these and write the rows.

pub mod insights;
pub mod interests;
pub mod matching;
pub mod meetings;
pub mod monitoring;
pub mod notes;
pub mod prompts;
