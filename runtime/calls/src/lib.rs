//! Functions and their calls.
//!
//! The crate defines and registers functions and their contexts. It decodes, identifies, runs and observes calls, and
//! runs scheduled work. It does not depend on a transport: a listener passes requests to it and receives responses. Each
//! module uses only the modules before it:

// The attributes emit absolute paths (`::convoke::…`); the runtime's own tables and functions use them too.
extern crate self as convoke;

#[doc(hidden)]
pub mod __private;
mod shards;
mod inputs;
mod lease;
mod held_leases;
mod shared_leases;
pub mod leases;
pub mod turns;
mod batches;
pub mod trace;
pub mod outbound;
pub mod telemetry;
pub mod signatures;
pub mod about;
pub mod route;
pub mod codec;
pub mod function;
mod path;
pub mod workflow_declaration;
mod declarations;
mod route_table;
pub mod registry;
pub mod logs;
mod buckets;
mod shared_buckets;
pub mod rate;
pub mod observe;
pub mod performance;
pub mod totals;
pub mod call_log;
pub mod recent_calls;
pub mod rejections;
mod public_url;
pub mod files;
pub mod services;
pub mod log_streams;
pub mod transfers;
pub mod context;
pub mod execute;
pub mod route_call;
pub mod migration;
pub mod cache;
pub mod call;
pub mod live;
pub mod rows;
pub mod workflow;
pub mod scheduler;
#[cfg(feature = "outbound")]
pub mod webhooks;
pub mod workflows;
pub mod runtime;
pub mod log_sink;
pub mod gauges;
pub mod retention;
pub mod background;

pub use background::Background;
pub use context::{ActionCtx, Context, MutationCtx, QueryCtx, Read};
pub use function::NoArgs;
pub use migration::{Batch, Migrated};
pub use route::{Response, RouteRequest, Unverified};
pub use route_call::{Form, FromRequest, Headers, Json, Path, Query};
pub use runtime::{Runtime, RuntimeOptions, StartError};
pub use scheduler::{Job, When};
pub use workflow::{Run, WorkflowCtx};
