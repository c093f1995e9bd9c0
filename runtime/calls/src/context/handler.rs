//! Calls of functions: by type, and with erased types by a function pointer that reads the arguments and returns
//! prepared work.

use std::future::Future;
use std::pin::Pin;

use super::action::ActionCtx;
use super::mutation::MutationCtx;
use super::query::QueryCtx;
use super::shared::{Context as _, NestedCall, Read as _};
use crate::codec::decode::{self, Body};
use crate::function::{Function, FunctionDef, IsAction, IsMutation, IsQuery, Output};
use crate::registry::{PerFunction, Registered, Registry};
use crate::trace::{Failure, SpanKind};
use convoke_core::answer::pieces::Pieces;
use convoke_core::answer::writer::Writer;
use convoke_core::error::{Error, Result};

/// A function with `#[query]`.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a query")]
pub trait QueryFn: Function<Kind = IsQuery> {
    /// Calls it.
    fn invoke(ctx: &QueryCtx, args: Self::Args) -> Result<Self::Output>;
}

/// A function with `#[mutation]`.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a mutation")]
pub trait MutationFn: Function<Kind = IsMutation> {
    /// Calls it.
    fn invoke(ctx: &mut MutationCtx, args: Self::Args) -> Result<Self::Output>;
}

/// A function with `#[action]`.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an action")]
pub trait ActionFn: Function<Kind = IsAction> {
    /// Calls it.
    fn invoke(ctx: ActionCtx, args: Self::Args) -> impl Future<Output = Result<Self::Output>> + Send;
}

impl QueryCtx {
    /// Calls another query in the same snapshot.
    ///
    /// # Errors
    /// Those of the function; `INTERNAL` beyond a depth of 64 such calls.
    pub fn run<F: QueryFn>(&self, args: impl Into<F::Args>) -> Result<F::Output> {
        let _nested = NestedCall::begin(self.call(), F::DEF)?;
        F::invoke(self, args.into())
    }
}

impl MutationCtx {
    /// Calls a query or another mutation in the same transaction. The writes of a mutation that fails are rolled back.
    ///
    /// # Errors
    /// Those of the function; `INTERNAL` beyond a depth of 64 such calls.
    pub fn run<F: Function>(&mut self, args: impl Into<F::Args>) -> Result<F::Output>
    where
        F::Kind: RunInMutation<F>,
    {
        let _nested = NestedCall::begin(self.call(), F::DEF)?;
        let services = &self.call().services;
        services.count_nested(F::DEF);
        let span = self.span.child_with(SpanKind::Internal, || services.path_of(F::DEF).into());
        let outer = std::mem::replace(&mut self.span, span);
        let result = <F::Kind as RunInMutation<F>>::run(self, args.into());
        std::mem::replace(&mut self.span, outer).end(result.as_ref().err().and_then(Failure::of));
        result
    }
}

/// The kinds that a mutation can call.
#[diagnostic::on_unimplemented(
    message = "a mutation cannot call an action: it would have to wait inside its transaction",
    note = "schedule it: `ctx.schedule::<the_action>(…)` starts it after the commit of the mutation"
)]
pub trait RunInMutation<F: Function> {
    /// Calls it.
    fn run(ctx: &mut MutationCtx, args: F::Args) -> Result<F::Output>;
}

impl<F: QueryFn> RunInMutation<F> for IsQuery {
    fn run(ctx: &mut MutationCtx, args: F::Args) -> Result<F::Output> {
        F::invoke(&QueryCtx::new(ctx.call().clone(), ctx.db().clone()), args)
    }
}

impl<F: MutationFn> RunInMutation<F> for IsMutation {
    fn run(ctx: &mut MutationCtx, args: F::Args) -> Result<F::Output> {
        ctx.attempt(|ctx| F::invoke(ctx, args))
    }
}

