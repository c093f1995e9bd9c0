//! One advance of a run, in one transaction: a replay of its code up to the first steps that wait, and the start of
//! its new steps. A run that has failed or was cancelled is undone here, step by step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tracing::subscriber::{NoSubscriber, with_default};

use super::callback;
use super::context::WorkflowCtx;
use super::definition::{Begun, Workflows};
use super::journal::{self, NewRun};
use super::replay::{Call, NewStep, Replay, Work};
use crate::rows::job::{Job, JobKind};
use crate::rows::outcome::JobError;
use crate::rows::retry::Retry;
use crate::rows::run::{OfRun, Run, RunPart, RunState, Step, StepState, UndoState};
use crate::services::Services;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_store::{DbMut, Doc, Nodes};

/// Attempts of a mutation without retries of its own.
const MUTATION_TRIES: u32 = 5;
/// Attempts of a compensation.
const UNDO_TRIES: u32 = 5;

/// Advances runs.
#[derive(Clone)]
pub(crate) struct Advancer {
    pub services: Services,
    pub workflows: Arc<Workflows>,
}

/// The jobs that an advance has written.
#[derive(Default)]
pub(crate) struct Upcoming {
    /// The first job that is due now, if it is a mutation outside of queues.
    pub next: Option<Doc<Job>>,
    /// True if there may be others.
    pub has_others: bool,
}

impl Upcoming {
    /// Returns any jobs.
    pub(crate) fn others() -> Self {
        Self { next: None, has_others: true }
    }

    /// Adds a job that is due now.
    fn add(&mut self, db: &DbMut, job: Id<Job>) -> Result<()> {
        let is_next = |job: &Doc<Job>| job.kind == JobKind::Mutation && job.queue.is_none();
        match db.get(job)?.filter(is_next) {
            Some(job) if self.next.is_none() => self.next = Some(job),
            _ => self.has_others = true,
        }
        Ok(())
    }
}

impl Advancer {
    /// Advances a run as far as its journal allows.
    ///
    /// # Errors
    /// A failure of the store.
    pub(crate) fn advance(&self, db: &mut DbMut, id: Id<Run>, now: Millis) -> Result<Upcoming> {
        let Some(run) = db.get(id)? else { return Ok(Upcoming::default()) };
        let steps = journal::steps(db, id)?;
        self.advance_on(db, run, steps, now)
    }

    /// Records the result of a step, and advances its run.
    ///
    /// # Errors
    /// A failure of the store.
    pub(crate) fn complete(
        &self,
        db: &mut DbMut,
        of: &OfRun,
        result: Result<Option<String>, JobError>,
        now: Millis,
    ) -> Result<Upcoming> {
        let Some(run) = db.get(of.run)? else { return Ok(Upcoming::default()) };
        let mut steps = journal::steps(db, of.run)?;
        let run = journal::complete_among(db, run, &mut steps, of.position, result, self.services.limits(), now)?;
        self.advance_on(db, run, steps, now)
    }

    /// Advances a run with these steps.
    fn advance_on(&self, db: &mut DbMut, run: Doc<Run>, steps: Vec<Doc<Step>>, now: Millis) -> Result<Upcoming> {
        match run.state {
            RunState::Completed | RunState::Failed | RunState::Cancelled => return Ok(Upcoming::default()),
            RunState::Undoing => return undo_next(db, &run, now).map(|()| Upcoming::others()),
            RunState::Active | RunState::Blocked => {}
        }
        let Some(code) = self.workflows.find(&run.path, run.version) else {
            if matches!(self.services.store().nodes(), Nodes::Many { .. }) {
                // A node of another release has the code.
                return journal::wake(db, &run, now).map(|_| Upcoming::others());
            }
            let reason = format!("the program has no workflow {} of version {}", run.path, run.version);
            return journal::block(db, run, reason, self.services.boot()).map(|()| Upcoming::default());
        };
        let entries = journal::entries(db, &run, steps, self.services.limits(), now)?;
        let ctx = WorkflowCtx::new(Replay::new(self.services.clone(), &run, now, entries));
        let begin = || (code.begin)(ctx.clone(), &run.args);
        let begun =
            quietly(begin).and_then(|begun| begun.map_err(|error| format!("its arguments do not fit: {error}")));
        match begun {
            Ok(future) => self.poll(db, &run, &ctx, future, now),
            Err(reason) => journal::block(db, run, reason, self.services.boot()).map(|()| Upcoming::default()),
        }
    }

