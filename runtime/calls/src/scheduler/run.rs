//! The run of one job.
//!
//! There are two kinds of failures. A failure of the function is counted and backs off, and in the end it is visible. A
//! failure of the store or of a queue is not counted: the job waits until there is room.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::handover::{Early, Handover};
use super::state::Scheduler;
use super::{queue, step};
use crate::call::dispatch;
use crate::codec::Format;
use crate::codec::decode::Body;
use crate::context::handler::{Prepared, PreparedAction};
use crate::context::shared::{Call, LeaseCheck};
use crate::context::{Context as _, MutationCtx, QueryCtx, Read as _};
use crate::execute;
use crate::logs::Capture;
use crate::observe::{By, await_all};
use crate::registry::Registered;
use crate::rows::job::{self, AfterFailure, Failure, Job, JobKind, JobState};
use crate::rows::outcome;
use crate::rows::retry::until_written;
use crate::rows::run::{OfRun, RunPart};
use crate::trace::{Failure as SpanFailure, Span, SpanKind};
use crate::workflow::advance::{Advancer, Next, Suspended, Upcoming};
use convoke_core::answer::pieces::Pieces;
use convoke_core::answer::writer::Writer;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::queues::Queue;
use convoke_store::{DbMut, Doc, Flow, Nodes, StoreError};
use parking_lot::Mutex;
use serde_json::value::RawValue;

/// Time until a step whose function does not fit is due again.
const BLOCKED: Duration = Duration::from_secs(60);
/// Time until a job without room is due again in its queue.
const RETURN: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptEnd {
    /// The function ran, or the job was gone.
    Ran,
    /// There was no room, or the store rejected the write. The job is unchanged.
    NoRoom,
}

/// The place of a job in the jobs of its run.
pub(crate) struct Chain<'a> {
    /// The way to the next job.
    pub handover: &'a Handover,
    /// The code of the run, if it is in memory.
    pub suspended: Option<Suspended>,
}

impl Scheduler {
    /// Runs a due job, or a job that was claimed from a queue.
    ///
    /// # Errors
    /// A failure of the store on writing the end of the attempt.
    pub(crate) async fn run(&self, job: &Doc<Job>, chain: Option<Chain<'_>>) -> Result<AttemptEnd> {
        let (handover, suspended) = chain.map_or((None, None), |chain| (Some(chain.handover), chain.suspended));
        if let Some(of) = job.step.as_ref().filter(|of| matches!(of.part, RunPart::Advance | RunPart::Timer)) {
            return self.run_part(job, of.clone(), handover).await;
        }
        let Some(function) = self.services().registry().get(&job.path).cloned() else {
            if self.has_other_nodes() {
                // A node of another release has the function.
                return self.no_room(job).await;
            }
            if job.step.is_some() {
                return self.block_step(job, format!("no function {}", job.path)).await;
            }
            let error = Error::internal(format!("no function {}", job.path));
            return self.failed(job, 1, Failure { for_good: true, ..Failure::of(&error, job.run_at) }).await;
        };
        let tries = job.tries(function.def);
        let prepared = match self.dispatcher.handlers().prepare(&function, Body::Args(&job.args, Format::Json)) {
            Ok(prepared) => prepared,
            // Another version of the function wrote the arguments. They will not fit at the next attempt either.
            Err(error) if job.step.is_some() => {
                return self
                    .block_step(job, format!("the arguments of {} do not fit: {}", job.path, error.chain()))
                    .await;
            }
            Err(error) => {
                let failure = Failure { for_good: true, ..Failure::of(&error, job.run_at) };
                return self.failed(job, tries, failure).await;
            }
        };
        let id: Arc<str> = job.id().to_string().into();
        let attempt = job.step.as_ref().map_or_else(|| id.clone(), |of| of.key().into());
        let span = Span::scheduled(
            self.services().recorder(),
            SpanKind::Consumer,
            || function.path.clone(),
            job.trace.as_deref(),
        );
        let capture = Capture::new(self.services().limits(), id.clone(), function.path.clone(), span.clone());
        let call = Call::new(self.services().clone(), function.def, job.caller(), Flow::SYSTEM, id).of_job(attempt);
        let call = call.within(span);
        let ready = ReadyJob { job, function: &function, capture, tries, handover, suspended };
        match prepared {
            Prepared::Mutation(mutation) => {
                self.run_mutation(ready, call, move |ctx, out| mutation.run(ctx, out)).await
            }
            Prepared::Action(action) => self.run_action(ready, call, action).await,
            Prepared::Query(query) if job.step.is_some() => {
                let read = move |ctx: &mut MutationCtx, out: &mut Writer| {
                    query.run(&QueryCtx::new(ctx.call().clone(), ctx.db().clone()), out)
                };
                self.run_mutation(ready, call, read).await
            }
            Prepared::Query(_) => {
                let error = Error::internal(format!("{} is a query now", function.path));
                call.span.end(SpanFailure::of(&error));
                self.failed(job, 1, Failure { for_good: true, ..Failure::of(&error, job.run_at) }).await
            }
        }
    }

