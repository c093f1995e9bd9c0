//! The scheduling of work by functions, and its cancellation.

use std::fmt::Display;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::finished::Finished;
use crate::context::shared::Call;
use crate::context::{ActionCtx, ActionFn, Context as _, MutationCtx, MutationFn, Read as _};
use crate::function::{Function, IsAction, IsMutation};
use crate::rows::job::{self, Job, JobKind, JobState};
use crate::rows::retry::Retry;
use crate::services::Services;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_core::identity::Identity;
use convoke_store::DbMut;

/// The time of scheduled work, and its caller. A [`Duration`] is a delay, [`Millis`] is a time. A time in the past
/// means immediately after the commit of the mutation.
#[derive(Clone, Debug)]
pub struct When {
    at: At,
    caller: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug)]
enum At {
    After(Duration),
    Time(Millis),
}

impl From<Duration> for When {
    fn from(after: Duration) -> Self {
        Self { at: At::After(after), caller: None }
    }
}

impl From<Millis> for When {
    fn from(time: Millis) -> Self {
        Self { at: At::Time(time), caller: None }
    }
}

impl When {
    /// Returns the time immediately after the commit of the mutation.
    pub fn now() -> Self {
        Duration::ZERO.into()
    }

    /// Runs the work as this identity instead of the runtime itself. The job stores only its issuer and subject. It
    /// reads everything else, including the user's rights, from the rows when it runs.
    #[must_use]
    pub fn acting_as(mut self, identity: &Identity) -> Self {
        self.caller = Some((identity.issuer.clone(), identity.subject.clone()));
        self
    }

    fn time(&self, now: Millis) -> Millis {
        match self.at {
            At::After(after) => now + after,
            At::Time(time) => time,
        }
    }

    /// Returns true if it is due after a delay, even an elapsed one, and not at a future time of day.
    fn is_delay(&self, now: Millis) -> bool {
        match self.at {
            At::After(_) => true,
            At::Time(time) => time <= now,
        }
    }
}

/// The kinds of functions that can be scheduled.
#[diagnostic::on_unimplemented(
    message = "a query cannot be scheduled: its result would be lost",
    note = "schedule a mutation or an action"
)]
pub trait Schedulable<F: Function> {
    /// The kind of the job.
    #[doc(hidden)]
    const KIND: JobKind;
}

impl<F: MutationFn> Schedulable<F> for IsMutation {
    const KIND: JobKind = JobKind::Mutation;
}

impl<F: ActionFn> Schedulable<F> for IsAction {
    const KIND: JobKind = JobKind::Action;
}

/// The handling of a pending job with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnPending {
    /// The pending job stays as it is, and the new request adds nothing.
    Keep,
    /// The pending job takes the new time, arguments and caller.
    Move,
}

/// A request to schedule a job.
#[derive(Clone)]
pub(crate) struct Request {
    path: String,
    kind: JobKind,
    args: String,
    when: When,
    key: Option<(String, OnPending)>,
    options: Options,
    /// The span that schedules it.
    trace: Option<String>,
}

/// The options of a job beyond its time and arguments.
#[derive(Clone, Default)]
struct Options {
    queue: Option<String>,
    lane: Option<String>,
    retry: Option<Retry>,
    then: Option<String>,
}

impl Request {
    fn of<F: Function>(
        call: &Call,
        when: impl Into<When>,
        args: F::Args,
        key: Option<(&str, OnPending)>,
    ) -> Result<Self>
    where
        F::Kind: Schedulable<F>,
    {
        let args = serde_json::to_string(&args).map_err(Error::internal)?;
        Ok(Self {
            path: call.services.path_of(F::DEF).to_owned(),
            kind: <F::Kind as Schedulable<F>>::KIND,
            args,
            when: when.into(),
            key: key.map(|(key, pending)| (key.to_owned(), pending)),
            options: Options::default(),
            trace: call.span.stored(),
        })
    }

