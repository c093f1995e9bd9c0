//! Convoke: a function runtime.
//!
//! A developer writes a function, puts `#[query]`, `#[mutation]` or `#[action]` above it, and it can be called over
//! HTTP, in process from a test, on a schedule, and from other functions. This crate knows no table and no function of
//! any application.
//!
//! It is the door of the house: what an author needs of the crates behind it is found here, under one name. Behind it
//! stand, each knowing only those before it: `core` (errors, time, ids, values on the wire), `store` (tables, and the
//! seam to the engine under them), `sqlite` (the engine that is used by default), `postgres` (the one for many machines, where its feature is on), `http` (the listener), `calls` (functions and how they run), `server` (identities,
//! administration, descriptions, metrics), `codegen` (typed clients) and `cli`.

// The attributes emit absolute paths (`::convoke::…`), and so do the examples in this crate's documentation.
extern crate self as convoke;

#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod attributes;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "testing")]
pub mod testing;

#[doc(hidden)]
pub use convoke_calls::__private;
#[doc(inline)]
pub use convoke_calls::{
    background, cache, call, call_log, codec, context, execute, function, gauge, interface, leases, live, logs,
    migration, observe, outbound, performance, rate, recent_calls, registry, rejections, retention, runtime, scheduler,
    services, totals, turns,
};
#[cfg(feature = "cli")]
#[doc(inline)]
pub use convoke_codegen as codegen;
#[doc(inline)]
pub use convoke_core::{answer, clock, error, id, identity, limits, rate_class, section, wire};
#[cfg(feature = "server")]
#[doc(inline)]
pub use convoke_http as http;
#[cfg(feature = "postgres")]
#[doc(inline)]
pub use convoke_postgres as postgres;
#[cfg(feature = "server")]
#[doc(inline)]
pub use convoke_server::{
    admin, archive, auth, backup, config, console, doctor, gateway, metrics, openapi, opening, settings,
};
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use convoke_sqlite as sqlite;
// Not the crate under another name: rustc would say `convoke::convoke_store::…` to authors.
/// Tables, queries and the seam to the engines.
pub mod store {
    pub use convoke_store::*;
}

#[doc(inline)]
pub use attributes::{action, args, cron, mutation, query, table, value};

/// JSON values: what tests send, and what services outside answer.
pub use serde_json;

pub use convoke_calls::{
    ActionCtx, Background, Batch, Context, Job, Migrated, MutationCtx, NoArgs, QueryCtx, Read, Runtime, RuntimeOptions,
    StartError, When,
};
pub use convoke_core::{Caller, Clock, Code, Error, Id, Identity, Invalid, Millis, Result};
pub use convoke_store::{Cursor, Doc, Encoded, JsonObject, Order, Page, PaginationOpts, PaginationResult};

/// The engine that keeps databases unless another one is chosen.
#[cfg(feature = "sqlite")]
pub fn default_engine() -> std::sync::Arc<dyn store::EngineFactory> {
    std::sync::Arc::new(sqlite::Sqlite::default())
}

/// The engines that this program is built with: the embedded one, and those of its features.
#[cfg(feature = "sqlite")]
pub fn engines() -> store::Engines {
    let engines = store::Engines::embedded("sqlite", default_engine());
    #[cfg(feature = "postgres")]
    let engines = engines.with("postgres", at_postgres).with("postgresql", at_postgres);
    engines
}

#[cfg(feature = "postgres")]
fn at_postgres(
    address: &str,
    password: Option<&str>,
) -> std::result::Result<std::sync::Arc<dyn store::EngineFactory>, String> {
    match postgres::Postgres::at(address, password) {
        Ok(engine) => Ok(std::sync::Arc::new(engine)),
        Err(error) => Err(error.to_string()),
    }
}

/// What a file of functions brings into scope: `use convoke::prelude::*;`.
pub mod prelude {
    pub use crate::context::{ActionCtx, Context as _, MutationCtx, QueryCtx, Read, Read as _};
    pub use crate::error::{Code, Error, Result};
    pub use crate::{
        Batch, Cursor, Doc, Encoded, Id, Invalid, JsonObject, Migrated, Millis, NoArgs, Order, Page, PaginationOpts,
        PaginationResult, When,
    };
    pub use crate::{action, args, cron, mutation, query, table, value};
    pub use tracing::{debug, error, info, warn};
}
