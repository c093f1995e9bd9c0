//! The scheduling of work by functions, and its cancellation.

use std::time::Duration;

use super::job::{self, Job, JobKind, JobState};
use crate::context::{ActionCtx, ActionFn, Context as _, MutationCtx, MutationFn};
use crate::function::{Function, IsAction, IsMutation};
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
}

impl Request {
    fn of<F: Function>(
        services: &Services,
        when: impl Into<When>,
        args: F::Args,
        key: Option<(&str, OnPending)>,
    ) -> Result<Self>
    where
        F::Kind: Schedulable<F>,
    {
        let args = serde_json::to_string(&args).map_err(Error::internal)?;
        Ok(Self {
            path: services.path_of(F::DEF).to_owned(),
            kind: <F::Kind as Schedulable<F>>::KIND,
            args,
            when: when.into(),
            key: key.map(|(key, pending)| (key.to_owned(), pending)),
        })
    }

    /// Writes the row. Returns its id and the time for which it is pending.
    fn write(&self, db: &mut DbMut, now: Millis) -> Result<(Id<Job>, Millis)> {
        let run_at = self.when.time(now);
        let (issuer, subject) = self.when.caller.clone().unzip();
        let row = Job {
            path: self.path.clone(),
            kind: self.kind,
            args: self.args.clone(),
            issuer,
            subject,
            run_at,
            asked_at: self.when.is_delay(now).then_some(now),
            state: JobState::Pending,
            key: self.key.as_ref().map(|(key, _)| key.clone()),
            attempts: 0,
            last_error: None,
            boot: None,
            started_at: None,
            finished_at: None,
        };
        match (job::pending_of_key(db, &row.path, row.key.as_deref())?, &self.key) {
            (Some(pending), Some((_, OnPending::Move))) => {
                let id = pending.id();
                db.replace(id, row)?;
                Ok((id, run_at))
            }
            (Some(pending), _) => Ok((pending.id(), pending.run_at)),
            (None, _) => Ok((db.insert(row)?, run_at)),
        }
    }
}

/// Deletes a pending job.
pub(crate) fn cancel(db: &mut DbMut, id: Id<Job>) -> Result<bool> {
    let pending = db.get(id)?.is_some_and(|job| job.state == JobState::Pending);
    Ok(pending && db.delete(id)?)
}

fn cancel_key(db: &mut DbMut, path: &str, key: &str) -> Result<bool> {
    match job::pending_of_key(db, path, Some(key))? {
        Some(job) => Ok(db.delete(job.id())?),
        None => Ok(false),
    }
}

impl MutationCtx {
    /// Calls a mutation or action after the commit of this mutation, at its time.
    ///
    /// A mutation has its effect exactly once and has up to five attempts. An action starts at most once. `tries = …`
    /// in the attribute of the function sets another number.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn schedule<F: Function>(&mut self, when: impl Into<When>, args: impl Into<F::Args>) -> Result<Id<Job>>
    where
        F::Kind: Schedulable<F>,
    {
        self.schedule_request(Request::of::<F>(&self.call().services, when, args.into(), None)?)
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
    ) -> Result<Id<Job>>
    where
        F::Kind: Schedulable<F>,
    {
        let key = Some((key, OnPending::Keep));
        self.schedule_request(Request::of::<F>(&self.call().services, when, args.into(), key)?)
    }

    /// As [`MutationCtx::schedule`], unless a job of this function and `key` is pending. Then that job takes the new
    /// time and arguments. With repeated requests, it runs after the last one.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn schedule_debounced<F: Function>(
        &mut self,
        key: &str,
        when: impl Into<When>,
        args: impl Into<F::Args>,
    ) -> Result<Id<Job>>
    where
        F::Kind: Schedulable<F>,
    {
        let key = Some((key, OnPending::Move));
        self.schedule_request(Request::of::<F>(&self.call().services, when, args.into(), key)?)
    }

    fn schedule_request(&mut self, request: Request) -> Result<Id<Job>> {
        let now = self.now();
        let (id, run_at) = request.write(self.db_mut(), now)?;
        let services = self.call().services.clone();
        self.after_commit(move || services.alarm().wake(run_at));
        Ok(id)
    }

    /// Cancels a pending job. Returns `false` if it has run, has failed, or is an action that was started.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn cancel(&mut self, job: Id<Job>) -> Result<bool> {
        cancel(self.db_mut(), job)
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
        cancel_key(self.db_mut(), &path, key)
    }
}

impl ActionCtx {
    /// As [`MutationCtx::schedule`], in a separate transaction, which is committed when this returns.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn schedule<F: Function>(&self, when: impl Into<When>, args: impl Into<F::Args>) -> Result<Id<Job>>
    where
        F::Kind: Schedulable<F>,
    {
        self.schedule_request(Request::of::<F>(&self.call().services, when, args.into(), None)?).await
    }

    /// As [`MutationCtx::schedule_once`], in a separate transaction.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn schedule_once<F: Function>(
        &self,
        key: &str,
        when: impl Into<When>,
        args: impl Into<F::Args>,
    ) -> Result<Id<Job>>
    where
        F::Kind: Schedulable<F>,
    {
        let key = Some((key, OnPending::Keep));
        self.schedule_request(Request::of::<F>(&self.call().services, when, args.into(), key)?).await
    }

    /// As [`MutationCtx::schedule_debounced`], in a separate transaction.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn schedule_debounced<F: Function>(
        &self,
        key: &str,
        when: impl Into<When>,
        args: impl Into<F::Args>,
    ) -> Result<Id<Job>>
    where
        F::Kind: Schedulable<F>,
    {
        let key = Some((key, OnPending::Move));
        self.schedule_request(Request::of::<F>(&self.call().services, when, args.into(), key)?).await
    }

    async fn schedule_request(&self, request: Request) -> Result<Id<Job>> {
        let services = &self.call().services;
        // The call's `now` is the start of the action, which may have waited since.
        let now = services.clock().now();
        let (id, run_at) = services.database().write("schedule", move |db| request.write(db, now)).await?;
        services.alarm().wake(run_at);
        Ok(id)
    }

    /// As [`MutationCtx::cancel`], in a separate transaction.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn cancel(&self, job: Id<Job>) -> Result<bool> {
        self.call().services.database().write("cancel", move |db| cancel(db, job)).await
    }
}