    async fn run_mutation(
        &self,
        ready: ReadyJob<'_>,
        call: Call,
        mutation: impl Fn(&mut MutationCtx, &mut Writer) -> Result<()> + Send + 'static,
    ) -> Result<AttemptEnd> {
        let ReadyJob { job, function, capture, tries, handover, suspended } = ready;
        // An attempt that is repeated reads the journal.
        let suspended = Mutex::new(suspended);
        let (call, read, runs) = (Arc::new(call), job.clone(), self.runs.clone());
        let early = handover.cloned();
        let work = move |ctx: &mut MutationCtx| {
            if !job::consume(ctx.db_mut(), &read)? {
                return Ok(None);
            }
            if read.then.is_none() && read.step.is_none() {
                mutation(ctx, &mut Writer::unread())?;
                return Ok(Some(Followed::by_any()));
            }
            let mut out = ctx.call().services.writer();
            mutation(ctx, &mut out)?;
            let value = raw(&out.finish()?)?;
            let now = ctx.now();
            let upcoming = succeeded(&runs, ctx.db_mut(), &read, (Some(&value), suspended.lock().take()), now)?;
            Ok(Some(Followed::within(upcoming, early.as_ref())))
        };
        let result = execute::mutation(call.clone(), capture.clone(), function, work).await;
        match result {
            Ok(None) => {
                call.span.discard();
                Ok(AttemptEnd::Ran)
            }
            Ok(Some(followed)) => {
                self.follow(followed, handover, job.run_at);
                self.completed(job, &call, function, &capture, None).await;
                Ok(AttemptEnd::Ran)
            }
            Err(error) if is_of_the_store(&error) => {
                call.span.discard();
                self.no_room(job).await
            }
            Err(error) => {
                self.completed(job, &call, function, &capture, Some(&error)).await;
                let (boot, for_good) = (job.boot, !job.is_retried_after(&error));
                self.failed(job, tries, Failure { boot, for_good, ..Failure::of(&error, job.run_at) }).await
            }
        }
    }

    async fn run_action(&self, ready: ReadyJob<'_>, call: Call, action: Box<dyn PreparedAction>) -> Result<AttemptEnd> {
        let ReadyJob { job, function, capture, .. } = ready;
        let Ok(permit) = self.services().action_permit() else {
            call.span.discard();
            return self.no_room(job).await;
        };
        let attempt = match job.state {
            JobState::Running => job.attempts,
            JobState::Pending | JobState::Failed => {
                if !self.claim(job).await? {
                    call.span.discard();
                    return Ok(AttemptEnd::Ran);
                }
                job.attempts + 1
            }
        };
        let call = Arc::new(if self.has_other_nodes() { call.under(self.lease(job, attempt)) } else { call });
        let has_reader = job.then.is_some() || job.step.is_some();
        let out = if has_reader { self.services().writer() } else { Writer::unread() };
        let work = move |ctx| action.run(ctx, out);
        let result = execute::action(call.clone(), capture.clone(), permit, work).await;
        self.completed(job, &call, function, &capture, result.as_ref().err()).await;
        let result = result.and_then(|value| has_reader.then(|| raw(&value)).transpose());
        Ok(self.record_end(job, function, result).await)
    }

