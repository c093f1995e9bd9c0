//! The context of a workflow. It has steps only, so that a replay of the code always takes the same path.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::definition::Workflow;
use super::replay::{Call, Replay, Work};
use super::rows::{Run, StepKind, StepState};
use super::steps::{Branch, CallStep, Callback, Join, JoinAll, Select, Sleep, StartStep, Wait};
use crate::context::{ActionFn, MutationFn, QueryFn};
use crate::function::{Function, IsAction, IsMutation, IsQuery};
use crate::registry;
use convoke_core::clock::Millis;
use convoke_core::error::Error;
use convoke_core::id::Id;

/// The context of a workflow: steps, which are recorded in its journal.
///
/// It has no database, clock, randomness, HTTP client or settings, because the code of a workflow runs again at each
/// step and must take the same path. A step is a call of a function that has them: `ctx.run::<f>(args).await?`.
#[derive(Clone)]
pub struct WorkflowCtx(pub(super) Rc<RefCell<Replay>>);

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

impl WorkflowCtx {
    pub(crate) fn new(replay: Replay) -> Self {
        Self(Rc::new(RefCell::new(replay)))
    }

    /// Calls a function as a step.
    ///
    /// A mutation has its effect and its journal entry in one transaction: exactly once. A query is recorded. An action
    /// runs at least once, with the same [`attempt`](crate::ActionCtx::attempt) key each time.
    pub fn run<F: Function>(&self, args: impl Into<F::Args>) -> CallStep<'_, F>
    where
        F::Kind: StepOfKind<F>,
        F::Output: DeserializeOwned,
    {
        let args = serde_json::to_string(&args.into()).map_err(Error::internal);
        let name = registry::path_of(F::DEF.module, F::DEF.name).unwrap_or_default();
        let is_action = <F::Kind as StepOfKind<F>>::IS_ACTION;
        let call = args.map(|args| Call { args, is_action, retry: None, queue: None, key: None, undo: None });
        CallStep { ctx: self, position: self.next_position(), name, call, function: PhantomData }
    }

    /// Waits for two steps, also if one of them fails. Fails with the first error.
    pub fn join<A: Branch, B: Branch>(&self, a: A, b: B) -> Join<A, B> {
        Join::new(a, b)
    }

    /// Waits for all steps, also if one of them fails. Fails with the first error.
    pub fn join_all<A: Branch>(&self, steps: impl IntoIterator<Item = A>) -> JoinAll<A> {
        JoinAll::new(steps.into_iter().collect())
    }

    /// Waits for the first of two steps to complete. The other one is given up: a pause or a wait ends, a call that has
    /// not started does not start, and the result of a running call is not used.
    pub fn select<A: Branch, B: Branch>(&self, a: A, b: B) -> Select<A, B> {
        Select::new(a, b)
    }

    /// Waits for a time. A waiting run costs a row.
    pub fn sleep(&self, time: Duration) -> Sleep<'_> {
        Sleep { ctx: self, position: self.next_position(), time }
    }

    /// Waits for a signal with this name, from [`MutationCtx::signal`](crate::MutationCtx::signal) or a one-time URL.
    /// Signals that come before are stored, and each is received once.
    pub fn wait<T: DeserializeOwned>(&self, name: &str) -> Wait<'_, T> {
        Wait { ctx: self, position: self.next_position(), name: name.to_owned(), value: PhantomData }
    }

    /// Returns a one-time URL path (`/api/callback/…`) that sends the signal `name` with the JSON body of its request.
    pub fn callback<T: DeserializeOwned>(&self, name: &str) -> Callback<'_, T> {
        Callback { ctx: self, position: self.next_position(), name: name.to_owned(), value: PhantomData }
    }

    /// Returns the time, recorded on the first pass.
    pub fn now(&self) -> Millis {
        let position = self.next_position();
        let mut replay = self.0.borrow_mut();
        let now = replay.now;
        let recorded =
            replay.reach(position, StepKind::Now, "", Work::Now).filter(|entry| entry.state == StepState::Done);
        recorded.and_then(|entry| serde_json::from_str(entry.value.as_deref()?).ok()).unwrap_or(now)
    }

    /// Starts a run of another workflow. It does not wait for it.
    pub fn start<W: Workflow>(&self, args: impl Into<W::Args>) -> StartStep<'_, W> {
        let args = serde_json::to_string(&args.into()).map_err(Error::internal);
        StartStep { ctx: self, position: self.next_position(), args, key: None, workflow: PhantomData }
    }

    /// Returns true if the run was started by this version of the workflow or a newer one: `if ctx.since(2) { … }` in
    /// `#[workflow(version = 2)]`.
    pub fn since(&self, version: u32) -> bool {
        self.0.borrow().version >= version
    }

    /// Returns the id of the run.
    pub fn id(&self) -> Id<Run> {
        self.0.borrow().run
    }

    fn next_position(&self) -> u32 {
        self.0.borrow_mut().next_position()
    }
}
