//! The SQLite engine: one writer thread, a pool of readers, one file.
//!
//! This is the only crate that uses SQLite; other crates use [`Sqlite`], the engine factory. In reading order: the
//! settings, the SQL of a plan (`sql/`), rows in memory (`cache/`), connections and their limits (`connection/`),
//! transactions, the files of a data folder (`file/`), the changed pages for copies (`page_feed/`), the
//! pages of a followed database (`page_sink`), and the threads that
//! run them.

mod answer;
mod cache;
mod connection;
mod counters;
mod engine;
mod factory;
mod failure;
mod file;
mod queue;
mod page_feed;
mod page_sink;
mod read;
mod settings;
mod sql;
mod switch;
mod threads;
mod transaction;
mod watchdog;
mod writer;

pub use settings::{Sqlite, Synchronous};