    /// Writes the row. Returns its id, the time for which it is pending, and true if the request changed it.
    fn write(&self, db: &mut DbMut, now: Millis) -> Result<(Id<Job>, Millis, bool)> {
        let run_at = self.when.time(now);
        let (issuer, subject) = self.when.caller.clone().unzip();
        let mut row = Job {
            issuer,
            subject,
            asked_at: self.when.is_delay(now).then_some(now),
            key: self.key.as_ref().map(|(key, _)| key.clone()),
            trace: self.trace.clone(),
            ..Job::new(self.path.clone(), self.kind, self.args.clone(), run_at)
        };
        self.options.set(&mut row);
        match (job::pending_of_key(db, &row.path, row.key.as_deref())?, &self.key) {
            (Some(pending), Some((_, OnPending::Move))) => {
                let id = pending.id();
                db.replace(id, row)?;
                Ok((id, run_at, true))
            }
            (Some(pending), _) => Ok((pending.id(), pending.run_at, false)),
            (None, _) => Ok((db.insert(row)?, run_at, true)),
        }
    }
}

impl Options {
    fn set(&self, row: &mut Job) {
        row.due_at = self.queue.is_some().then_some(row.run_at);
        row.lane = self.queue.as_ref().map(|_| self.lane.clone().unwrap_or_default());
        row.queue.clone_from(&self.queue);
        row.retry.clone_from(&self.retry);
        row.then.clone_from(&self.then);
    }

    fn enter(&mut self, services: &Services, queue: &str) -> Result<()> {
        if services.queues().get(queue).is_none() {
            let hint = format!("no queue {queue:?} is declared; write `convoke::queue!({queue:?})` in the program");
            return Err(Error::internal(hint));
        }
        self.queue = Some(queue.to_owned());
        Ok(())
    }

    fn order_by(&mut self, key: String) -> Result<()> {
        if self.queue.is_none() {
            return Err(Error::internal("a key orders the jobs of a queue; write `.queue(…)` before `.key(…)`"));
        }
        self.lane = Some(key);
        Ok(())
    }
}

/// The kind of functions whose jobs can be retried with a policy.
#[diagnostic::on_unimplemented(
    message = "`retry` is for actions: a mutation has its effect exactly once",
    note = "`tries = …` in the attribute of the mutation sets its number of attempts"
)]
pub trait Retried {}
impl Retried for IsAction {}

/// A job that was scheduled by a mutation. Its methods set further options, in the same transaction. A mistake in one of
/// them fails the mutation.
pub struct Scheduled<'ctx, F> {
    ctx: &'ctx mut MutationCtx,
    job: Id<Job>,
    /// False if a pending job has the key and stays as it is.
    is_new: bool,
    options: Options,
    function: PhantomData<fn() -> F>,
}

impl<F: Function> Scheduled<'_, F> {
    /// Returns the id of the job.
    pub fn id(&self) -> Id<Job> {
        self.job
    }

    /// Runs the job in a queue, within the limits of the queue over all nodes.
    pub fn queue(self, name: &str) -> Self {
        self.with(|options, services| options.enter(services, name))
    }

    /// Sets the key within the queue: the jobs of different keys take turns, and the limit `per_key` applies.
    pub fn key(self, key: impl Display) -> Self {
        self.with(|options, _| options.order_by(key.to_string()))
    }

    /// Sets the retries of an action.
    pub fn retry(self, retry: impl Into<Retry>) -> Self
    where
        F::Kind: Retried,
    {
        self.with(|options, _| {
            options.retry = Some(retry.into());
            Ok(())
        })
    }

    /// Calls a mutation once with the outcome of the job: its value, its last error, or that it was cancelled. The
    /// mutation is a job of its own, which is written in the transaction of the end of this job.
    pub fn then<G: MutationFn<Args = Finished<F>>>(self) -> Self {
        self.with(|options, services| {
            options.then = Some(services.path_of(G::DEF).to_owned());
            Ok(())
        })
    }

    fn with(mut self, change: impl FnOnce(&mut Options, &Services) -> Result<()>) -> Self {
        if !self.is_new {
            return self;
        }
        let services = self.ctx.call().services.clone();
        let changed = change(&mut self.options, &services).and_then(|()| {
            let options = &self.options;
            self.ctx.db_mut().patch(self.job, |job| options.set(job))?;
            Ok(())
        });
        if let Err(error) = changed {
            self.ctx.fail_later(error);
        }
        self
    }
}

