//! Due work, and a sequential run of it, which a test with a manual clock uses.

use std::ops::Bound;

use super::cron::Crons;
use super::queue;
use super::run::AttemptEnd;
use super::state::Scheduler;
use crate::rows::job::{Cron, Job, JobKind};
use crate::workflow::runs::Runs;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_core::queues::{Queue, Queues};
use convoke_store::{Db, DbMut, Doc};

/// Maximum number of jobs of one [`Scheduler::run_due`]: more jobs would schedule each other without end.
const RUNS_MAX: usize = 100_000;

/// Jobs outside of queues, as a key of an index.
const NO_QUEUE: Option<String> = None;

/// Returns the jobs of a kind outside of queues that are due at `now`, by time and id.
pub fn jobs(db: &Db, kind: JobKind, now: Millis, rows_max: usize) -> Result<Vec<Doc<Job>>> {
    Ok(db.query(Job::by_due).eq(NO_QUEUE).eq(kind).range(..=now).take(rows_max)?)
}

/// As [`jobs`]; returns their ids, and reads no rows.
pub(crate) fn ids(db: &Db, kind: JobKind, now: Millis, rows_max: usize) -> Result<impl Iterator<Item = Id<Job>>> {
    let due = db.query(Job::by_due).eq(NO_QUEUE).eq(kind).range(..=now).keys(rows_max)?;
    Ok(due.into_iter().map(|(id, _)| id))
}

/// Returns the time of the first pending job, in any queue of the program or outside of them.
///
/// # Errors
/// A failure of the store.
pub fn first_time(db: &Db, queues: &Queues) -> Result<Option<Millis>> {
    let mut first = None;
    for kind in [JobKind::Mutation, JobKind::Action] {
        let job = jobs(db, kind, Millis(i64::MAX), 1)?.pop();
        first = [first, job.map(|job| job.run_at)].into_iter().flatten().min();
    }
    for queue in queues.all() {
        first = [first, queue::first(db, queue.name)?].into_iter().flatten().min();
    }
    Ok(first)
}

/// Returns the time of the first job of a kind outside of queues that is not due at `now`.
pub(crate) fn next(db: &Db, kind: JobKind, now: Millis) -> Result<Option<Millis>> {
    let later = (Bound::Excluded(now), Bound::Unbounded);
    Ok(db.query(Job::by_due).eq(NO_QUEUE).eq(kind).range(later).first()?.map(|job| job.run_at))
}

/// Returns the program's cron with the earliest next time.
pub(crate) fn next_cron(db: &Db, crons: &Crons) -> Result<Option<Doc<Cron>>> {
    let all = db.query(Cron::by_next).take(usize::MAX)?;
    Ok(all.into_iter().find(|cron| crons.has(cron)))
}

/// The first work by time. At equal times, crons come before jobs, jobs outside of queues before those in queues, and
/// jobs are ordered by id.
enum First {
    Cron(Id<Cron>, Millis),
    Job(Box<Doc<Job>>),
    Queue(Queue, Millis),
}

impl First {
    fn time(&self) -> Millis {
        match self {
            First::Cron(_, due_at) => *due_at,
            First::Job(job) => job.run_at,
            First::Queue(_, time) => *time,
        }
    }
}

fn first(db: &Db, crons: &Crons, queues: &Queues, now: Millis) -> Result<Option<First>> {
    let queued = first_queue(db, queues, now)?;
    let end = Millis(i64::MAX);
    let mut first: Option<Doc<Job>> = None;
    for kind in [JobKind::Mutation, JobKind::Action] {
        let job = jobs(db, kind, end, 1)?.pop();
        first = [first, job].into_iter().flatten().min_by_key(|job| (job.run_at, job.id()));
    }
    let job = first.map(|job| First::Job(Box::new(job)));
    let cron = next_cron(db, crons)?.map(|cron| First::Cron(cron.id(), cron.next_at));
    // Of several with the same time, the first one.
    Ok([cron, job, queued].into_iter().flatten().min_by_key(First::time))
}