    /// Polls the code until it waits for steps that take time, or ends.
    fn poll(
        &self,
        db: &mut DbMut,
        run: &Doc<Run>,
        ctx: &WorkflowCtx,
        mut future: Begun,
        now: Millis,
    ) -> Result<Upcoming> {
        let mut upcoming = Upcoming::default();
        loop {
            let polled = quietly(|| future.as_mut().poll(&mut Context::from_waker(Waker::noop())));
            let mut replay = ctx.0.borrow_mut();
            let misfit = polled.as_ref().err().cloned().or_else(|| replay.misfit());
            let polled = match (misfit, polled) {
                (None, Ok(polled)) => polled,
                (misfit, _) => {
                    self.block(db, run, misfit.unwrap_or_default())?;
                    return Ok(upcoming);
                }
            };
            let mut has_result = false;
            for step in std::mem::take(&mut replay.new) {
                let position = step.position;
                if let Some((value, done)) = self.begin_step(db, run, step, &mut upcoming, now)? {
                    replay.complete(position, value, done);
                    has_result = true;
                }
            }
            for position in std::mem::take(&mut replay.abandoned) {
                journal::abandon_at(db, run, position, now)?;
            }
            match polled {
                Poll::Ready(result) => {
                    self.end(db, run, result, &mut upcoming, now)?;
                    return Ok(upcoming);
                }
                Poll::Pending if has_result => {}
                Poll::Pending if replay.waits() => {
                    if run.state == RunState::Blocked {
                        db.patch(run.id(), |run| (run.state, run.blocked) = (RunState::Active, None))?;
                    }
                    return Ok(upcoming);
                }
                Poll::Pending => {
                    drop(replay);
                    self.block(db, run, "the code waits for something that is not a step".to_owned())?;
                    return Ok(upcoming);
                }
            }
        }
    }

    fn block(&self, db: &mut DbMut, run: &Doc<Run>, reason: String) -> Result<()> {
        let Some(run) = db.get(run.id())? else { return Ok(()) };
        journal::block(db, run, reason, self.services.boot())
    }

    /// Writes a new step. Returns its value and the order of its completion, if it takes no time.
    fn begin_step(
        &self,
        db: &mut DbMut,
        run: &Doc<Run>,
        step: NewStep,
        upcoming: &mut Upcoming,
        now: Millis,
    ) -> Result<Option<(Option<String>, u32)>> {
        let NewStep { position, kind, name, work } = step;
        let mut row = Step {
            run: run.id(),
            position,
            kind,
            name: name.clone(),
            args: None,
            state: StepState::Pending,
            value: None,
            error: None,
            done: None,
            attempts: 0,
            last_error: None,
            until: None,
            ended_at: None,
            undo: None,
            undo_args: None,
            undoes_by_action: false,
            undone: None,
        };
        let timer = |until| {
            let of = OfRun { run: run.id(), position, part: RunPart::Timer };
            let job = journal::job(run, of, run.path.clone(), JobKind::Mutation, "{}".to_owned(), until);
            Job { asked_at: Some(now), ..job }
        };
        let value = match work {
            Work::Call(call) => {
                row.args = Some(call.args.clone());
                if let Some(undo) = call.undo.clone() {
                    (row.undo, row.undo_args, row.undoes_by_action) =
                        (Some(undo.path), Some(undo.args), undo.is_action);
                }
                db.insert(row)?;
                return self.call(db, run, (position, name), call, upcoming, now).map(|()| None);
            }
            Work::Sleep(until) => {
                row.until = Some(until);
                db.insert(row)?;
                db.insert(timer(until))?;
                upcoming.has_others = true;
                return Ok(None);
            }
            Work::Wait(until) => {
                row.until = until;
                match journal::take_signal(db, run.id(), &name)? {
                    Some(value) => value,
                    None => {
                        db.insert(row)?;
                        if let Some(until) = until {
                            db.insert(timer(until))?;
                            upcoming.has_others = true;
                        }
                        return Ok(None);
                    }
                }
            }
            Work::Now(now) => now.0.to_string(),
            Work::Start { args, version, key } => {
                row.args = Some(args.clone());
                let new = NewRun { path: name, version, args, key, trace: run.trace.clone() };
                let started = (run.issuer.clone().zip(run.subject.clone()), run.acts);
                let (child, advance) = journal::insert(db, new, started, now)?;
                match advance {
                    Some(advance) => upcoming.add(db, advance)?,
                    None => upcoming.has_others = true,
                }
                serde_json::to_string(&child).map_err(Error::internal)?
            }
            Work::Callback => {
                let url = callback::url(&self.services, run.id(), position)?;
                serde_json::to_string(&url).map_err(Error::internal)?
            }
        };
        db.insert(row)?;
        let done = journal::complete(db, run.id(), position, Ok(Some(value.clone())), self.services.limits(), now)?;
        Ok(done.map(|done| (Some(value), done)))
    }

