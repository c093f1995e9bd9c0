//! The run of one job.
//!
//! There are two kinds of failures. A failure of the function is counted and backs off, and in the end it is visible. A
//! failure of the store or of a queue is not counted: the job waits until there is room.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::Scheduler;
use super::job::{self, AfterFailure, Failure, Job, JobState};
use crate::call::dispatch;
use crate::codec::Format;
use crate::codec::decode::Body;
use crate::context::MutationCtx;
use crate::context::handler::Prepared;
use crate::context::shared::{Call, LeaseCheck};
use crate::execute;
use crate::logs::Capture;
use crate::observe::{By, await_all};
use crate::registry::Registered;
use convoke_core::answer::writer::Writer;
use convoke_core::error::{Error, Result};
use convoke_store::{Doc, Flow, Nodes, StoreError};

/// First and longest pause before the end of an action is written again.
const RECORD_PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// The end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptEnd {
    /// The function ran, or the job was gone.
    Ran,
    /// There was no room, or the store rejected the write. The job is unchanged.
    NoRoom,
}

impl Scheduler {
    /// Runs a due job.
    ///
    /// # Errors
    /// A failure of the store on writing the end of the attempt.
    pub(crate) async fn run(&self, job: &Doc<Job>) -> Result<AttemptEnd> {
        let Some(function) = self.services().registry().get(&job.path).cloned() else {
            if self.has_other_nodes() {
                // A node of another release has the function.
                return Ok(self.no_room());
            }
            let error = Error::internal(format!("no function {}", job.path));
            return self.failed(job, 1, Failure { for_good: true, ..Failure::of(&error, job.run_at) }).await;
        };
        let tries = job::tries(function.def);
        let prepared = match self.dispatcher.handlers().prepare(&function, Body::Args(&job.args, Format::Json)) {
            Ok(prepared) => prepared,
            // Another version of the function wrote the arguments. They will not fit at the next attempt either.
            Err(error) => {
                let failure = Failure { for_good: true, ..Failure::of(&error, job.run_at) };
                return self.failed(job, tries, failure).await;
            }
        };
        let request_id: Arc<str> = job.id().to_string().into();
        let capture = Capture::new(self.services().limits(), request_id.clone(), function.path.clone());
        let call = Call::new(self.services().clone(), function.def, job.caller(), Flow::SYSTEM, request_id).of_job();
        match prepared {
            Prepared::Mutation(prepared) => {
                let call = Arc::new(call);
                let (id, run_at) = (job.id(), job.run_at);
                let work = move |ctx: &mut MutationCtx| {
                    if !job::consume(ctx.db_mut(), id, run_at)? {
                        return Ok(false);
                    }
                    prepared.run(ctx, &mut Writer::unread())?;
                    Ok(true)
                };
                let result = execute::mutation(call.clone(), capture.clone(), &function, work).await;
                match result {
                    Ok(false) => Ok(AttemptEnd::Ran),
                    Ok(true) => {
                        self.completed(job, &call, &function, &capture, None).await;
                        Ok(AttemptEnd::Ran)
                    }
                    Err(error) if is_of_the_store(&error) => Ok(self.no_room()),
                    Err(error) => {
                        self.completed(job, &call, &function, &capture, Some(&error)).await;
                        self.failed(job, tries, Failure::of(&error, run_at)).await
                    }
                }
            }
            Prepared::Action(prepared) => {
                let Ok(permit) = self.services().action_permit() else { return Ok(self.no_room()) };
                if !self.claim(job).await? {
                    return Ok(AttemptEnd::Ran);
                }
                let call = Arc::new(if self.has_other_nodes() { call.under(self.lease(job)) } else { call });
                let result = execute::action(call.clone(), capture.clone(), permit, move |ctx| {
                    prepared.run(ctx, Writer::unread())
                })
                .await;
                self.completed(job, &call, &function, &capture, result.as_ref().err()).await;
                self.record_end(job, &function, result.map(|_| ())).await
            }
            Prepared::Query(_) => {
                let error = Error::internal(format!("{} is a query now", function.path));
                self.failed(job, 1, Failure { for_good: true, ..Failure::of(&error, job.run_at) }).await
            }
        }
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

    fn no_room(&self) -> AttemptEnd {
        self.stats.postponed.fetch_add(1, Relaxed);
        AttemptEnd::NoRoom
    }

    async fn claim(&self, job: &Doc<Job>) -> Result<bool> {
        let (id, run_at, boot, now) = (job.id(), job.run_at, self.services().boot(), self.services().clock().now());
        self.services().database().write("claim a job", move |db| job::claim(db, id, run_at, boot, now)).await
    }

    /// Returns the lease of a claimed action: another process may start it if this process is unreachable for long.
    fn lease(&self, job: &Doc<Job>) -> LeaseCheck {
        let (id, attempt, boot) = (job.id(), job.attempts + 1, self.services().boot());
        Arc::new(move |db| job::require_held(db, id, attempt, boot))
    }

    /// Writes the end of an action, and retries until it is written. A row that stays running counts as interrupted
    /// after a restart, and blocks its cron until then.
    async fn record_end(&self, job: &Doc<Job>, function: &Registered, result: Result<()>) -> Result<AttemptEnd> {
        let (id, boot) = (job.id(), self.services().boot());
        let tries = job::tries(function.def);
        let mut pause = RECORD_PAUSES.0;
        loop {
            let written = match &result {
                Ok(()) => self
                    .services()
                    .database()
                    .write("end a job", move |db| job::end(db, id, boot))
                    .await
                    .map(|()| AttemptEnd::Ran),
                Err(error) => {
                    let failure = Failure { boot: Some(boot), ..Failure::of(error, job.run_at) };
                    self.failed(job, tries, failure).await
                }
            };
            match written {
                Ok(ended) => return Ok(ended),
                Err(error) => {
                    let path = &*job.path;
                    tracing::warn!(target: "convoke::job", job = %id, function = path, "cannot record the end of the job yet; retrying: {}", error.chain());
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(RECORD_PAUSES.1);
                }
            }
        }
    }

    /// Records a failed attempt and logs it for the operator.
    async fn failed(&self, job: &Doc<Job>, tries: u32, failure: Failure) -> Result<AttemptEnd> {
        let (id, now) = (job.id(), self.services().clock().now());
        let text = failure.text.clone();
        let outcome = self
            .services()
            .database()
            .write("record a failed job", move |db| job::fail(db, id, &failure, tries, now))
            .await?;
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

    /// Returns true if other processes may serve the database too.
    pub(super) fn has_other_nodes(&self) -> bool {
        matches!(self.services().store().nodes(), Nodes::Many { .. })
    }

    /// Fails or retries the actions whose process has ended: an earlier process of this node, or an unreachable node.
    ///
    /// # Errors
    /// A failure of the store.
    pub(crate) async fn recover(&self) -> Result<()> {
        let (boot, nodes) = (self.services().boot(), self.services().store().nodes());
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
            let function = self.services().registry().get(&job.path);
            if function.is_none() && self.has_other_nodes() {
                // Only nodes with the function know its number of attempts.
                continue;
            }
            let tries = function.map_or(1, |function| job::tries(function.def));
            let text = "INTERNAL: interrupted by a restart".to_owned();
            self.failed(&job, tries, Failure { run_at: job.run_at, text, boot: job.boot, for_good: false }).await?;
        }
        Ok(())
    }
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