/// Deletes a pending job, and reports it as cancelled.
pub(crate) fn cancel(db: &mut DbMut, id: Id<Job>, now: Millis) -> Result<bool> {
    match db.get(id)?.filter(|job| job.state == JobState::Pending) {
        Some(job) if job.step.is_some() => {
            let run = job.step.as_ref().map(|of| of.run.to_string()).unwrap_or_default();
            Err(Error::failed_precondition(format!("The job is a step of the run {run}; cancel the run")))
        }
        Some(job) => job::discard(db, &job, now).map(|()| true),
        None => Ok(false),
    }
}

impl MutationCtx {
    /// Calls a mutation or action after the commit of this mutation, at its time. The returned [`Scheduled`] has the id
    /// of the job, and sets further options.
    ///
    /// A mutation has its effect exactly once and has up to five attempts. An action starts at most once, unless
    /// [`Scheduled::retry`] or `tries = …` in its attribute sets another number.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn schedule<F: Function>(&mut self, when: impl Into<When>, args: impl Into<F::Args>) -> Result<Scheduled<'_, F>>
    where
        F::Kind: Schedulable<F>,
    {
        self.schedule_request(Request::of::<F>(self.call(), when, args.into(), None)?)
    }

    /// As [`MutationCtx::schedule`], unless a job of this function and `key` is pending. Then that job stays as it is,
    /// and its id is returned.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn schedule_once<F: Function>(
        &mut self,
        key: &str,
        when: impl Into<When>,
        args: impl Into<F::Args>,
    ) -> Result<Scheduled<'_, F>>
    where
        F::Kind: Schedulable<F>,
    {
        let key = Some((key, OnPending::Keep));
        self.schedule_request(Request::of::<F>(self.call(), when, args.into(), key)?)
    }

    /// As [`MutationCtx::schedule`], unless a job of this function and `key` is pending. Then that job takes the new
    /// time, arguments and options. With repeated requests, it runs after the last one.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn schedule_debounced<F: Function>(
        &mut self,
        key: &str,
        when: impl Into<When>,
        args: impl Into<F::Args>,
    ) -> Result<Scheduled<'_, F>>
    where
        F::Kind: Schedulable<F>,
    {
        let key = Some((key, OnPending::Move));
        self.schedule_request(Request::of::<F>(self.call(), when, args.into(), key)?)
    }

    fn schedule_request<F>(&mut self, request: Request) -> Result<Scheduled<'_, F>> {
        let now = self.now();
        let (job, run_at, is_new) = request.write(self.db_mut(), now)?;
        self.wake_at(run_at);
        Ok(Scheduled { ctx: self, job, is_new, options: Options::default(), function: PhantomData })
    }

    /// Wakes the scheduler after the commit, for work at `run_at`.
    pub(crate) fn wake_at(&mut self, run_at: Millis) {
        let services = self.call().services.clone();
        self.after_commit(move || services.alarm().wake(run_at));
    }

    /// Cancels a pending job. Returns `false` if it has run, has failed, or is an action that was started.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn cancel(&mut self, job: Id<Job>) -> Result<bool> {
        let now = self.now();
        self.wake_at(now);
        cancel(self.db_mut(), job, now)
    }

    /// Cancels the pending job of this function and key. Returns `false` if there is no such job.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn cancel_key<F: Function>(&mut self, key: &str) -> Result<bool>
    where
        F::Kind: Schedulable<F>,
    {
        let path = self.call().services.path_of(F::DEF).to_owned();
        match job::pending_of_key(self.db(), &path, Some(key))? {
            Some(job) => self.cancel(job.id()),
            None => Ok(false),
        }
    }
}

