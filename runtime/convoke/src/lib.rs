//! Convoke: a function runtime.
//!
//! A developer writes a function, puts `#[query]`, `#[mutation]` or `#[action]` above it, and it can be called over
//! HTTP, in process from a test, on a schedule, and from other functions. This crate knows no table and no function of
//! any application.
//!
//! It exports what a developer needs of the crates behind it: the [`prelude`] of a file with functions, and eight modules.
//!
//! | Module | Content |
//! |---|---|
//! | [`testing`] | functions in a test's process |
//! | [`store`] | tables, queries, and the interface of the engines |
//! | [`scheduler`] | jobs, crons, leases and turns |
//! | [`workflows`] | runs of workflows and their steps |
//! | [`outbound`] | external services of actions, and secrets |
//! | [`webhooks`] | events for the endpoints of other programs |
//! | [`route`](mod@crate::route) | requests and responses of HTTP routes |
//! | [`settings`] | sections of the settings file |
//! | [`embed`] | the runtime inside a program |

// The attributes emit absolute paths (`::convoke::…`), and so do the examples in this crate's documentation.
extern crate self as convoke;

#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod attributes;
pub mod embed;
#[cfg(feature = "testing")]
pub mod testing;

#[doc(hidden)]
pub use convoke_calls::__private;

// Not the crate under another name: rustc would say `convoke::convoke_store::…` to authors.
/// Tables, queries and the interface of the engines.
pub mod store {
    pub use convoke_store::*;
}

/// Work over time: jobs and crons, claims that expire unless renewed (leases), and work on one thing at a time (turns).
pub mod scheduler {
    pub use convoke_calls::leases::{Lease, LeaseLimits, LeaseOwner, LeaseRejection, LeaseValue, Leases};
    pub use convoke_calls::scheduler::{
        Cron, Ended, Finished, Job, JobError, JobKind, JobState, Jobs, Retry, Scheduled, Scheduler, Scheduling, Stats,
        When,
    };
    pub use convoke_calls::turns::{Turn, Turns};
    pub use convoke_core::queues::Queue;
}

/// Workflows: runs, the entries of their journal, and their steps.
pub mod workflows {
    pub use convoke_calls::rows::run::{Run, RunState, Step, StepKind, StepState, UndoState};
    pub use convoke_calls::workflow::definition::{Workflow, Workflows};
    pub use convoke_calls::workflow::runs::Runs;
    pub use convoke_calls::workflow::start::Started;
    pub use convoke_calls::workflow::steps::{
        Branch, CallStep, Callback, Either, Join, JoinAll, Select, Sleep, StartStep, Wait, WaitAtMost,
    };
    pub use convoke_calls::workflow_declaration::WorkflowDef;
}

/// External services of actions: the HTTP client, and secrets.
pub mod outbound {
    #[cfg(feature = "outbound")]
    pub use convoke_calls::outbound::{Http, HttpError, Reply, Request};
    pub use convoke_calls::outbound::{Secret, SecretError, StoreKey};
}

/// Webhooks that the server sends: endpoints, and deliveries of events.
#[cfg(feature = "outbound")]
pub mod webhooks {
    pub use convoke_calls::webhooks::{
        Delivery, DeliveryState, Endpoint, EndpointChange, EndpointState, EventRange, NewEndpoint, Webhooks,
        WebhooksMut,
    };
}

/// The types of HTTP routes, which [`route`](macro@crate::route) registers.
pub mod route {
    pub use bytes::Bytes;
    pub use convoke_calls::route::{Response, RouteRequest as Request, Unverified};
    pub use convoke_calls::route_call::{Form, FromRequest, Headers, Json, Path, Query};
}

/// Sections of the settings file, declared with [`section!`](macro@crate::section), and rate
/// classes, declared with [`rate_class!`](macro@crate::rate_class).
pub mod settings {
    pub use convoke_core::rate_classes::RateClass;
    pub use convoke_core::sections::Section;
}

#[doc(inline)]
pub use attributes::{action, args, cron, mutation, query, route, table, value, workflow};
#[doc(inline)]
pub use convoke_calls::{gauge, interface};
#[doc(inline)]
pub use convoke_core::{queue, rate_class, section};

/// JSON values of tests and of external services.
pub use serde_json;

pub use convoke_calls::context::FileInfo;
pub use convoke_calls::files::{Link, StorageId, Upload};
pub use convoke_calls::scheduler::{Ended, Finished, Retry};
pub use convoke_calls::transfers::FileReader;
pub use convoke_calls::{
    ActionCtx, Batch, Context, Job, Migrated, MutationCtx, NoArgs, QueryCtx, Read, Run, When, WorkflowCtx,
};
pub use convoke_core::durations::{days, hours, mins, secs};
pub use convoke_core::{Caller, Code, Error, Id, Identity, Invalid, Millis, Result};
pub use convoke_store::{Cursor, Doc, Encoded, File, JsonObject, Order, Page, PaginationOpts, PaginationResult};

/// The names of a file with functions: `use convoke::prelude::*;`.
pub mod prelude {
    pub use crate::route::{Bytes, Form, Headers, Json, Path, Query, Request, Response, Unverified};
    pub use crate::{ActionCtx, Context as _, MutationCtx, QueryCtx, Read, Read as _, WorkflowCtx};
    pub use crate::{
        Batch, Code, Cursor, Doc, Encoded, Ended, Error, Finished, Id, Invalid, JsonObject, Migrated, Millis, NoArgs,
        Order, Page, PaginationOpts, PaginationResult, Result, Retry, Run, When, days, hours, mins, secs,
    };
    pub use crate::{action, args, cron, mutation, query, route, table, value, workflow};
    pub use tracing::{debug, error, info, warn};
}