    /// Reports a completed attempt to the observers.
    async fn completed(
        &self,
        job: &Doc<Job>,
        call: &Call,
        function: &Registered,
        capture: &Capture,
        error: Option<&Error>,
    ) {
        let log_lines = capture.take();
        let ended = dispatch::CallEnd {
            function,
            by: By::Scheduler,
            key: None,
            error,
            log_lines: &log_lines,
            arguments: Some(Body::Args(&job.args, Format::Json)),
            result_bytes: None,
        };
        await_all(self.dispatcher.completed(call, ended, capture)).await;
    }

    /// Advances a run of a workflow, by a job without a function.
    async fn run_part(&self, job: &Doc<Job>, of: OfRun, handover: Option<&Handover>) -> Result<AttemptEnd> {
        let (read, runs, now) = (job.clone(), self.runs.clone(), self.services().clock().now());
        let early = handover.cloned();
        let advance = move |db: &mut DbMut| match job::consume(db, &read)? {
            true => Ok(Some(Followed::within(step::advance(&runs, db, &of, now)?, early.as_ref()))),
            false => Ok(None),
        };
        match self.services().database().write("advance a run", advance).await {
            Ok(followed) => {
                if let Some(followed) = followed {
                    self.follow(followed, handover, now);
                }
                Ok(AttemptEnd::Ran)
            }
            Err(error) if is_of_the_store(&error) => self.no_room(job).await,
            Err(error) => self.failed(job, job::MUTATION_TRIES, Failure::of(&error, job.run_at)).await,
        }
    }

    /// Continues after the commit of a job: with the next job of the run, or with the loop, which finds all others.
    fn follow(&self, followed: Followed, handover: Option<&Handover>, since: Millis) {
        let is_left = match (followed.next, handover) {
            (Some(next), Some(handover)) => !handover.give(next),
            _ => false,
        };
        if is_left || followed.has_others {
            self.services().alarm().wake(since);
        }
    }

    /// Blocks the run of a step whose function does not fit, and looks at the step again later.
    async fn block_step(&self, job: &Doc<Job>, reason: String) -> Result<AttemptEnd> {
        let (read, boot, now) = (job.clone(), self.services().process(), self.services().clock().now());
        let block = move |db: &mut DbMut| step::block(db, &read, &reason, boot, now + BLOCKED);
        self.services().database().write("block a run", block).await?;
        Ok(AttemptEnd::Ran)
    }

    /// Leaves a job to a later attempt. A claimed job returns to its queue.
    async fn no_room(&self, job: &Doc<Job>) -> Result<AttemptEnd> {
        self.stats.postponed.fetch_add(1, Relaxed);
        self.release(job).await;
        Ok(AttemptEnd::NoRoom)
    }

    /// Returns a claimed job to its queue, and retries until it is written: no other process takes it over while this
    /// one lives.
    pub(super) async fn release(&self, job: &Doc<Job>) {
        if job.state != JobState::Running {
            return;
        }
        let (id, boot, path) = (job.id(), job.boot, &*job.path);
        let write = || {
            let now = self.services().clock().now();
            let release = move |db: &mut DbMut| job::release(db, id, boot, now + RETURN, now);
            self.services().database().write("release a job", release)
        };
        until_written(write, |cause| {
            tracing::warn!(target: "convoke::job", job = %id, function = path, "cannot return the job to its queue yet; retrying: {cause}");
        })
        .await;
    }

    /// Claims the jobs of a queue that may start now, at most `room`.
    pub(super) async fn claim_from(&self, queue: Queue, room: usize) -> Result<Vec<Doc<Job>>> {
        let (boot, now) = (self.services().process(), self.services().clock().now());
        let claim = move |db: &mut DbMut| queue::claim(db, &queue, boot, now, room);
        self.services().database().write("claim jobs of a queue", claim).await
    }

