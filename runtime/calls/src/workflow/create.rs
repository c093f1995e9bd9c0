//! The methods of the context that create steps.

use std::marker::PhantomData;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::context::WorkflowCtx;
use super::definition::Workflow;
use super::replay::{Call, Work};
use super::steps::{Branch, CallStep, Callback, Half, Join, JoinAll, Select, Sleep, StartStep, StepOfKind, Wait};
use crate::function::Function;
use crate::rows::run::{StepKind, StepState};
use convoke_core::clock::Millis;
use convoke_core::error::Error;

impl WorkflowCtx {
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
        let name = self.path_of(F::DEF);
        let is_action = <F::Kind as StepOfKind<F>>::IS_ACTION;
        let call = args.map(|args| Call { args, is_action, retry: None, queue: None, key: None, undo: None });
        CallStep { ctx: self, position: self.next_position(), name, call, function: PhantomData }
    }

    /// Waits for two steps, also if one of them fails. Fails with the first error.
    pub fn join<A: Branch, B: Branch>(&self, a: A, b: B) -> Join<A, B> {
        Join(Half::new(a), Half::new(b))
    }

    /// Waits for all steps, also if one of them fails. Fails with the first error.
    pub fn join_all<A: Branch>(&self, steps: impl IntoIterator<Item = A>) -> JoinAll<A> {
        JoinAll(steps.into_iter().map(Half::new).collect())
    }

    /// Waits for the first of two steps to complete. The other one is given up: a pause or a wait ends, a call that has
    /// not started does not start, and the result of a running call is not used.
    pub fn select<A: Branch, B: Branch>(&self, a: A, b: B) -> Select<A, B> {
        Select(Half::new(a), Half::new(b))
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

    /// Returns a one-time URL (`…/api/callback/…`) that sends the signal `name` with the JSON body of its request.
    pub fn callback<T: DeserializeOwned>(&self, name: &str) -> Callback<'_, T> {
        Callback { ctx: self, position: self.next_position(), name: name.to_owned(), value: PhantomData }
    }

    /// Returns the time, recorded on the first pass.
    pub fn now(&self) -> Millis {
        let position = self.next_position();
        let mut replay = self.0.lock();
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
}
