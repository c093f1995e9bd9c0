//! The steps of a workflow, as futures over the replay of its journal.

use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::context::WorkflowCtx;
use super::definition::Workflow;
use super::replay::{Call, Entry, Replay, Undo, Work};
use crate::context::{ActionFn, MutationFn, QueryFn};
use crate::function::{Function, IsAction, IsMutation, IsQuery};
use crate::rows::outcome::JobError;
use crate::rows::retry::Retry;
use crate::rows::run::{Run, StepKind, StepState};
use convoke_core::clock::Millis;
use convoke_core::error::{Code, Error, Result};
use convoke_core::id::Id;

/// The kinds of functions that a step can call.
pub trait StepOfKind<F: Function> {
    #[doc(hidden)]
    const IS_ACTION: bool;
}
impl<F: QueryFn> StepOfKind<F> for IsQuery {
    const IS_ACTION: bool = false;
}
impl<F: MutationFn> StepOfKind<F> for IsMutation {
    const IS_ACTION: bool = false;
}
impl<F: ActionFn> StepOfKind<F> for IsAction {
    const IS_ACTION: bool = true;
}

/// A step, or several steps that `join` and `select` have combined.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a step of a workflow",
    note = "join and select take steps, such as `ctx.run::<f>(args)`, `ctx.sleep(time)` or `ctx.wait::<T>(name)`"
)]
pub trait Branch: Future<Output = Result<Self::Value>> + Unpin {
    /// The value of the step.
    type Value;

    /// Returns the order of its completion within the run.
    #[doc(hidden)]
    fn done(&self) -> Option<u32>;

    /// Gives it up.
    #[doc(hidden)]
    fn abandon(&self);
}

/// Returns the result of a recorded step, or waits for it.
fn poll_step<T>(
    ctx: &WorkflowCtx,
    position: u32,
    kind: StepKind,
    name: &str,
    work: impl FnOnce(Millis) -> Work,
    read: impl FnOnce(&Entry) -> Result<T, serde_json::Error>,
) -> Poll<Result<T>> {
    let mut replay = ctx.0.lock();
    let steps_max = replay.services.limits().workflow_steps_max;
    if position >= steps_max {
        let message = format!("A run has at most {steps_max} steps; start another run for the rest");
        return Poll::Ready(Err(Error::failed_precondition(message)));
    }
    if replay.is_received(position) {
        return Poll::Ready(Err(Error::internal("a step was polled after its end")));
    }
    let Some(entry) = replay.reach(position, kind, name, work) else { return Poll::Pending };
    let result = match entry.state {
        StepState::Pending | StepState::Abandoned => return Poll::Pending,
        StepState::Failed => Err(recorded_error(entry)),
        StepState::Done => match read(entry) {
            Ok(value) => Ok(value),
            Err(error) => return misread(&mut replay, position, &error),
        },
    };
    replay.receive(position);
    Poll::Ready(result)
}

fn misread<T>(replay: &mut Replay, position: u32, error: &serde_json::Error) -> Poll<Result<T>> {
    replay.mismatch.get_or_insert(format!("the recorded value of step {position} does not fit its type: {error}"));
    Poll::Pending
}

fn recorded_error(entry: &Entry) -> Error {
    let recorded: Option<JobError> = entry.error.as_deref().and_then(|error| serde_json::from_str(error).ok());
    let Some(JobError { code, message }) = recorded else { return Error::internal("a step failed without an error") };
    let code = Code::ALL.iter().find(|known| known.as_str() == code).copied().unwrap_or(Code::Internal);
    Error::new(code, message)
}

fn value<T: DeserializeOwned>(entry: &Entry) -> Result<T, serde_json::Error> {
    serde_json::from_str(entry.value.as_deref().unwrap_or("null"))
}

/// Implements [`Branch`] for a step of its own position.
macro_rules! branch {
    ([$($generics:tt)*] $type:ty => $value:ty) => {
        impl<$($generics)*> Branch for $type {
            type Value = $value;

            fn done(&self) -> Option<u32> {
                self.ctx.0.lock().done(self.position)
            }

            fn abandon(&self) {
                self.ctx.0.lock().abandon(self.position);
            }
        }
    };
}

