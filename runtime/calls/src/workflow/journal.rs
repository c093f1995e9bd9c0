//! The writes of a run: its jobs, the results of its steps, signals, and its state.

use std::collections::BTreeMap;

use super::replay::Entry;
use crate::rows::job::{self, Job, JobKind};
use crate::rows::outcome::JobError;
use crate::rows::run::{OfRun, Run, RunPart, RunState, Signal, Step, StepKind, StepState};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_core::limits::Limits;
use convoke_store::{Db, DbMut, Doc};

/// Maximum number of signals of a run that no step has taken yet.
const SIGNALS_MAX: usize = 1_000;

/// A run that does not exist yet.
pub(super) struct NewRun {
    pub path: String,
    pub version: u32,
    pub args: String,
    pub key: Option<String>,
    /// The span that starts it.
    pub trace: Option<String>,
}

/// Writes a run and schedules its first advance, or returns the stored run of its key. The second value is the job of
/// the advance, if it was written.
pub(super) fn insert(
    db: &mut DbMut,
    new: NewRun,
    (starter, acts): (Option<(String, String)>, bool),
    now: Millis,
) -> Result<(Id<Run>, Option<Id<Job>>)> {
    let NewRun { path, version, args, key, trace } = new;
    if let Some(key) = &key
        && let Some(run) = db.query(Run::by_key).eq(&*path).eq(&**key).unique()?
    {
        return Ok((run.id(), None));
    }
    let (issuer, subject) = starter.unzip();
    let id = db.insert(Run {
        path,
        version,
        key,
        bytes: i64::try_from(args.len()).unwrap_or(i64::MAX),
        args,
        state: RunState::Active,
        issuer,
        subject,
        acts,
        done: 0,
        value: None,
        error: None,
        is_cancelled: false,
        blocked: None,
        blocked_by: None,
        ended_at: None,
        trace,
    })?;
    let advance = match db.get(id)? {
        Some(run) => wake(db, &run, now)?,
        None => None,
    };
    Ok((id, advance))
}

/// Returns the steps of a run, by position.
pub(crate) fn steps(db: &Db, run: Id<Run>) -> Result<Vec<Doc<Step>>> {
    Ok(db.query(Step::by_run).eq(run).take(usize::MAX)?)
}

/// Returns all steps of a run for a replay, with the stored signals that they wait for. Abandoned steps wait for ever:
/// their results are not used.
pub(super) fn entries(
    db: &mut DbMut,
    run: &Doc<Run>,
    mut all: Vec<Doc<Step>>,
    limits: &Limits,
    now: Millis,
) -> Result<BTreeMap<u32, Entry>> {
    if all.iter().any(waits) && deliver_signals(db, run, &all, limits, now)? {
        all = steps(db, run.id())?;
    }
    let entry = |step: &Doc<Step>| {
        let Step { position, kind, ref name, state, ref value, ref error, done, .. } = **step;
        let (name, value, error) = (name.clone(), value.clone(), error.clone());
        (position, Entry { kind, name, state, value, error, done, is_reached: false })
    };
    Ok(all.iter().map(entry).collect())
}

/// Returns true if a step waits for a signal.
fn waits(step: &Doc<Step>) -> bool {
    step.kind == StepKind::Wait && step.state == StepState::Pending
}

fn step(db: &Db, run: Id<Run>, position: u32) -> Result<Option<Doc<Step>>> {
    Ok(db.query(Step::by_run).eq(run).eq(position).unique()?)
}

/// Returns a job of a run.
pub(super) fn job(run: &Run, of: OfRun, path: String, kind: JobKind, args: String, run_at: Millis) -> Job {
    let (issuer, subject) = match run.acts {
        true => (run.issuer.clone(), run.subject.clone()),
        false => (None, None),
    };
    let key = Some(of.key());
    Job { issuer, subject, key, step: Some(of), trace: run.trace.clone(), ..Job::new(path, kind, args, run_at) }
}

/// Schedules an advance of a run for now. Returns its job, unless one was pending.
pub(crate) fn wake(db: &mut DbMut, run: &Doc<Run>, now: Millis) -> Result<Option<Id<Job>>> {
    if let Some(pending) = pending_advance(db, run)? {
        if pending.run_at > now {
            db.patch_doc(pending, |job| job.run_at = now)?;
        }
        return Ok(None);
    }
    let job = job(run, advance_of(run), run.path.clone(), JobKind::Mutation, "{}".to_owned(), now);
    // A clock that is set back delays no advance.
    Ok(Some(db.insert(Job { asked_at: Some(now), ..job })?))
}

/// Delays the first advance of a run that was just inserted.
pub(super) fn begin_at(db: &mut DbMut, run: Id<Run>, time: Millis) -> Result<()> {
    let Some(run) = db.get(run)? else { return Ok(()) };
    if let Some(pending) = pending_advance(db, &run)? {
        db.patch_doc(pending, |job| job.run_at = time)?;
    }
    Ok(())
}

