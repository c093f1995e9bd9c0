//! The calls of routes: the types that `#[route]` writes, and the handlers that erase them.

use std::future::Future;

use schemars::{Schema, SchemaGenerator};

use super::answer::RouteOutput;
use crate::codec::decode::Body;
use crate::context::handler::{Handler, Prepared, PreparedAction, PreparedMutation, PreparedQuery, Running};
use crate::context::{ActionCtx, MutationCtx, QueryCtx};
use crate::function::{FunctionDef, Kind, NoArgs};
use crate::route::definition::Source;
use crate::route::request::RouteRequest;
use convoke_core::answer::writer::Writer;
use convoke_core::error::{Error, Result};

/// A function with `#[route]`.
pub trait RouteFn: Send + Sync + 'static {
    /// The parameters after the context, as a tuple.
    type Extracted: Clone + Send + 'static;
    /// The result.
    type Answer: RouteOutput;
    /// Its registration.
    const DEF: &'static FunctionDef;

    /// Reads the parameters.
    fn extract(request: &RouteRequest) -> Result<Self::Extracted>;
}

/// A route that reads.
pub trait QueryRoute: RouteFn {
    /// Calls the function.
    fn invoke(ctx: &QueryCtx, extracted: Self::Extracted) -> Result<Self::Answer>;
}

/// A route that writes.
pub trait MutationRoute: RouteFn {
    /// Calls the function.
    fn invoke(ctx: &mut MutationCtx, extracted: Self::Extracted) -> Result<Self::Answer>;
}

/// A route that works outside the database.
pub trait ActionRoute: RouteFn {
    /// Calls the function.
    fn invoke(ctx: ActionCtx, extracted: Self::Extracted) -> impl Future<Output = Result<Self::Answer>> + Send;
}

/// A call of a route with its parameters.
struct Call<R: RouteFn> {
    request: RouteRequest,
    extracted: R::Extracted,
}

impl<R: RouteFn> Call<R> {
    fn of(body: Body<'_>) -> Result<Self> {
        let Body::Route(request) = body else { return Err(Error::internal("a route was called without a request")) };
        Ok(Self { request: request.clone(), extracted: R::extract(request)? })
    }
}

impl<R: QueryRoute> PreparedQuery for Call<R> {
    fn run(&self, ctx: &QueryCtx, out: &mut Writer) -> Result<()> {
        R::invoke(ctx, self.extracted.clone())?.write(&self.request, Kind::Query, out)
    }
}

impl<R: MutationRoute> PreparedMutation for Call<R> {
    fn run(&self, ctx: &mut MutationCtx, out: &mut Writer) -> Result<()> {
        R::invoke(ctx, self.extracted.clone())?.write(&self.request, Kind::Mutation, out)
    }
}

impl<R: ActionRoute> PreparedAction for Call<R> {
    fn run(self: Box<Self>, ctx: ActionCtx, mut out: Writer) -> Running {
        Box::pin(async move {
            let Self { request, extracted } = *self;
            R::invoke(ctx, extracted).await?.write(&request, Kind::Action, &mut out)?;
            out.finish()
        })
    }
}

/// Erases the types of a route that reads.
pub const fn query_route<R: QueryRoute>() -> Handler {
    Handler::new(|body| Ok(Prepared::Query(Box::new(Call::<R>::of(body)?))))
}

/// Erases the types of a route that writes.
pub const fn mutation_route<R: MutationRoute>() -> Handler {
    Handler::new(|body| Ok(Prepared::Mutation(Box::new(Call::<R>::of(body)?))))
}

/// Erases the types of a route that works outside the database.
pub const fn action_route<R: ActionRoute>() -> Handler {
    Handler::new(|body| Ok(Prepared::Action(Box::new(Call::<R>::of(body)?))))
}

/// Returns the schema of a route's JSON body, or of no arguments.
pub fn route_args_schema<R: RouteFn>(generator: &mut SchemaGenerator) -> Schema {
    let parameters = R::DEF.route.map_or(&[][..], |route| route.parameters);
    match parameters.iter().find(|parameter| matches!(parameter.source, Source::Json | Source::Form)) {
        Some(body) => (body.schema)(generator),
        None => generator.subschema_for::<NoArgs>(),
    }
}

/// Returns the schema of a route's result.
pub fn route_output_schema<R: RouteFn>(generator: &mut SchemaGenerator) -> Schema {
    R::Answer::schema(generator)
}
