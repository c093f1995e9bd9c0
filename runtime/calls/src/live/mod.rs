//! Live queries: a client receives every new result until it ends the query.
//!
//! A commit lists its changes, and a run records its reads. If they overlap, the query runs again. `dependents` finds
//! the readers of a change, `query` runs a query once, `hub` knows which results are valid, and `connection` is a
//! transport's handle. `clients` is the operator's view, and `across` ends connections of other nodes.

mod across;
mod clients;
mod connection;
mod dependents;
mod envelope;
mod hub;
mod query;

pub use across::ConnectionName;
pub use clients::{LiveClient, WatchedQuery};
pub use connection::{LiveConnection, QueryResult, Update};
pub use envelope::AskedQuery;
pub use hub::{Bound, Hub, Owner, Stats};