/// A function behind JSON: reads the arguments of a call. Made by [`query_handler`], [`mutation_handler`] and
/// [`action_handler`].
#[derive(Clone, Copy)]
pub struct Handler(fn(Body<'_>) -> Result<Prepared>);

impl Handler {
    pub(crate) const fn new(prepare: fn(Body<'_>) -> Result<Prepared>) -> Self {
        Self(prepare)
    }
}

/// The handler of a function, submitted by an attribute and collected at start.
pub struct SubmittedHandler {
    /// Function.
    pub def: &'static FunctionDef,
    /// Handler of its calls.
    pub handler: Handler,
}
inventory::collect!(SubmittedHandler);

pub(crate) struct Handlers(PerFunction<Handler>);

impl Handlers {
    /// Collects the handlers of the registered functions.
    pub(crate) fn collect(registry: &Registry) -> Self {
        let mut handlers = registry.per_function(|_| Handler(|_| Err(Error::internal("a function without a handler"))));
        for submitted in inventory::iter::<SubmittedHandler>() {
            if let Some(function) = registry.of_def(submitted.def) {
                handlers[function] = submitted.handler;
            }
        }
        Self(handlers)
    }

    /// Reads the arguments of a call.
    ///
    /// # Errors
    /// The arguments do not fit.
    pub(crate) fn prepare(&self, function: &Registered, body: Body<'_>) -> Result<Prepared> {
        (self.0[function].0)(body)
    }
}

/// A call with decoded arguments.
pub(crate) enum Prepared {
    Query(Box<dyn PreparedQuery>),
    Mutation(Box<dyn PreparedMutation>),
    Action(Box<dyn PreparedAction>),
}

pub(crate) trait PreparedQuery: Send {
    /// Runs it, possibly not for the first time, and writes its result as JSON.
    fn run(&self, ctx: &QueryCtx, out: &mut Writer) -> Result<()>;
}

pub(crate) trait PreparedMutation: Send {
    /// Runs it, possibly not for the first time, and writes its result as JSON.
    fn run(&self, ctx: &mut MutationCtx, out: &mut Writer) -> Result<()>;
}

pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Pieces>> + Send>>;

pub(crate) trait PreparedAction: Send {
    /// Starts it. The future returns its result as JSON, written to `out`.
    fn run(self: Box<Self>, ctx: ActionCtx, out: Writer) -> Running;
}

/// Erases a query's types. Called in the constant that `#[query]` emits.
pub const fn query_handler<F: QueryFn>() -> Handler {
    struct Call<F: QueryFn>(F::Args);
    impl<F: QueryFn> PreparedQuery for Call<F> {
        fn run(&self, ctx: &QueryCtx, out: &mut Writer) -> Result<()> {
            write(&F::invoke(ctx, self.0.clone())?, out)
        }
    }
    Handler(|body| Ok(Prepared::Query(Box::new(Call::<F>(decode::args(body)?)))))
}

/// Erases a mutation's types. Called in the constant that `#[mutation]` emits.
pub const fn mutation_handler<F: MutationFn>() -> Handler {
    struct Call<F: MutationFn>(F::Args);
    impl<F: MutationFn> PreparedMutation for Call<F> {
        fn run(&self, ctx: &mut MutationCtx, out: &mut Writer) -> Result<()> {
            write(&F::invoke(ctx, self.0.clone())?, out)
        }
    }
    Handler(|body| Ok(Prepared::Mutation(Box::new(Call::<F>(decode::args(body)?)))))
}

/// Erases an action's types. Called in the constant that `#[action]` emits.
pub const fn action_handler<F: ActionFn>() -> Handler {
    struct Call<F: ActionFn>(F::Args);
    impl<F: ActionFn> PreparedAction for Call<F> {
        fn run(self: Box<Self>, ctx: ActionCtx, mut out: Writer) -> Running {
            Box::pin(async move {
                write(&F::invoke(ctx, self.0).await?, &mut out)?;
                out.finish()
            })
        }
    }
    Handler(|body| Ok(Prepared::Action(Box::new(Call::<F>(decode::args(body)?)))))
}

fn write<T: Output>(value: &T, out: &mut Writer) -> Result<()> {
    value.write_json(out).map_err(|error| out.failure().unwrap_or_else(|| Error::internal(error)))
}