    async fn claim(&self, job: &Doc<Job>) -> Result<bool> {
        let (job, boot, now) = (job.clone(), self.services().process(), self.services().clock().now());
        self.services().database().write("claim a job", move |db| job::claim(db, &job, boot, now)).await
    }

    /// Returns the lease of a claimed action: another process may start it if this process is unreachable for long.
    fn lease(&self, job: &Doc<Job>, attempt: u32) -> LeaseCheck {
        let (id, boot) = (job.id(), self.services().process());
        Arc::new(move |db| job::require_held(db, id, attempt, boot))
    }

    /// Writes the end of an action, and retries until it is written. A row that stays running counts as interrupted
    /// after a restart, and blocks its cron until then.
    async fn record_end(
        &self,
        job: &Doc<Job>,
        function: &Registered,
        result: Result<Option<Box<RawValue>>>,
    ) -> AttemptEnd {
        let (id, boot, path) = (job.id(), self.services().process(), &*job.path);
        let tries = job.tries(function.def);
        let write = async || match &result {
            Ok(value) => {
                let (value, now) = (value.clone(), self.services().clock().now());
                let runs = self.runs.clone();
                let end = move |db: &mut DbMut| match job::end(db, id, boot)? {
                    Some(job) => succeeded(&runs, db, &job, (value.as_deref(), None), now).map(drop),
                    None => Ok(()),
                };
                let written = self.services().database().write("end a job", end).await;
                self.services().alarm().wake(now);
                written.map(|()| AttemptEnd::Ran)
            }
            Err(error) => {
                let for_good = !job.is_retried_after(error);
                let failure = Failure { boot: Some(boot), for_good, ..Failure::of(error, job.run_at) };
                self.failed(job, tries, failure).await
            }
        };
        until_written(write, |cause| {
            tracing::warn!(target: "convoke::job", job = %id, function = path, "cannot record the end of the job yet; retrying: {cause}");
        })
        .await
    }

    /// Records a failed attempt and logs it for the operator.
    async fn failed(&self, job: &Doc<Job>, tries: u32, failure: Failure) -> Result<AttemptEnd> {
        let (id, now) = (job.id(), self.services().clock().now());
        let text = failure.text.clone();
        let (has_order, of, runs) = (self.has_order(job), job.step.clone(), self.runs.clone());
        let record = move |db: &mut DbMut| {
            let outcome = job::fail(db, id, &failure, tries, has_order, now)?;
            if let Some(of) = &of {
                step::failed(&runs, db, of, &failure, outcome, now)?;
            }
            Ok(outcome)
        };
        let outcome = self.services().database().write("record a failed job", record).await?;
        if job.then.is_some() || job.step.is_some() {
            self.services().alarm().wake(now);
        }
        let path = &*job.path;
        let stats = &self.stats;
        match outcome {
            AfterFailure::Retry(next) => {
                stats.again.fetch_add(1, Relaxed);
                self.services().alarm().wake(next);
                tracing::warn!(target: "convoke::job", job = %id, function = path, again_at = next.0, "{text}");
            }
            AfterFailure::Final => {
                stats.failed.fetch_add(1, Relaxed);
                tracing::error!(target: "convoke::job", job = %id, function = path, "failed: {text}");
            }
            AfterFailure::Gone => {
                tracing::warn!(target: "convoke::job", job = %id, function = path, "not retried: {text}")
            }
        }
        Ok(AttemptEnd::Ran)
    }

    /// Returns true if the jobs of its key run in order.
    fn has_order(&self, job: &Job) -> bool {
        let queue = job.queue.as_deref().and_then(|queue| self.services().queues().get(queue));
        queue.is_some_and(|queue| queue.per_key == 1) && job.lane.as_deref().is_some_and(|lane| !lane.is_empty())
    }

    /// Returns true if other processes may serve the database too.
    pub(super) fn has_other_nodes(&self) -> bool {
        matches!(self.services().store().nodes(), Nodes::Many { .. })
    }

