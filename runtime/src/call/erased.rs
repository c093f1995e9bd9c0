//! A function with its types erased: one pointer that reads arguments and returns something that can be run.

use std::future::Future;
use std::pin::Pin;

use super::decode::{self, Body};
use crate::context::{ActionCtx, MutationCtx, QueryCtx};
use crate::error::{Error, Result};
use crate::function::{ActionFn, MutationFn, Output, QueryFn};

/// Reads a call's arguments.
pub(crate) type Erased = fn(Body<'_>) -> Result<Prepared>;

/// A call whose arguments were read.
pub(crate) enum Prepared {
    Query(Box<dyn PreparedQuery>),
    Mutation(Box<dyn PreparedMutation>),
    Action(Box<dyn PreparedAction>),
}

pub(crate) trait PreparedQuery: Send {
    /// Runs it and writes its result as JSON.
    fn run(self: Box<Self>, ctx: &QueryCtx, out: &mut Vec<u8>) -> Result<()>;
}

pub(crate) trait PreparedMutation: Send {
    /// Runs it, possibly not for the first time, and writes its result as JSON.
    fn run(&self, ctx: &mut MutationCtx, out: &mut Vec<u8>) -> Result<()>;
}

pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Vec<u8>>> + Send>>;

pub(crate) trait PreparedAction: Send {
    /// Starts it; the future ends in its result as JSON.
    fn run(self: Box<Self>, ctx: ActionCtx) -> Running;
}

pub(crate) const fn query<F: QueryFn>() -> Erased {
    struct Call<F: QueryFn>(F::Args);
    impl<F: QueryFn> PreparedQuery for Call<F> {
        fn run(self: Box<Self>, ctx: &QueryCtx, out: &mut Vec<u8>) -> Result<()> {
            write(&F::invoke(ctx, self.0)?, out)
        }
    }
    |body| Ok(Prepared::Query(Box::new(Call::<F>(decode::args(body)?))))
}

pub(crate) const fn mutation<F: MutationFn>() -> Erased {
    struct Call<F: MutationFn>(F::Args);
    impl<F: MutationFn> PreparedMutation for Call<F> {
        fn run(&self, ctx: &mut MutationCtx, out: &mut Vec<u8>) -> Result<()> {
            write(&F::invoke(ctx, self.0.clone())?, out)
        }
    }
    |body| Ok(Prepared::Mutation(Box::new(Call::<F>(decode::args(body)?))))
}

pub(crate) const fn action<F: ActionFn>() -> Erased {
    struct Call<F: ActionFn>(F::Args);
    impl<F: ActionFn> PreparedAction for Call<F> {
        fn run(self: Box<Self>, ctx: ActionCtx) -> Running {
            Box::pin(async move {
                let mut out = Vec::new();
                write(&F::invoke(ctx, self.0).await?, &mut out)?;
                Ok(out)
            })
        }
    }
    |body| Ok(Prepared::Action(Box::new(Call::<F>(decode::args(body)?))))
}

fn write<T: Output>(value: &T, out: &mut Vec<u8>) -> Result<()> {
    value.write_json(out).map_err(Error::internal)
}
