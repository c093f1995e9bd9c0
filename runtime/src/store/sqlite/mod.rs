//! The engine on SQLite: one writer thread, a pool of readers, one file.
//!
//! Nothing of this folder is seen outside the store except through [`super::Store`]. In reading order: the folder and
//! its lock, a connection and what bounds it, the SQL of a plan, rows, a transaction, and then who runs them.

pub mod backup;
pub mod connection;
pub mod draft;
pub mod failure;
pub mod file;
pub mod folder;
pub mod guard;
pub mod queue;
pub mod readers;
pub mod row;
pub mod schema;
pub mod shape;
pub mod swap;
pub mod text;
pub mod transaction;
pub mod wal;
pub mod watchdog;
pub mod writer;