fn advance_of(run: &Doc<Run>) -> OfRun {
    OfRun { run: run.id(), position: 0, part: RunPart::Advance }
}

fn pending_advance(db: &Db, run: &Doc<Run>) -> Result<Option<Doc<Job>>> {
    job::pending_of_key(db, &run.path, Some(&advance_of(run).key()))
}

/// Deletes the pending job of a step, if there is one.
fn delete_job(db: &mut DbMut, path: &str, of: &OfRun) -> Result<bool> {
    match job::pending_of_key(db, path, Some(&of.key()))? {
        Some(job) => Ok(db.delete(job.id())?),
        None => Ok(false),
    }
}

/// Gives up a pending step. Returns false if its function runs now.
pub(super) fn abandon(db: &mut DbMut, run: &Doc<Run>, step: Doc<Step>, now: Millis) -> Result<bool> {
    let of = |part| OfRun { run: run.id(), position: step.position, part };
    let is_idle = match step.kind {
        StepKind::Run => delete_job(db, &step.name, &of(RunPart::Step))?,
        StepKind::Sleep | StepKind::Wait => {
            delete_job(db, &run.path, &of(RunPart::Timer))?;
            true
        }
        StepKind::Now | StepKind::Start | StepKind::Callback => true,
    };
    db.patch_doc(step, |step| (step.state, step.ended_at) = (StepState::Abandoned, Some(now)))?;
    Ok(is_idle)
}

/// As [`abandon`], for the step at a position.
pub(super) fn abandon_at(db: &mut DbMut, run: &Doc<Run>, position: u32, now: Millis) -> Result<()> {
    if let Some(step) = step(db, run.id(), position)?.filter(|step| step.state == StepState::Pending) {
        abandon(db, run, step, now)?;
    }
    Ok(())
}

/// Returns true if the function of a pending step runs now, so that it has no pending job.
pub(super) fn is_running(db: &Db, step: &Doc<Step>) -> Result<bool> {
    let of = OfRun { run: step.run, position: step.position, part: RunPart::Step };
    Ok(step.kind == StepKind::Run && job::pending_of_key(db, &step.name, Some(&of.key()))?.is_none())
}

/// Checks the size of a value that enters the journal of a run.
///
/// # Errors
/// `FAILED_PRECONDITION`: it is too large for a step, or the journal is full.
pub(crate) fn require_room(run: &Run, bytes: usize, limits: &Limits) -> Result<()> {
    let (value_max, journal_max) = (limits.workflow_value_bytes_max, limits.workflow_journal_bytes_max);
    if bytes > value_max {
        return Err(Error::failed_precondition(format!(
            "The value of the step has {bytes} bytes, more than {value_max} (setting limits.workflow_value_bytes_max)"
        )));
    }
    if usize::try_from(run.bytes).unwrap_or(0).saturating_add(bytes) > journal_max {
        return Err(Error::failed_precondition(format!(
            "The journal of the run has no room for {bytes} bytes; its limit is {journal_max} (setting \
             limits.workflow_journal_bytes_max)"
        )));
    }
    Ok(())
}

/// Records the result of a pending step. Returns the order of its completion; none if the step was not pending.
pub(super) fn complete(
    db: &mut DbMut,
    run: Id<Run>,
    position: u32,
    result: Result<Option<String>, JobError>,
    limits: &Limits,
    now: Millis,
) -> Result<Option<u32>> {
    let Some(step) = step(db, run, position)?.filter(|step| step.state == StepState::Pending) else { return Ok(None) };
    let Some(run) = db.get(run)? else { return Ok(None) };
    let (step, _) = record(db, run, step, result, limits, now)?;
    Ok(step.done)
}

/// As [`complete`], for a step among those of its run. Returns the run.
pub(super) fn complete_among(
    db: &mut DbMut,
    run: Doc<Run>,
    steps: &mut [Doc<Step>],
    position: u32,
    result: Result<Option<String>, JobError>,
    limits: &Limits,
    now: Millis,
) -> Result<Doc<Run>> {
    let is_meant = |step: &&mut Doc<Step>| step.position == position && step.state == StepState::Pending;
    let Some(place) = steps.iter_mut().find(is_meant) else { return Ok(run) };
    let (step, run) = record(db, run, place.clone(), result, limits, now)?;
    *place = step;
    Ok(run)
}

fn record(
    db: &mut DbMut,
    run: Doc<Run>,
    step: Doc<Step>,
    result: Result<Option<String>, JobError>,
    limits: &Limits,
    now: Millis,
) -> Result<(Doc<Step>, Doc<Run>)> {
    let result = result.and_then(|value| {
        require_room(&run, value.as_ref().map_or(0, String::len), limits).map_err(|error| JobError::of(&error))?;
        Ok(value)
    });
    let done = run.done;
    let bytes = result.as_ref().map_or(0, |value| value.as_ref().map_or(0, String::len));
    let error = result.as_ref().err().map(serde_json::to_string).transpose().map_err(Error::internal)?;
    let step = db.patch_doc(step, |step| {
        step.state = if result.is_ok() { StepState::Done } else { StepState::Failed };
        step.value = result.ok().flatten();
        step.error = error;
        step.done = Some(done);
        step.ended_at = Some(now);
    })?;
    let run = db.patch_doc(run, |run| {
        run.done += 1;
        run.bytes += i64::try_from(bytes).unwrap_or(0);
    })?;
    Ok((step, run))
}

