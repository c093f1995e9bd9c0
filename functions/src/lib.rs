//! The functions of the application, in folders that mirror their paths.
//!
//! Files named for an algorithm (`generator`, `tokens`, `trend`, …) are plain modules: values in, values out, no
//! context and no database. The functions beside them read the rows, call these and write the rows.

//!
//! What all functions share stands first: who may what (`access`), the record of who did it (`audit`), what people see
//! of each other (`names`), and what is made use of (`portraits`).

pub mod access;
pub mod audit;
pub mod names;
pub mod portraits;
pub mod paging;

pub mod users;
pub mod profiles;
pub mod interests;
pub mod meetings;
pub mod notes;
pub mod transcripts;
pub mod insights;
pub mod prompts;
pub mod matching;
pub mod realtime;
pub mod monitoring;
pub mod system;