/// Returns the queue with the first job that its limits allow to start.
fn first_queue(db: &Db, queues: &Queues, now: Millis) -> Result<Option<First>> {
    let mut first: Option<First> = None;
    for queue in queues.all() {
        let pick = queue::pick(db, queue, now, 1)?;
        let time = match pick.jobs.first() {
            Some(job) => Some(job.run_at),
            None => [pick.next_token, queue::next(db, queue.name, now)?].into_iter().flatten().min(),
        };
        if let Some(time) = time
            && first.as_ref().is_none_or(|first| time < first.time())
        {
            first = Some(First::Queue(*queue, time));
        }
    }
    Ok(first)
}

impl Scheduler {
    /// Runs all due work sequentially, by time and id, including work that it schedules for now. Returns the number of
    /// jobs that ran.
    ///
    /// # Errors
    /// A failure of the store; jobs that schedule each other without end.
    pub async fn run_due(&self) -> Result<usize> {
        self.prepare().await?;
        self.follow_clock().await?;
        let mut ran = 0;
        while let Some(first) = self.first().await?.filter(|first| first.time() <= self.services().clock().now()) {
            match first {
                First::Cron(id, due_at) => self.fire(id, due_at).await?,
                First::Job(job) => {
                    if self.run(&job, None).await? == AttemptEnd::NoRoom {
                        return Err(Error::not_ready("The store does not accept writes now"));
                    }
                    ran += 1;
                }
                First::Queue(queue, _) => {
                    for job in self.claim_from(queue, 1).await? {
                        self.run(&job, None).await?;
                        ran += 1;
                    }
                }
            }
            if ran > RUNS_MAX {
                return Err(Error::internal("jobs schedule each other without end"));
            }
        }
        Ok(ran)
    }

    async fn first(&self) -> Result<Option<First>> {
        let (crons, queues) = (self.crons.clone(), self.services().queues().clone());
        let now = self.services().clock().now();
        self.services().database().read(move |db| first(db, &crons, &queues, now)).await
    }

    /// Returns the time at which the next scheduled work is due, crons included.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn next_due(&self) -> Result<Option<Millis>> {
        self.prepare().await?;
        self.follow_clock().await?;
        Ok(self.first().await?.map(|first| first.time()))
    }

    /// Creates the job of a due cron.
    pub(crate) async fn fire(&self, id: Id<Cron>, due_at: Millis) -> Result<()> {
        let crons = self.crons.clone();
        let now = self.services().clock().now();
        self.services().database().write("fire a cron", move |db| crons.fire(db, id, due_at, now)).await
    }

    /// Prepares the first run: recovers the actions of an earlier process, and updates the table of crons.
    pub(crate) async fn prepare(&self) -> Result<()> {
        let prepare = async {
            self.recover().await?;
            self.leave_undeclared_queues().await?;
            Runs(self.services()).wake_blocked().await?;
            self.enter_crons().await
        };
        self.prepared.get_or_try_init(|| prepare).await?;
        Ok(())
    }

    /// Takes the pending jobs of queues that the program no longer declares out of them. If other nodes serve the
    /// database, they may declare the queues.
    async fn leave_undeclared_queues(&self) -> Result<()> {
        if self.has_other_nodes() {
            return Ok(());
        }
        let queues = self.services().queues().clone();
        let undeclared = self.services().database().read(move |db| queue::undeclared(db, &queues)).await?;
        for queue in undeclared {
            tracing::warn!(target: "convoke::job", queue, "the program does not declare this queue; its jobs run without it");
            loop {
                let name = queue.clone();
                let leave = move |db: &mut DbMut| queue::leave(db, &name);
                if self.services().database().write("leave a queue", leave).await? == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Updates the table of crons to the program and the clock: at start, and after the clock was set back.
    pub(super) async fn enter_crons(&self) -> Result<()> {
        let crons = self.crons.clone();
        let (now, has_other_nodes) = (self.services().clock().now(), self.has_other_nodes());
        self.services().database().write("enter the crons", move |db| crons.enter(db, now, has_other_nodes)).await
    }
}
