//! One advance of a run, in one transaction: a replay of its code up to the first steps that wait, and the start of
//! its new steps. A run that has failed or was cancelled is undone here, step by step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tracing::subscriber::{NoSubscriber, with_default};

use super::callback;
use super::context::WorkflowCtx;
use super::definition::{Begun, Workflows};
use super::journal::{self, Counted, NewRun};
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

/// Time after which another node may try a run whose code this node lacks.
const ELSEWHERE: Duration = Duration::from_secs(2);

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
    pub next: Option<Next>,
    /// True if there may be others.
    pub has_others: bool,
}

impl Upcoming {
    /// Returns any jobs.
    pub(crate) fn others() -> Self {
        Self { next: None, has_others: true }
    }

    /// Adds a job that is due now.
    fn add(&mut self, job: Doc<Job>) {
        if self.next.is_none() && job.kind == JobKind::Mutation && job.queue.is_none() {
            self.next = Some(Next { job, suspended: None });
        } else {
            self.has_others = true;
        }
    }
}

/// The next job of a run.
pub(crate) struct Next {
    pub job: Doc<Job>,
    /// The code of the run, if it waits for this job alone.
    pub suspended: Option<Suspended>,
}

/// The code of a run that waits for its last step, and for no other. The transaction of this step continues it instead
/// of a replay.
///
/// It fits the journal if the job of the step exists and the row of the run is unchanged: the transaction that suspended
/// the code wrote both, and each later change of the journal deletes the job or changes the run.
pub(crate) struct Suspended {
    run: Doc<Run>,
    step: Doc<Step>,
    ctx: WorkflowCtx,
    code: Begun,
}

impl Suspended {
    fn waits_for(&self, of: &OfRun, run: &Doc<Run>) -> bool {
        of.part == RunPart::Step && self.step.position == of.position && self.run.id() == run.id() && *self.run == **run
    }
}

pub(crate) struct StepEnd {
    pub result: Result<Option<String>, JobError>,
    /// True if the transaction fails when the journal has no room for the value, so that the effect of a mutation is
    /// rolled back too. An action has had its effect, so its journal gets the error.
    pub must_fit: bool,
    pub suspended: Option<Suspended>,
}

impl From<Result<Option<String>, JobError>> for StepEnd {
    fn from(result: Result<Option<String>, JobError>) -> Self {
        Self { result, must_fit: false, suspended: None }
    }
}

impl Advancer {
    /// Advances a run as far as its journal allows.
    pub(crate) fn advance(&self, db: &mut DbMut, id: Id<Run>, now: Millis) -> Result<Upcoming> {
        let Some(run) = db.get(id)? else { return Ok(Upcoming::default()) };
        let steps = journal::steps(db, id)?;
        self.advance_on(db, Counted::new(run), steps, now)
    }

    /// Records the result of a step, and advances its run.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION`: the journal has no room for a value that must fit. A failure of the store.
    pub(crate) fn complete(
        &self,
        db: &mut DbMut,
        of: &OfRun,
        end: impl Into<StepEnd>,
        now: Millis,
    ) -> Result<Upcoming> {
        let StepEnd { result, must_fit, suspended } = end.into();
        let Some(run) = db.get(of.run)? else { return Ok(Upcoming::default()) };
        let suspended = suspended.filter(|suspended| suspended.waits_for(of, &run));
        let (mut run, limits) = (Counted::new(run), self.services.limits());
        if must_fit && let Ok(value) = &result {
            run.require_room(value.as_ref().map_or(0, String::len), limits)?;
        }
        if let Some(Suspended { step, ctx, code, .. }) = suspended {
            let step = journal::record(db, &mut run, step, result, limits, now)?;
            ctx.0.lock().resume(&step, now);
            return self.poll(db, run, ctx, code, now);
        }
        let mut steps = journal::steps(db, of.run)?;
        let is_meant = |step: &&mut Doc<Step>| step.position == of.position && step.state == StepState::Pending;
        if let Some(step) = steps.iter_mut().find(is_meant) {
            *step = journal::record(db, &mut run, step.clone(), result, limits, now)?;
        }
        self.advance_on(db, run, steps, now)
    }