/// A call of a function. See [`WorkflowCtx::run`].
#[must_use = "a step does nothing until it is awaited"]
pub struct CallStep<'ctx, F> {
    pub(super) ctx: &'ctx WorkflowCtx,
    pub(super) position: u32,
    pub(super) name: String,
    pub(super) call: Result<Call>,
    pub(super) function: PhantomData<fn() -> F>,
}

impl<F: Function> CallStep<'_, F> {
    /// Sets the retries: a number of attempts, or a [`Retry`]. Without it, a mutation has five attempts and an action
    /// one. Only `UNAVAILABLE`, `TIMEOUT`, `PROVIDER_ERROR` and `OVERLOADED` are retried; any other error is the result
    /// of the step. An interruption by a restart is always retried.
    pub fn retry(self, retry: impl Into<Retry>) -> Self {
        self.with(|call| call.retry = Some(retry.into()))
    }

    /// Runs the step in a queue, within the limits of the queue.
    pub fn on(self, queue: &str) -> Self {
        self.with(|call| call.queue = Some(queue.to_owned()))
    }

    /// Sets the key within the queue.
    pub fn key(self, key: impl Display) -> Self {
        self.with(|call| call.key = Some(key.to_string()))
    }

    /// Sets the compensation: if the run fails or is cancelled after this step has completed, the function is called.
    /// Compensations run in the reverse order of the steps.
    pub fn undo<G: Function>(self, args: impl Into<G::Args>) -> Self
    where
        G::Kind: StepOfKind<G>,
    {
        let path = self.ctx.path_of(G::DEF);
        let undo_args = serde_json::to_string(&args.into()).map_err(Error::internal);
        let is_action = <G::Kind as StepOfKind<G>>::IS_ACTION;
        let Self { ctx, position, name, call, function } = self;
        let call = call.and_then(|call| Ok(Call { undo: Some(Undo { path, args: undo_args?, is_action }), ..call }));
        Self { ctx, position, name, call, function }
    }

    fn with(mut self, change: impl FnOnce(&mut Call)) -> Self {
        if let Ok(call) = &mut self.call {
            change(call);
        }
        self
    }
}

impl<F: Function<Output: DeserializeOwned>> Future for CallStep<'_, F> {
    type Output = Result<F::Output>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { ctx, position, name, call, .. } = self.get_mut();
        match call {
            Ok(call) => poll_step(ctx, *position, StepKind::Run, name, |_| Work::Call(call.clone()), value),
            Err(error) => Poll::Ready(Err(Error::internal(error.chain()))),
        }
    }
}
branch!([F: Function<Output: DeserializeOwned>] CallStep<'_, F> => F::Output);

/// A pause. See [`WorkflowCtx::sleep`].
#[must_use = "a step does nothing until it is awaited"]
pub struct Sleep<'ctx> {
    pub(super) ctx: &'ctx WorkflowCtx,
    pub(super) position: u32,
    pub(super) time: Duration,
}

impl Future for Sleep<'_> {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let time = self.time;
        poll_step(self.ctx, self.position, StepKind::Sleep, "", |now| Work::Sleep(now + time), |_| Ok(()))
    }
}
branch!([] Sleep<'_> => ());

/// A wait for a signal. See [`WorkflowCtx::wait`].
#[must_use = "a step does nothing until it is awaited"]
pub struct Wait<'ctx, T> {
    pub(super) ctx: &'ctx WorkflowCtx,
    pub(super) position: u32,
    pub(super) name: String,
    pub(super) value: PhantomData<fn() -> T>,
}

impl<'ctx, T: DeserializeOwned> Wait<'ctx, T> {
    /// Waits at most for this time. Then the result is `None`.
    pub fn at_most(self, time: Duration) -> WaitAtMost<'ctx, T> {
        let Self { ctx, position, name, value } = self;
        WaitAtMost { ctx, position, name, time, value }
    }
}

