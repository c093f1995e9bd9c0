//! Live queries: whose callers are told of every new result until they end it.
//!
//! A commit says what it changed, and a run what it read; where they meet, the run is made again. `dependents` finds who
//! has read what a commit changed, `query` runs a query once, `hub` knows whose results stand, and `connection` is what
//! a transport holds of all that. `clients` is what an operator sees of it, `across` what they do from another node.

mod across;
mod clients;
mod connection;
mod dependents;
mod envelope;
mod hub;
mod query;

pub use across::ConnectionName;
pub use clients::{LiveClient, WatchedQuery};
pub use connection::{LiveConnection, Told, Update};
pub use envelope::AskedQuery;
pub use hub::{Bound, Hub, Owner, Stats};