    fn advance_on(&self, db: &mut DbMut, mut run: Counted, steps: Vec<Doc<Step>>, now: Millis) -> Result<Upcoming> {
        match run.run().state {
            RunState::Completed | RunState::Failed | RunState::Cancelled => {
                return run.write(db, |_| ()).map(|_| Upcoming::default());
            }
            RunState::Undoing => {
                let run = run.write(db, |_| ())?;
                return undo_next(db, &run, now).map(|()| Upcoming::others());
            }
            RunState::Active | RunState::Blocked => {}
        }
        let (path, version) = (&run.run().path, run.run().version);
        let Some(code) = self.workflows.find(path, version) else {
            let (id, reason) = (run.run().id(), format!("the program has no workflow {path} of version {version}"));
            let upcoming = self.block(db, run, reason)?;
            let may_fit_elsewhere = matches!(self.services.store().nodes(), Nodes::Many { .. });
            let Some(run) = db.get(id)?.filter(|_| may_fit_elsewhere) else { return Ok(upcoming) };
            // A node of another release may have the code.
            return journal::wake(db, &run, now + ELSEWHERE).map(|()| Upcoming::others());
        };
        let entries = journal::entries(db, &mut run, steps, self.services.limits(), now)?;
        let ctx = WorkflowCtx::new(Replay::new(self.services.clone(), run.run(), now, entries));
        let begin = || (code.begin)(ctx.clone(), &run.run().args);
        let begun =
            quietly(begin).and_then(|begun| begun.map_err(|error| format!("its arguments do not fit: {error}")));
        match begun {
            Ok(code) => self.poll(db, run, ctx, code, now),
            Err(reason) => self.block(db, run, reason),
        }
    }