impl<T: DeserializeOwned> Future for Wait<'_, T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        received(
            poll_step(self.ctx, self.position, StepKind::Wait, &self.name, |_| Work::Wait(None), signal),
            &self.name,
        )
    }
}
branch!([T: DeserializeOwned] Wait<'_, T> => T);

/// A wait for a signal with a time limit. See [`Wait::at_most`].
#[must_use = "a step does nothing until it is awaited"]
pub struct WaitAtMost<'ctx, T> {
    ctx: &'ctx WorkflowCtx,
    position: u32,
    name: String,
    time: Duration,
    value: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Future for WaitAtMost<'_, T> {
    type Output = Result<Option<T>>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let time = self.time;
        let work = |now: Millis| Work::Wait(Some(now + time));
        let read = |entry: &Entry| match &entry.value {
            Some(_) => signal(entry).map(Some),
            None => Ok(None),
        };
        match poll_step(self.ctx, self.position, StepKind::Wait, &self.name, work, read) {
            Poll::Ready(Ok(None)) => Poll::Ready(Ok(None)),
            Poll::Ready(Ok(Some(value))) => received(Poll::Ready(Ok(value)), &self.name).map(|value| value.map(Some)),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        }
    }
}
branch!([T: DeserializeOwned] WaitAtMost<'_, T> => Option<T>);

/// Reads the value of a signal. The sender is outside of the workflow, so a value of another type is an error of the
/// step and not a mismatch of the code.
#[expect(clippy::unnecessary_wraps, reason = "the form of the other readers")]
fn signal<T: DeserializeOwned>(entry: &Entry) -> Result<Result<T, String>, serde_json::Error> {
    Ok(value(entry).map_err(|error| error.to_string()))
}

fn received<T>(polled: Poll<Result<Result<T, String>>>, name: &str) -> Poll<Result<T>> {
    polled.map(|result| {
        result?.map_err(|error| {
            Error::invalid_argument(name, format!("the value of the signal {name:?} does not fit its type: {error}"))
        })
    })
}

/// The creation of a one-time URL. See [`WorkflowCtx::callback`].
#[must_use = "a step does nothing until it is awaited"]
pub struct Callback<'ctx, T> {
    pub(super) ctx: &'ctx WorkflowCtx,
    pub(super) position: u32,
    pub(super) name: String,
    pub(super) value: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Future for Callback<'_, T> {
    type Output = Result<String>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        poll_step(self.ctx, self.position, StepKind::Callback, &self.name, |_| Work::Callback, value)
    }
}
branch!([T: DeserializeOwned] Callback<'_, T> => String);

/// The start of another run. See [`WorkflowCtx::start`].
#[must_use = "a step does nothing until it is awaited"]
pub struct StartStep<'ctx, W> {
    pub(super) ctx: &'ctx WorkflowCtx,
    pub(super) position: u32,
    pub(super) args: Result<String>,
    pub(super) key: Option<String>,
    pub(super) workflow: PhantomData<fn() -> W>,
}

impl<W: Workflow> StartStep<'_, W> {
    /// Makes the run unique: if a run of the workflow with this key is stored, its id is the result.
    pub fn key(mut self, key: impl Display) -> Self {
        self.key = Some(key.to_string());
        self
    }
}