/// A job that an action schedules when this is awaited, in a separate transaction. Its methods set further options, as
/// those of [`Scheduled`].
#[must_use = "the job is scheduled when this is awaited"]
pub struct Scheduling<'ctx, F> {
    ctx: &'ctx ActionCtx,
    request: Result<Request>,
    function: PhantomData<fn() -> F>,
}

impl<F: Function> Scheduling<'_, F> {
    /// As [`Scheduled::queue`].
    pub fn queue(self, name: &str) -> Self {
        let services = &self.ctx.call().services;
        self.with(|options| options.enter(services, name))
    }

    /// As [`Scheduled::key`].
    pub fn key(self, key: impl Display) -> Self {
        self.with(|options| options.order_by(key.to_string()))
    }

    /// As [`Scheduled::retry`].
    pub fn retry(self, retry: impl Into<Retry>) -> Self
    where
        F::Kind: Retried,
    {
        self.with(|options| {
            options.retry = Some(retry.into());
            Ok(())
        })
    }

    /// As [`Scheduled::then`].
    pub fn then<G: MutationFn<Args = Finished<F>>>(self) -> Self {
        let path = self.ctx.call().services.path_of(G::DEF).to_owned();
        self.with(|options| {
            options.then = Some(path);
            Ok(())
        })
    }

    fn with(mut self, change: impl FnOnce(&mut Options) -> Result<()>) -> Self {
        self.request = self.request.and_then(|mut request| {
            change(&mut request.options)?;
            Ok(request)
        });
        self
    }
}

/// Writes the job. Fails if an option is invalid, or if the store fails.
impl<'ctx, F: 'ctx> IntoFuture for Scheduling<'ctx, F> {
    type Output = Result<Id<Job>>;
    type IntoFuture = BoxFuture<'ctx, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { ctx, request, .. } = self;
        Box::pin(async move {
            let request = request?;
            let services = &ctx.call().services;
            // The call's `now` is the start of the action, which may have waited since.
            let now = services.clock().now();
            let (id, run_at, _) = services.database().write("schedule", move |db| request.write(db, now)).await?;
            services.alarm().wake(run_at);
            Ok(id)
        })
    }
}

impl ActionCtx {
    /// As [`MutationCtx::schedule`], in a separate transaction, which is committed when this was awaited.
    pub fn schedule<F: Function>(&self, when: impl Into<When>, args: impl Into<F::Args>) -> Scheduling<'_, F>
    where
        F::Kind: Schedulable<F>,
    {
        self.scheduling(when, args, None)
    }

    /// As [`MutationCtx::schedule_once`], in a separate transaction.
    pub fn schedule_once<F: Function>(
        &self,
        key: &str,
        when: impl Into<When>,
        args: impl Into<F::Args>,
    ) -> Scheduling<'_, F>
    where
        F::Kind: Schedulable<F>,
    {
        self.scheduling(when, args, Some((key, OnPending::Keep)))
    }

    /// As [`MutationCtx::schedule_debounced`], in a separate transaction.
    pub fn schedule_debounced<F: Function>(
        &self,
        key: &str,
        when: impl Into<When>,
        args: impl Into<F::Args>,
    ) -> Scheduling<'_, F>
    where
        F::Kind: Schedulable<F>,
    {
        self.scheduling(when, args, Some((key, OnPending::Move)))
    }

    fn scheduling<F: Function>(
        &self,
        when: impl Into<When>,
        args: impl Into<F::Args>,
        key: Option<(&str, OnPending)>,
    ) -> Scheduling<'_, F>
    where
        F::Kind: Schedulable<F>,
    {
        let request = Request::of::<F>(self.call(), when, args.into(), key);
        Scheduling { ctx: self, request, function: PhantomData }
    }

    /// As [`MutationCtx::cancel`], in a separate transaction.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn cancel(&self, job: Id<Job>) -> Result<bool> {
        let services = &self.call().services;
        let now = services.clock().now();
        let cancelled = services.database().write("cancel", move |db| cancel(db, job, now)).await?;
        services.alarm().wake(now);
        Ok(cancelled)
    }
}
