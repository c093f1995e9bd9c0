//! The PostgreSQL engine: any number of nodes on one database.
//!
//! This is the only crate that uses PostgreSQL; other crates use [`Postgres`], the engine factory. In reading order:
//! errors of the server, its address, connections and their limits, the SQL of a plan, values, transactions, the
//! engine's own tables, shared state of nodes (`nodes/`), and the threads that run them.

mod aside;
mod checks;
mod counters;
mod engine;
mod factory;
mod failure;
mod folder;
mod indexes;
mod installation;
mod line;
mod nodes;
mod own;
mod pauses;
mod primary;
mod schema;
mod server;
mod session;
mod sessions;
mod settings;
mod snapshot;
mod sql;
mod transaction;
mod value;
mod writer;

pub use server::AddressError;
pub use settings::Postgres;
