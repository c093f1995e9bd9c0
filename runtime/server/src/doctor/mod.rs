//! Checks of an installation, with advice.
//!
//! Each check returns findings: on the machine and the settings (`machine`), and on the database (`database`). A
//! running server makes the checks of its database itself. Checks change nothing.

pub mod database;
pub mod finding;
pub mod machine;
