//! The engine on PostgreSQL: any number of nodes on one database.
//!
//! The only crate that names PostgreSQL; outside of it there is [`Postgres`], which makes engines. In reading order: what
//! the server says when it fails, where it is, a connection and what bounds it, the SQL of a plan, values, a transaction,
//! the engine's own tables, what nodes share (`nodes/`), and then who runs what.

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
