//! How functions ask for scheduled work, and take it back.

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

/// When scheduled work runs, and as whom. A [`Duration`] means after that time, [`Millis`] at that time; a time that
/// has passed means as soon as the mutation is committed.
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
    /// As soon as the mutation is committed.
    pub fn now() -> Self {
        Duration::ZERO.into()
    }

    /// Runs as this identity instead of the runtime itself. The job knows its issuer and subject only: it takes
    /// everything else, and the user's rights, from the rows when it runs.
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

    /// Whether it is due after a delay, if only one that is over, and not at a time of day that is to come.
    fn is_delay(&self, now: Millis) -> bool {
        match self.at {
            At::After(_) => true,
            At::Time(time) => time <= now,
        }
    }
}

/// The kinds that can be scheduled.
#[diagnostic::on_unimplemented(
    message = "a query cannot be scheduled: nobody would read its result",
    note = "schedule a mutation or an action"
)]
pub trait Schedulable<F: Function> {
    /// What the job calls.
    #[doc(hidden)]
    const KIND: JobKind;
}

impl<F: MutationFn> Schedulable<F> for IsMutation {
    const KIND: JobKind = JobKind::Mutation;
}

impl<F: ActionFn> Schedulable<F> for IsAction {
    const KIND: JobKind = JobKind::Action;
}

/// What becomes of a pending job with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It stays as it is, and the new request adds nothing.
    Kept,
    /// It takes the new time, arguments and caller.
    Moved,
}

/// A job to be, as it is asked for.
#[derive(Clone)]
pub(crate) struct Request {
    path: String,
    kind: JobKind,
    args: String,
    when: When,
    key: Option<(String, Standing)>,
}

impl Request {
    fn of<F: Function>(
        services: &Services,
        when: impl Into<When>,
        args: F::Args,
        key: Option<(&str, Standing)>,
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
            key: key.map(|(key, standing)| (key.to_owned(), standing)),
        })
    }

    /// Writes the row; returns its id and the time it is pending for.
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
            (Some(standing), Some((_, Standing::Moved))) => {
                let id = standing.id();
                db.replace(id, row)?;
                Ok((id, run_at))
            }
            (Some(standing), _) => Ok((standing.id(), standing.run_at)),
            (None, _) => Ok((db.insert(row)?, run_at)),
        }
    }
}

/// Takes a pending job away.
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
    /// Calls a mutation or action once this mutation is committed and its time has come.
    ///
    /// A mutation has its effect exactly once and is tried up to five times; an action is started at most once. Both
    /// take another number by `tries = …` in their attribute.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn schedule<F: Function>(&mut self, when: impl Into<When>, args: impl Into<F::Args>) -> Result<Id<Job>>
    where
        F::Kind: Schedulable<F>,
    {
        self.schedule_request(Request::of::<F>(&self.call().services, when, args.into(), None)?)
    }

    /// As [`MutationCtx::schedule`], unless a job of this function and `key` is pending: then that one stays as it is
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
        let key = Some((key, Standing::Kept));
        self.schedule_request(Request::of::<F>(&self.call().services, when, args.into(), key)?)
    }

    /// As [`MutationCtx::schedule`], unless a job of this function and `key` is pending: then that one takes the new
    /// time and arguments. Asked for again and again, it runs once things are quiet.
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
        let key = Some((key, Standing::Moved));
        self.schedule_request(Request::of::<F>(&self.call().services, when, args.into(), key)?)
    }

    fn schedule_request(&mut self, request: Request) -> Result<Id<Job>> {
        let now = self.now();
        let (id, run_at) = request.write(self.db_mut(), now)?;
        let services = self.call().services.clone();
        self.after_commit(move || services.alarm().wake(run_at));
        Ok(id)
    }

    /// Takes a pending job back; `false` if it has run, has failed, or is an action that was started.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn cancel(&mut self, job: Id<Job>) -> Result<bool> {
        cancel(self.db_mut(), job)
    }

    /// Takes the pending job of this function and key back; `false` if there is none.
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
    /// As [`MutationCtx::schedule`], in a transaction of its own: committed when this returns.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn schedule<F: Function>(&self, when: impl Into<When>, args: impl Into<F::Args>) -> Result<Id<Job>>
    where
        F::Kind: Schedulable<F>,
    {
        self.schedule_request(Request::of::<F>(&self.call().services, when, args.into(), None)?).await
    }

    /// As [`MutationCtx::schedule_once`], in a transaction of its own.
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
        let key = Some((key, Standing::Kept));
        self.schedule_request(Request::of::<F>(&self.call().services, when, args.into(), key)?).await
    }

    /// As [`MutationCtx::schedule_debounced`], in a transaction of its own.
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
        let key = Some((key, Standing::Moved));
        self.schedule_request(Request::of::<F>(&self.call().services, when, args.into(), key)?).await
    }

    async fn schedule_request(&self, request: Request) -> Result<Id<Job>> {
        let services = &self.call().services;
        // An action's own time stands still; its waits do not.
        let now = services.clock().now();
        let (id, run_at) = services.database().write("schedule", move |db| request.write(db, now)).await?;
        services.alarm().wake(run_at);
        Ok(id)
    }

    /// As [`MutationCtx::cancel`], in a transaction of its own.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn cancel(&self, job: Id<Job>) -> Result<bool> {
        self.call().services.database().write("cancel", move |db| cancel(db, job)).await
    }
}
