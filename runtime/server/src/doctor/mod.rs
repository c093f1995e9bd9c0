//! What is right and wrong with an installation, and what to do about it.
//!
//! Each look gives findings: of the machine and the settings from outside (`machine`), of the database from within
//! (`database`), by the server if one runs. Nothing is changed by looking.

pub mod database;
pub mod finding;
pub mod machine;