/// Records a failed attempt of a step that will be retried.
pub(crate) fn note_failure(db: &mut DbMut, of: &OfRun, text: &str) -> Result<()> {
    if let Some(step) = step(db, of.run, of.position)? {
        db.patch_doc(step, |step| {
            step.attempts += 1;
            step.last_error = Some(text.to_owned());
        })?;
    }
    Ok(())
}

/// Records the end of a compensation.
pub(crate) fn undone(db: &mut DbMut, of: &OfRun, error: Option<&JobError>) -> Result<()> {
    use crate::rows::run::UndoState;
    if let Some(step) = step(db, of.run, of.position)? {
        db.patch_doc(step, |step| {
            step.undone = Some(if error.is_none() { UndoState::Done } else { UndoState::Failed });
            if let Some(JobError { code, message }) = error {
                step.last_error = Some(format!("compensation: {code}: {message}"));
            }
        })?;
    }
    Ok(())
}

/// Stores a signal for a run, and schedules its advance.
///
/// # Errors
/// `NOT_FOUND`: there is no such run. `FAILED_PRECONDITION`: the run has ended, or too many signals wait.
pub(crate) fn signal(
    db: &mut DbMut,
    run: Id<Run>,
    name: &str,
    value: String,
    limits: &Limits,
    now: Millis,
) -> Result<()> {
    let run = db.get(run)?.ok_or_else(|| Error::not_found("No run has this id"))?;
    if run.state.is_end() || run.state == RunState::Undoing {
        return Err(Error::failed_precondition("The run has ended"));
    }
    require_room(&run, value.len(), limits)?;
    if db.query(Signal::by_run).eq(run.id()).keys(SIGNALS_MAX)?.len() >= SIGNALS_MAX {
        return Err(Error::failed_precondition(format!("{SIGNALS_MAX} signals of the run wait for a step")));
    }
    db.insert(Signal { run: run.id(), name: name.to_owned(), value })?;
    // A run that has not begun receives the signal later.
    match pending_advance(db, &run)? {
        Some(_) => Ok(()),
        None => wake(db, &run, now).map(drop),
    }
}

/// Takes the oldest signal with a name.
pub(super) fn take_signal(db: &mut DbMut, run: Id<Run>, name: &str) -> Result<Option<String>> {
    let Some(signal) = db.query(Signal::by_run).eq(run).eq(name).first()? else { return Ok(None) };
    db.delete(signal.id())?;
    Ok(Some(signal.value.clone()))
}

/// Gives the stored signals to the waits that are pending, in the order of the waits. Returns true if there was one.
fn deliver_signals(db: &mut DbMut, run: &Doc<Run>, steps: &[Doc<Step>], limits: &Limits, now: Millis) -> Result<bool> {
    let mut is_delivered = false;
    for step in steps.iter().filter(|step| waits(step)) {
        if let Some(value) = take_signal(db, run.id(), &step.name)? {
            delete_job(db, &run.path, &OfRun { run: run.id(), position: step.position, part: RunPart::Timer })?;
            complete(db, run.id(), step.position, Ok(Some(value)), limits, now)?;
            is_delivered = true;
        }
    }
    Ok(is_delivered)
}

/// Blocks a run until its code fits again.
pub(crate) fn block(db: &mut DbMut, run: Doc<Run>, reason: String, boot: u32) -> Result<()> {
    if run.blocked.as_ref() != Some(&reason) {
        tracing::error!(target: "convoke::workflow", run = %run.id(), workflow = &*run.path, "blocked: {reason}");
    }
    db.patch_doc(run, |run| {
        run.state = RunState::Blocked;
        run.blocked = Some(reason);
        run.blocked_by = Some(boot);
    })?;
    Ok(())
}

/// Ends a run: gives up the steps that are still pending, and deletes its
/// jobs and signals.
pub(super) fn finish(db: &mut DbMut, run: &Doc<Run>, state: RunState, now: Millis) -> Result<()> {
    for step in steps(db, run.id())? {
        if step.state == StepState::Pending {
            abandon(db, run, step, now)?;
        }
    }
    delete_job(db, &run.path, &advance_of(run))?;
    for (signal, _) in db.query(Signal::by_run).eq(run.id()).keys(SIGNALS_MAX)? {
        db.delete(signal)?;
    }
    db.patch(run.id(), |run| {
        run.state = state;
        run.blocked = None;
        run.ended_at = Some(now);
    })?;
    Ok(())
}
