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

/// A run with the counters of its journal, which its row gets once, at the end of a transaction.
pub(super) struct Counted {
    run: Doc<Run>,
    done: u32,
    bytes: i64,
}

impl Counted {
    pub(super) fn new(run: Doc<Run>) -> Self {
        let (done, bytes) = (run.done, run.bytes);
        Self { run, done, bytes }
    }

    pub(super) fn run(&self) -> &Doc<Run> {
        &self.run
    }

    /// Adds bytes of arguments.
    pub(super) fn add(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Adds a completed step with the bytes of its value. Returns the order of its completion.
    fn add_completed(&mut self, bytes: usize) -> u32 {
        self.add(bytes);
        self.done += 1;
        self.done - 1
    }

    /// Writes the counters, and other changes of the row.
    pub(super) fn write(self, db: &mut DbMut, change: impl FnOnce(&mut Run)) -> Result<Doc<Run>> {
        let Self { run, done, bytes } = self;
        let written = db.patch_doc(run, |run| {
            (run.done, run.bytes) = (done, bytes);
            change(run);
        })?;
        Ok(written)
    }

    /// As [`require_room`], with the bytes of this transaction.
    pub(super) fn require_room(&self, bytes: usize, limits: &Limits) -> Result<()> {
        require_room(self.bytes, bytes, limits)
    }
}

/// Writes a run and schedules its first advance, or returns the stored run of its key. The second value is the job of
/// the advance, if it was written.
pub(super) fn insert(
    db: &mut DbMut,
    new: NewRun,
    (starter, acts): (Option<(String, String)>, bool),
    now: Millis,
) -> Result<(Id<Run>, Option<Doc<Job>>)> {
    let NewRun { path, version, args, key, trace } = new;
    if let Some(key) = &key
        && let Some(run) = db.query(Run::by_key).eq(&*path).eq(&**key).unique()?
    {
        return Ok((run.id(), None));
    }
    let (issuer, subject) = starter.unzip();
    // The key was searched for, and ids are new.
    let run = db.insert_known_unique(Run {
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
    let advance = insert_advance(db, &run, now)?;
    Ok((run.id(), Some(advance)))
}

/// Returns the steps of a run, by position.
pub(crate) fn steps(db: &Db, run: Id<Run>) -> Result<Vec<Doc<Step>>> {
    Ok(db.query(Step::by_run).eq(run).take(usize::MAX)?)
}

/// Returns all steps of a run for a replay, with the stored signals that they wait for. Abandoned steps wait for ever:
/// their results are not used.
pub(super) fn entries(
    db: &mut DbMut,
    run: &mut Counted,
    mut all: Vec<Doc<Step>>,
    limits: &Limits,
    now: Millis,
) -> Result<BTreeMap<u32, Entry>> {
    for step in all.iter_mut().filter(|step| waits(step)) {
        deliver_signal(db, run, step, limits, now)?;
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

pub(super) fn job(run: &Run, of: OfRun, path: String, kind: JobKind, args: String, run_at: Millis) -> Job {
    let (issuer, subject) = match run.acts {
        true => (run.issuer.clone(), run.subject.clone()),
        false => (None, None),
    };
    let key = Some(of.key());
    Job { issuer, subject, key, step: Some(of), trace: run.trace.clone(), ..Job::new(path, kind, args, run_at) }
}

/// Schedules an advance of a run for now, unless one is pending.
pub(crate) fn wake(db: &mut DbMut, run: &Doc<Run>, now: Millis) -> Result<()> {
    if let Some(pending) = pending_advance(db, run)? {
        if pending.run_at > now {
            db.patch_doc(pending, |job| job.run_at = now)?;
        }
        return Ok(());
    }
    insert_advance(db, run, now).map(drop)
}

/// Schedules an advance of a run that has no pending one.
fn insert_advance(db: &mut DbMut, run: &Doc<Run>, now: Millis) -> Result<Doc<Job>> {
    let job = job(run, advance_of(run), run.path.clone(), JobKind::Mutation, "{}".to_owned(), now);
    // A clock that is set back delays no advance.
    Ok(db.insert_known_unique(Job { asked_at: Some(now), ..job })?)
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

/// Checks the size of a value that enters a journal of this size.
///
/// # Errors
/// `FAILED_PRECONDITION`: it is too large for a step, or the journal is full.
fn require_room(journal_bytes: i64, bytes: usize, limits: &Limits) -> Result<()> {
    let (value_max, journal_max) = (limits.workflow_value_bytes_max, limits.workflow_journal_bytes_max);
    if bytes > value_max {
        return Err(Error::failed_precondition(format!(
            "The value of the step has {bytes} bytes, more than {value_max} (setting limits.workflow_value_bytes_max)"
        )));
    }
    if usize::try_from(journal_bytes).unwrap_or(0).saturating_add(bytes) > journal_max {
        return Err(Error::failed_precondition(format!(
            "The journal of the run has no room for {bytes} bytes; its limit is {journal_max} (setting \
             limits.workflow_journal_bytes_max)"
        )));
    }
    Ok(())
}

/// Records the result of a pending step, and returns the step.
pub(super) fn record(
    db: &mut DbMut,
    run: &mut Counted,
    step: Doc<Step>,
    result: Result<Option<String>, JobError>,
    limits: &Limits,
    now: Millis,
) -> Result<Doc<Step>> {
    let result = result.and_then(|value| {
        let bytes = value.as_ref().map_or(0, String::len);
        run.require_room(bytes, limits).map_err(|error| JobError::of(&error))?;
        Ok((value, bytes))
    });
    let done = run.add_completed(result.as_ref().map_or(0, |(_, bytes)| *bytes));
    let error = result.as_ref().err().map(serde_json::to_string).transpose().map_err(Error::internal)?;
    let step = db.patch_doc(step, |step| {
        step.state = if result.is_ok() { StepState::Done } else { StepState::Failed };
        step.value = result.ok().and_then(|(value, _)| value);
        step.error = error;
        step.done = Some(done);
        step.ended_at = Some(now);
    })?;
    Ok(step)
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
    require_room(run.bytes, value.len(), limits)?;
    if db.query(Signal::by_run).eq(run.id()).keys(SIGNALS_MAX)?.len() >= SIGNALS_MAX {
        return Err(Error::failed_precondition(format!("{SIGNALS_MAX} signals of the run wait for a step")));
    }
    db.insert(Signal { run: run.id(), name: name.to_owned(), value })?;
    // A run that has not begun receives the signal later.
    match pending_advance(db, &run)? {
        Some(_) => Ok(()),
        None => insert_advance(db, &run, now).map(drop),
    }
}

/// Takes the oldest signal with a name.
pub(super) fn take_signal(db: &mut DbMut, run: Id<Run>, name: &str) -> Result<Option<String>> {
    let Some(signal) = db.query(Signal::by_run).eq(run).eq(name).first()? else { return Ok(None) };
    db.delete(signal.id())?;
    Ok(Some(signal.value.clone()))
}

/// Gives a stored signal to a wait, if there is one of its name.
fn deliver_signal(db: &mut DbMut, run: &mut Counted, step: &mut Doc<Step>, limits: &Limits, now: Millis) -> Result<()> {
    let Some(value) = take_signal(db, step.run, &step.name)? else { return Ok(()) };
    delete_job(db, &run.run.path, &OfRun { run: step.run, position: step.position, part: RunPart::Timer })?;
    *step = record(db, run, step.clone(), Ok(Some(value)), limits, now)?;
    Ok(())
}

/// Blocks a run until its code fits again.
pub(crate) fn block(db: &mut DbMut, run: Doc<Run>, reason: String, boot: u32) -> Result<()> {
    block_counted(db, Counted::new(run), reason, boot)
}

/// As [`block`], in an advance.
pub(super) fn block_counted(db: &mut DbMut, run: Counted, reason: String, boot: u32) -> Result<()> {
    let (id, path) = (run.run.id(), &run.run.path);
    if run.run.blocked.as_ref() != Some(&reason) {
        tracing::error!(target: "convoke::workflow", run = %id, workflow = &**path, "blocked: {reason}");
    }
    run.write(db, |run| {
        run.state = RunState::Blocked;
        run.blocked = Some(reason);
        run.blocked_by = Some(boot);
    })?;
    Ok(())
}

/// Gives up the steps that are still pending.
pub(super) fn abandon_all(db: &mut DbMut, run: &Doc<Run>, now: Millis) -> Result<()> {
    for step in steps(db, run.id())? {
        if step.state == StepState::Pending {
            abandon(db, run, step, now)?;
        }
    }
    Ok(())
}

/// Ends a run without pending steps: deletes the job of its advance, and its signals.
pub(super) fn finish(db: &mut DbMut, run: Counted, state: RunState, value: Option<String>, now: Millis) -> Result<()> {
    let id = run.run.id();
    delete_job(db, &run.run.path, &advance_of(&run.run))?;
    for (signal, _) in db.query(Signal::by_run).eq(id).keys(SIGNALS_MAX)? {
        db.delete(signal)?;
    }
    run.write(db, |run| {
        run.state = state;
        run.value = value;
        run.blocked = None;
        run.ended_at = Some(now);
    })?;
    Ok(())
}