    /// Polls the code until it waits for steps that take time, or ends.
    fn poll(
        &self,
        db: &mut DbMut,
        mut run: Counted,
        ctx: WorkflowCtx,
        mut code: Begun,
        now: Millis,
    ) -> Result<Upcoming> {
        let (mut upcoming, mut begun) = (Upcoming::default(), None);
        loop {
            let polled = quietly(|| code.as_mut().poll(&mut Context::from_waker(Waker::noop())));
            let mut replay = ctx.0.lock();
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
                let step = self.begin_step(db, &mut run, step, &mut upcoming, now)?;
                if step.state == StepState::Done {
                    replay.complete(&step);
                    has_result = true;
                } else {
                    begun = Some(step);
                }
            }
            for position in std::mem::take(&mut replay.abandoned) {
                journal::abandon_at(db, run.run(), position, now)?;
            }
            match polled {
                Poll::Ready(result) => {
                    self.end(db, run, result, (&mut upcoming, replay.waits()), now)?;
                    return Ok(upcoming);
                }
                Poll::Pending if has_result => {}
                Poll::Pending if replay.waits() => {
                    let run = run.write(db, |run| {
                        if run.state == RunState::Blocked {
                            (run.state, run.blocked) = (RunState::Active, None);
                        }
                    })?;
                    let step = begun.filter(|step: &Doc<Step>| replay.waits_only_for(step.position));
                    drop(replay);
                    if let (Some(next), Some(step)) = (&mut upcoming.next, step) {
                        next.suspended = Some(Suspended { run, step, ctx, code });
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

    fn block(&self, db: &mut DbMut, run: Counted, reason: String) -> Result<Upcoming> {
        journal::block_counted(db, run, reason, self.services.process()).map(|()| Upcoming::default())
    }

    /// Writes a new step, and returns it. It is done if it takes no time.
    fn begin_step(
        &self,
        db: &mut DbMut,
        run: &mut Counted,
        step: NewStep,
        upcoming: &mut Upcoming,
        now: Millis,
    ) -> Result<Doc<Step>> {
        let NewStep { position, kind, name, work } = step;
        let id = run.run().id();
        let mut row = Step {
            run: id,
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
        // The journal has no step at this position, so no job has the key of one.
        let insert_timer = |db: &mut DbMut, run: &Counted, until| {
            let of = OfRun { run: id, position, part: RunPart::Timer };
            let run = run.run();
            let job = journal::job(run, of, run.path.clone(), JobKind::Mutation, "{}".to_owned(), until);
            db.insert_known_unique(Job { asked_at: Some(now), ..job })
        };
        let value = match work {
            Work::Call(call) => {
                row.args = Some(call.args.clone());
                if let Some(undo) = call.undo.clone() {
                    (row.undo, row.undo_args, row.undoes_by_action) =
                        (Some(undo.path), Some(undo.args), undo.is_action);
                }
                let step = db.insert_known_unique(row)?;
                return self.call(db, run, step, call, upcoming, now);
            }
            Work::Sleep(until) => {
                row.until = Some(until);
                insert_timer(db, run, until)?;
                upcoming.has_others = true;
                return Ok(db.insert_known_unique(row)?);
            }
            Work::Wait(until) => {
                row.until = until;
                match journal::take_signal(db, id, &name)? {
                    Some(value) => value,
                    None => {
                        if let Some(until) = until {
                            insert_timer(db, run, until)?;
                            upcoming.has_others = true;
                        }
                        return Ok(db.insert_known_unique(row)?);
                    }
                }
            }
            Work::Now(now) => now.0.to_string(),
            Work::Start { args, version, key } => {
                row.args = Some(args.clone());
                let run = run.run();
                let new = NewRun { path: name, version, args, key, trace: run.trace.clone() };
                let started = (run.issuer.clone().zip(run.subject.clone()), run.acts);
                let (child, advance) = journal::insert(db, new, started, now)?;
                match advance {
                    Some(advance) => upcoming.add(advance),
                    None => upcoming.has_others = true,
                }
                serde_json::to_string(&child).map_err(Error::internal)?
            }
            Work::Callback => {
                let url = callback::url(&self.services, id, position)?;
                serde_json::to_string(&url).map_err(Error::internal)?
            }
        };
        let step = db.insert_known_unique(row)?;
        journal::record(db, run, step, Ok(Some(value)), self.services.limits(), now)
    }

    /// Schedules the function of a step.
    fn call(
        &self,
        db: &mut DbMut,
        run: &mut Counted,
        step: Doc<Step>,
        call: Call,
        upcoming: &mut Upcoming,
        now: Millis,
    ) -> Result<Doc<Step>> {
        let Call { args, is_action, retry, queue, key, .. } = call;
        let limits = self.services.limits();
        let unknown = queue.as_deref().filter(|queue| self.services.queues().get(queue).is_none());
        let problem = match unknown {
            Some(queue) => Err(Error::failed_precondition(format!("no queue {queue:?} is declared"))),
            None => run.require_room(args.len(), limits),
        };
        if let Err(error) = problem {
            // The code sees the error at the next advance.
            upcoming.has_others = true;
            journal::wake(db, run.run(), now)?;
            return journal::record(db, run, step, Err(JobError::of(&error)), limits, now);
        }
        run.add(args.len());
        let (kind, tries) = if is_action { (JobKind::Action, 1) } else { (JobKind::Mutation, MUTATION_TRIES) };
        let of = OfRun { run: step.run, position: step.position, part: RunPart::Step };
        let job = journal::job(run.run(), of, step.name.clone(), kind, args, now);
        // As for the key of a timer.
        let job = db.insert_known_unique(Job {
            retry: Some(retry.unwrap_or(Retry::exponential(tries))),
            lane: queue.as_ref().map(|_| key.unwrap_or_default()),
            due_at: queue.as_ref().map(|_| now),
            queue,
            asked_at: Some(now),
            ..job
        })?;
        upcoming.add(job);
        Ok(step)
    }

    fn end(
        &self,
        db: &mut DbMut,
        run: Counted,
        result: Result<String>,
        (upcoming, has_pending): (&mut Upcoming, bool),
        now: Millis,
    ) -> Result<()> {
        let result = result.and_then(|value| {
            run.require_room(value.len(), self.services.limits())?;
            Ok(value)
        });
        match result {
            Ok(value) => {
                if has_pending {
                    journal::abandon_all(db, run.run(), now)?;
                }
                journal::finish(db, run, RunState::Completed, Some(value), now)
            }
            Err(error) => {
                let error = serde_json::to_string(&JobError::of(&error)).map_err(Error::internal)?;
                let run = run.write(db, |run| {
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
        return journal::finish(db, Counted::new(run.clone()), state, None, now);
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