    /// Schedules the function of a step.
    fn call(
        &self,
        db: &mut DbMut,
        run: &Doc<Run>,
        (position, path): (u32, String),
        call: Call,
        upcoming: &mut Upcoming,
        now: Millis,
    ) -> Result<()> {
        let Call { args, is_action, retry, queue, key, .. } = call;
        let limits = self.services.limits();
        let unknown = queue.as_deref().filter(|queue| self.services.queues().get(queue).is_none());
        let problem = match unknown {
            Some(queue) => Err(Error::failed_precondition(format!("no queue {queue:?} is declared"))),
            None => journal::require_room(run, args.len(), limits),
        };
        if let Err(error) = problem {
            journal::complete(db, run.id(), position, Err(JobError::of(&error)), limits, now)?;
            // The code sees the error at the next advance.
            upcoming.has_others = true;
            return journal::wake(db, run, now).map(drop);
        }
        let bytes = i64::try_from(args.len()).unwrap_or(i64::MAX);
        db.patch(run.id(), |run| run.bytes = run.bytes.saturating_add(bytes))?;
        let (kind, tries) = if is_action { (JobKind::Action, 1) } else { (JobKind::Mutation, MUTATION_TRIES) };
        let of = OfRun { run: run.id(), position, part: RunPart::Step };
        let job = journal::job(run, of, path, kind, args, now);
        let job = db.insert(Job {
            retry: Some(retry.unwrap_or(Retry::exponential(tries))),
            lane: queue.as_ref().map(|_| key.unwrap_or_default()),
            due_at: queue.as_ref().map(|_| now),
            queue,
            asked_at: Some(now),
            ..job
        })?;
        upcoming.add(db, job)
    }

    fn end(
        &self,
        db: &mut DbMut,
        run: &Doc<Run>,
        result: Result<String>,
        upcoming: &mut Upcoming,
        now: Millis,
    ) -> Result<()> {
        let run = db.get(run.id())?.ok_or_else(|| Error::internal("a run ended that does not exist"))?;
        let result = result.and_then(|value| {
            journal::require_room(&run, value.len(), self.services.limits())?;
            Ok(value)
        });
        match result {
            Ok(value) => {
                let run = db.patch_doc(run, |run| run.value = Some(value))?;
                journal::finish(db, &run, RunState::Completed, now)
            }
            Err(error) => {
                let error = serde_json::to_string(&JobError::of(&error)).map_err(Error::internal)?;
                let run = db.patch_doc(run, |run| {
                    run.state = RunState::Undoing;
                    run.error = Some(error);
                    run.blocked = None;
                })?;
                upcoming.has_others = true;
                undo_next(db, &run, now)
            }
        }
    }
}

/// Cancels a run: undoes its completed steps, then ends it. Returns false if it has ended or is undone already.
pub(crate) fn cancel(db: &mut DbMut, id: Id<Run>, now: Millis) -> Result<bool> {
    let run = db.get(id)?.ok_or_else(|| Error::not_found("No run has this id"))?;
    if run.state.is_end() || run.state == RunState::Undoing {
        return Ok(false);
    }
    let run = db.patch_doc(run, |run| {
        run.state = RunState::Undoing;
        run.is_cancelled = true;
        run.blocked = None;
    })?;
    undo_next(db, &run, now)?;
    Ok(true)
}

/// Starts the next compensation of a run, or ends it after the last one. Waits for functions that run now: they may
/// have to be undone too.
fn undo_next(db: &mut DbMut, run: &Doc<Run>, now: Millis) -> Result<()> {
    let mut is_busy = false;
    for step in journal::steps(db, run.id())? {
        if step.state == StepState::Pending {
            match journal::is_running(db, &step)? {
                true => is_busy = true,
                false => drop(journal::abandon(db, run, step, now)?),
            }
        } else if step.undone == Some(UndoState::Pending) {
            is_busy = true;
        }
    }
    if is_busy {
        return Ok(());
    }
    let steps = journal::steps(db, run.id())?.into_iter();
    let to_undo = |step: &Doc<Step>| step.state == StepState::Done && step.undo.is_some() && step.undone.is_none();
    let Some(step) = steps.filter(to_undo).max_by_key(|step| step.done) else {
        let state = if run.is_cancelled { RunState::Cancelled } else { RunState::Failed };
        return journal::finish(db, run, state, now);
    };
    let (path, args) = (step.undo.clone().unwrap_or_default(), step.undo_args.clone().unwrap_or_default());
    let of = OfRun { run: run.id(), position: step.position, part: RunPart::Undo };
    // The kind of the function decides how it runs; a job of an action is claimed first.
    let kind = if step.undoes_by_action { JobKind::Action } else { JobKind::Mutation };
    let job = journal::job(run, of, path, kind, args, now);
    db.insert(Job { retry: Some(Retry::exponential(UNDO_TRIES)), asked_at: Some(now), ..job })?;
    db.patch_doc(step, |step| step.undone = Some(UndoState::Pending))?;
    Ok(())
}

/// Runs code of a workflow. Its log lines are dropped: the code runs again at each step. A panic is the reason to block
/// the run.
fn quietly<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    let worked = with_default(NoSubscriber::default(), || catch_unwind(AssertUnwindSafe(work)));
    worked.map_err(|panic| format!("the code panicked: {}", Error::panicked(&*panic).chain()))
}