    /// Fails or retries the actions whose process has ended: an earlier process of this node, or an unreachable node.
    pub(crate) async fn recover(&self) -> Result<()> {
        let (boot, nodes) = (self.services().process(), self.services().store().nodes());
        let has_ended =
            move |job: &Doc<Job>| job.boot != Some(boot) && !job.boot.is_some_and(|boot| nodes.may_live(boot));
        let left = self
            .services()
            .database()
            .read(move |db| {
                let running = db.query(Job::by_state).eq(JobState::Running).take(usize::MAX)?;
                Ok(running.into_iter().filter(&has_ended).collect::<Vec<_>>())
            })
            .await?;
        for job in left {
            if job.kind == JobKind::Mutation {
                // It was claimed and not committed, so it has not run.
                let (id, boot, now) = (job.id(), job.boot, self.services().clock().now());
                let release = move |db: &mut DbMut| job::release(db, id, boot, now, now);
                self.services().database().write("release a job", release).await?;
                self.services().alarm().wake(now);
                continue;
            }
            let function = self.services().registry().get(&job.path);
            if function.is_none() && self.has_other_nodes() {
                // Only nodes with the function know its number of attempts.
                continue;
            }
            // A step runs at least once.
            let tries = match &job.step {
                Some(_) => u32::MAX,
                None => function.map_or(1, |function| job.tries(function.def)),
            };
            let interrupted = Error::internal("interrupted by a restart");
            let text = "INTERNAL: interrupted by a restart".to_owned();
            let failure = Failure { text, boot: job.boot, ..Failure::of(&interrupted, job.run_at) };
            self.failed(&job, tries, failure).await?;
        }
        Ok(())
    }
}

/// A job with its function.
struct ReadyJob<'a> {
    job: &'a Doc<Job>,
    function: &'a Registered,
    capture: Capture,
    tries: u32,
    handover: Option<&'a Handover>,
    suspended: Option<Suspended>,
}

/// The work after a job.
struct Followed {
    /// The next job of the run, if it waits for the commit.
    next: Option<Next>,
    /// True if the loop must look for more.
    has_others: bool,
}

impl Followed {
    /// Returns the work after a job that may have scheduled any other.
    fn by_any() -> Self {
        Self { next: None, has_others: true }
    }

    /// Hands the next job of a run over within its transaction, if that is possible.
    fn within(upcoming: Upcoming, handover: Option<&Handover>) -> Self {
        let Upcoming { next, has_others } = upcoming;
        match (next, handover) {
            (Some(next), Some(handover)) => match handover.begin(next) {
                Early::Begun => Self { next: None, has_others },
                Early::AfterCommit(next) => Self { next: Some(*next), has_others },
                Early::Left => Self::by_any(),
            },
            (None, _) => Self { next: None, has_others },
            (Some(_), None) => Self::by_any(),
        }
    }
}

/// Hands the value of a job to its reader, in the transaction of its end.
fn succeeded(
    runs: &Advancer,
    db: &mut DbMut,
    job: &Doc<Job>,
    (value, suspended): (Option<&RawValue>, Option<Suspended>),
    now: Millis,
) -> Result<Upcoming> {
    match &job.step {
        Some(of) => step::succeeded(runs, db, (job, of), (value, suspended), now),
        None => job::report(db, job, &outcome::value(value), now).map(|()| Upcoming::others()),
    }
}

/// Returns a result as JSON.
fn raw(value: &Pieces) -> Result<Box<RawValue>> {
    let text = String::from_utf8(value.joined().to_vec()).map_err(Error::internal)?;
    RawValue::from_string(text).map_err(Error::internal)
}

/// Returns true if the error comes from the store or its queue. The function may use the same codes.
fn is_of_the_store(error: &Error) -> bool {
    use std::error::Error as _;
    let failure = error.source().and_then(|cause| cause.downcast_ref::<StoreError>());
    use StoreError::{Closed, CommitUnknown, Contended, Disk, NoRoom, NotWritable, QueueFull, ShareFull, Unreachable};
    matches!(
        failure,
        Some(
            QueueFull(_)
                | ShareFull(_)
                | Closed(_)
                | CommitUnknown(_)
                | Contended(_)
                | Disk(_)
                | NoRoom(_)
                | NotWritable(_)
                | Unreachable(_)
        )
    )
}
