//! Convoke: a function runtime.
//!
//! A developer writes a function, puts `#[query]`, `#[mutation]` or `#[action]` above it, and it can be called over
//! HTTP, in process from a test, on a schedule, and from other functions. This crate knows no table and no function of
//! any application. Its modules, in reading order:

// The attributes emit absolute paths (`::convoke::…`); the runtime's own tables use them too.
extern crate self as convoke;

#[doc(hidden)]
pub mod __private;
mod attributes;
mod shards;
pub mod error;
pub mod wire;
pub mod clock;
pub mod id;
pub mod identity;
pub mod limits;
pub mod settings;
pub mod store;
pub mod function;
pub mod registry;
pub mod context;
pub mod rate;
pub mod logs;
pub mod journal;
pub mod refusals;
pub mod runtime;
pub mod call;
pub mod scheduler;
pub mod migration;
pub mod performance;
pub mod metrics;
pub mod outbound;
pub mod leases;
pub mod retention;
pub mod transfer;
pub mod doctor;
pub mod background;
pub mod auth;
pub mod admin;
pub mod http;
pub mod gateway;
pub mod openapi;
pub mod config;
pub mod codegen;
pub mod cli;
pub mod testing;

#[doc(inline)]
pub use attributes::{action, args, cron, mutation, query, table, value};

/// JSON values: what tests send, and what services outside answer.
pub use serde_json;

pub use background::Background;
pub use clock::{Clock, Millis};
pub use context::{ActionCtx, Context, MutationCtx, QueryCtx, Read};
pub use error::{Code, Error, Result};
pub use function::NoArgs;
pub use id::Id;
pub use identity::{Caller, Identity};
pub use migration::{Batch, Migrated};
pub use runtime::{Runtime, RuntimeOptions, StartError};
pub use scheduler::{Job, When};
pub use store::{Doc, Encoded, Order, Page};
pub use wire::Invalid;

/// What a file of functions brings into scope: `use convoke::prelude::*;`.
pub mod prelude {
    pub use crate::context::{ActionCtx, Context as _, MutationCtx, QueryCtx, Read, Read as _};
    pub use crate::error::{Code, Error, Result};
    pub use crate::{Doc, Encoded, Id, Invalid, Millis, NoArgs, Order, Page, When};
    pub use crate::{action, args, cron, mutation, query, table, value};
    pub use tracing::{debug, error, info, warn};
}
