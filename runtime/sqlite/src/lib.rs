//! The engine on SQLite: one writer thread, a pool of readers, one file.
//!
//! The only crate that names SQLite; outside of it there is [`Sqlite`], which makes engines. In reading order: the
//! settings, the SQL of a plan (`sql/`), rows in memory (`cache/`), a connection and what bounds it (`connection/`), a
//! transaction, the files of a data folder (`file/`), and then who runs them.

mod cache;
mod connection;
mod counters;
mod engine;
mod factory;
mod failure;
mod file;
mod queue;
mod read;
mod settings;
mod sql;
mod switch;
mod threads;
mod transaction;
mod watchdog;
mod writer;

pub use settings::{Sqlite, Synchronous};