impl<W: Workflow> Future for StartStep<'_, W> {
    type Output = Result<Id<Run>>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        const { assert!(!W::DEF.retired, "a retired version of a workflow cannot be started; start the current one") };
        let Self { ctx, position, args, key, .. } = self.get_mut();
        let args = match args {
            Ok(args) => args.clone(),
            Err(error) => return Poll::Ready(Err(Error::internal(error.chain()))),
        };
        let work = |_| Work::Start { args, version: W::DEF.version, key: key.clone() };
        poll_step(ctx, *position, StepKind::Start, &W::DEF.path().unwrap_or_default(), work, value)
    }
}
branch!([W: Workflow] StartStep<'_, W> => Id<Run>);

/// A branch and its result.
pub(super) struct Half<A: Branch> {
    step: A,
    result: Option<Result<A::Value>>,
}

impl<A: Branch> Half<A> {
    pub(super) fn new(step: A) -> Self {
        Self { step, result: None }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if self.result.is_none()
            && let Poll::Ready(result) = Pin::new(&mut self.step).poll(cx)
        {
            self.result = Some(result);
        }
        self.result.is_some()
    }

    fn take(&mut self) -> Result<A::Value> {
        self.result.take().unwrap_or_else(|| Err(Error::internal("a step was polled after its end")))
    }
}

impl<A: Branch> Unpin for Half<A> {}

/// Two steps together. See [`WorkflowCtx::join`].
#[must_use = "steps do nothing until they are awaited"]
pub struct Join<A: Branch, B: Branch>(pub(super) Half<A>, pub(super) Half<B>);

impl<A: Branch, B: Branch> Future for Join<A, B> {
    type Output = Result<(A::Value, B::Value)>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self(a, b) = self.get_mut();
        let (a_done, b_done) = (a.poll(cx), b.poll(cx));
        if !(a_done && b_done) {
            return Poll::Pending;
        }
        let (a, b) = (a.take(), b.take());
        Poll::Ready(a.and_then(|a| Ok((a, b?))))
    }
}

impl<A: Branch, B: Branch> Branch for Join<A, B> {
    type Value = (A::Value, B::Value);

    fn done(&self) -> Option<u32> {
        Some(self.0.step.done()?.max(self.1.step.done()?))
    }

    fn abandon(&self) {
        self.0.step.abandon();
        self.1.step.abandon();
    }
}

/// Several steps of one type together. See [`WorkflowCtx::join_all`].
#[must_use = "steps do nothing until they are awaited"]
pub struct JoinAll<A: Branch>(pub(super) Vec<Half<A>>);

impl<A: Branch> Future for JoinAll<A> {
    type Output = Result<Vec<A::Value>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let halves = &mut self.get_mut().0;
        // Each is polled, so that all of them start.
        let done = halves.iter_mut().filter_map(|half| half.poll(cx).then_some(())).count();
        if done < halves.len() {
            return Poll::Pending;
        }
        Poll::Ready(halves.iter_mut().map(Half::take).collect())
    }
}

impl<A: Branch> Branch for JoinAll<A> {
    type Value = Vec<A::Value>;

    fn done(&self) -> Option<u32> {
        self.0.iter().map(|half| half.step.done()).try_fold(0, |last, done| Some(last.max(done?)))
    }

    fn abandon(&self) {
        self.0.iter().for_each(|half| half.step.abandon());
    }
}

/// The first of two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The first step was faster.
    Left(A),
    /// The second step was faster.
    Right(B),
}

/// The faster of two steps. See [`WorkflowCtx::select`].
#[must_use = "steps do nothing until they are awaited"]
pub struct Select<A: Branch, B: Branch>(pub(super) Half<A>, pub(super) Half<B>);

impl<A: Branch, B: Branch> Future for Select<A, B> {
    type Output = Result<Either<A::Value, B::Value>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self(a, b) = self.get_mut();
        let (a_done, b_done) = (a.poll(cx), b.poll(cx));
        // Both may be done by now; the recorded order decides, so that each replay decides alike.
        let is_left = match (a_done, b_done) {
            (false, false) => return Poll::Pending,
            (true, true) => a.step.done() <= b.step.done(),
            (a_done, _) => a_done,
        };
        if is_left {
            b.step.abandon();
            return Poll::Ready(a.take().map(Either::Left));
        }
        a.step.abandon();
        Poll::Ready(b.take().map(Either::Right))
    }
}

impl<A: Branch, B: Branch> Branch for Select<A, B> {
    type Value = Either<A::Value, B::Value>;

    fn done(&self) -> Option<u32> {
        [self.0.step.done(), self.1.step.done()].into_iter().flatten().min()
    }

    fn abandon(&self) {
        self.0.step.abandon();
        self.1.step.abandon();
    }
}
