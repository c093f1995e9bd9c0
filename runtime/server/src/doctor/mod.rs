//! Checks of an installation, with advice.
//!
//! Each check returns findings: on the machine and the settings (`machine`), on the database
//! (`database`), and on files (`files`). A
//! running server makes the checks of its database itself. Checks change nothing.

pub mod database;
pub mod files;
pub mod finding;
pub mod machine;
