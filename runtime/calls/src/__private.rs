//! Names for the expansions of the attributes, so that a crate with functions depends on `convoke` alone.
//!
//! This module is not part of the public API, and nothing in it is stable.

pub use convoke_store::__private::*;

pub use crate::context::handler::{SubmittedHandler, action_handler, mutation_handler, query_handler};
pub use crate::context::{ActionCtx, ActionFn, MutationCtx, MutationFn, QueryCtx, QueryFn};
pub use crate::execute::on_snapshot;
pub use crate::function::{
    Args, Function, FunctionDef, IsAction, IsMutation, IsQuery, IsResult, Kind, NoArgs, Submitted, Visibility,
    args_schema, output_schema,
};
pub use crate::route::definition::{Once, Parameter, RouteDef, Verify};
pub use crate::route::overlap::overlaps;
pub use crate::route::request::RouteRequest;
pub use crate::route_call::extract::FromRequest;
pub use crate::route_call::handler::{
    ActionRoute, MutationRoute, QueryRoute, RouteFn, action_route, mutation_route, query_route, route_args_schema,
    route_output_schema,
};
pub use crate::workflow::WorkflowCtx;
pub use crate::workflow::definition::{SubmittedWorkflow, Workflow};
pub use crate::workflow_declaration::{DeclaredWorkflow, WorkflowDef};
