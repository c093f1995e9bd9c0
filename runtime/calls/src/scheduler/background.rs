//! The loop of a server: it sleeps until work is due or is committed, and runs the due work with limited concurrency.
//!
//! Mutations and actions have separate slots, so that slow actions do not delay mutations.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{self, JoinSet};

use super::chain::PAUSE;
use super::cron::Crons;
use super::state::Scheduler;
use super::{due, queue};
use crate::rows::job::{Cron, Job, JobKind};
use crate::workflow::runs::Runs;
use convoke_core::clock::Millis;
use convoke_core::error::Result;
use convoke_core::id::Id;
use convoke_core::queues::{Queue, Queues};
use convoke_store::{Db, Doc};

/// Concurrent jobs per kind. Mutations that wait together are committed together.
const SLOTS: usize = 64;
/// Interval between two readings of the clock while the loop sleeps. A change of the clock is noticed after it.
const NAP: Duration = Duration::from_secs(1);
/// Maximum number of naps before the loop reads the rows again.
const NAPS_MAX: usize = 10;

/// The running jobs of the loop.
#[derive(Default)]
struct Running {
    tasks: JoinSet<Id<Job>>,
    jobs: HashMap<Id<Job>, JobKind>,
    ids: HashMap<task::Id, Id<Job>>,
}

impl Running {
    fn of(&self, kind: JobKind) -> usize {
        self.jobs.values().filter(|running| **running == kind).count()
    }

    fn start(&mut self, scheduler: &Arc<Scheduler>, job: Doc<Job>) {
        let scheduler = Arc::clone(scheduler);
        let (id, kind) = (job.id(), job.kind);
        let task = self.tasks.spawn(async move {
            scheduler.run_chain(job).await;
            id
        });
        self.jobs.insert(id, kind);
        self.ids.insert(task.id(), id);
    }

    /// Waits for the end of one job, and removes all jobs that have ended.
    async fn ended(&mut self) {
        let mut next = self.tasks.join_next_with_id().await;
        while let Some(ended) = next {
            let task = ended.as_ref().map_or_else(task::JoinError::id, |(task, _)| *task);
            if let Some(job) = self.ids.remove(&task) {
                self.jobs.remove(&job);
            }
            next = self.tasks.try_join_next_with_id();
        }
    }
}

/// The work that is due now, and the time of the next work.
struct Due {
    crons: Vec<(Id<Cron>, Millis)>,
    jobs: Vec<Doc<Job>>,
    /// Queues with jobs that may start.
    queues: Vec<Queue>,
    next: Option<Millis>,
}

/// The slots of a kind: free ones, and those of running jobs.
type Slots = [(JobKind, usize, usize); 2];

fn look(
    db: &Db,
    (crons, queues): (&Crons, &Queues),
    now: Millis,
    slots: Slots,
    is_taken: impl Fn(Id<Job>) -> bool,
    has_other_nodes: bool,
) -> Result<Due> {
    let mut due = Due { crons: Vec::new(), jobs: Vec::new(), queues: Vec::new(), next: None };
    let mut sooner = |time: Option<Millis>| due.next = [due.next, time].into_iter().flatten().min();
    for queue in queues.all() {
        let room = room(slots);
        if room == 0 {
            continue;
        }
        let pick = queue::pick(db, queue, now, room)?;
        if !pick.jobs.is_empty() {
            due.queues.push(*queue);
        } else if pick.is_held && has_other_nodes {
            // The end of a job on another node does not wake the loop.
            sooner(Some(now + PAUSE));
        }
        sooner([pick.next_token, queue::next(db, queue.name, now)?].into_iter().flatten().min());
    }
    for (kind, free, running) in slots {
        // Without a free slot, the end of a job wakes the loop.
        if free > 0 {
            // The rows of running jobs are still there, and are not read.
            let ids = due::ids(db, kind, now, free + running)?.filter(|job| !is_taken(*job));
            due.jobs.extend(db.get_many(&ids.take(free).collect::<Vec<_>>())?.into_iter().flatten());
            sooner(due::next(db, kind, now)?);
        }
    }
    let first = db.query(Cron::by_next).range(..=now).take(usize::MAX)?;
    due.crons.extend(first.iter().filter(|cron| crons.has(cron)).take(SLOTS).map(|cron| (cron.id(), cron.next_at)));
    if due.crons.is_empty() {
        sooner(due::next_cron(db, crons)?.map(|cron| cron.next_at));
    }
    Ok(due)
}

/// Returns the number of jobs of any kind that may start.
fn room(slots: Slots) -> usize {
    slots.iter().map(|(_, free, _)| *free).min().unwrap_or(0)
}

/// Interval between two searches for actions whose node has ended.
const RECOVERY: Duration = Duration::from_secs(5);
/// Interval between two log lines that report a store that rejects work.
const COMPLAINT: Duration = Duration::from_secs(60);

/// Runs scheduled work until `stop` is set. Then waits for running jobs, at most for the drain timeout.
pub(crate) async fn run(scheduler: Arc<Scheduler>, mut stop: watch::Receiver<bool>) {
    let mut running = Running::default();
    let (mut silent_until, mut recover_at) = (Millis(0), Millis(0));
    while !*stop.borrow_and_update() {
        scheduler.services().alarm().looks();
        let now = scheduler.services().clock().now();
        if now >= recover_at && scheduler.has_other_nodes() {
            recover_at = now + RECOVERY;
            if let Err(error) = scheduler.recover().await {
                tracing::warn!(target: "convoke::job", "cannot recover the actions of ended nodes: {}", error.chain());
            }
            if let Err(error) = Runs(scheduler.services()).wake_blocked().await {
                tracing::warn!(target: "convoke::workflow", "cannot check blocked runs: {}", error.chain());
            }
        }
        let until = match start_due(&scheduler, &mut running).await {
            Ok(until) => until,
            Err(error) => {
                let now = scheduler.services().clock().now();
                if now >= silent_until {
                    silent_until = now + COMPLAINT;
                    tracing::warn!(target: "convoke::job", "scheduled work is delayed: {}", error.chain());
                }
                now + PAUSE
            }
        };
        tokio::select! {
            () = sleep(&scheduler, until) => {}
            () = scheduler.services().alarm().woken_before(until) => {}
            () = running.ended(), if !running.jobs.is_empty() => {}
            _ = stop.changed() => {}
        }
    }
    let drain = async {
        while !running.jobs.is_empty() {
            running.ended().await;
        }
    };
    // Only actions are cut off. Their rows say that they were started, and the next start reports them to the operator.
    let _ = tokio::time::timeout(scheduler.services().limits().drain_timeout, drain).await;
}

/// Sleeps until a time of day, at most some seconds. Ends sooner if the clock is set past that time or back.
async fn sleep(scheduler: &Scheduler, until: Millis) {
    let mut last = scheduler.services().clock().now();
    for _ in 0..NAPS_MAX {
        tokio::time::sleep(until.since(last).min(NAP)).await;
        let now = scheduler.services().clock().now();
        if now >= until || now < last {
            return;
        }
        last = now;
    }
}

/// Starts the due work. Returns the time of the next check.
async fn start_due(scheduler: &Arc<Scheduler>, running: &mut Running) -> Result<Millis> {
    scheduler.prepare().await?;
    let now = scheduler.follow_clock().await?;
    let slots = [JobKind::Mutation, JobKind::Action].map(|kind| {
        let busy = running.of(kind);
        (kind, SLOTS - busy, busy)
    });
    let (crons, queues) = (scheduler.crons.clone(), scheduler.services().queues().clone());
    let has_other_nodes = scheduler.has_other_nodes();
    let (taken, reserved): (HashSet<_>, _) = (running.jobs.keys().copied().collect(), scheduler.reserved.clone());
    let is_taken = move |job| taken.contains(&job) || reserved.has(job);
    let read = move |db: &Db| look(db, (&crons, &queues), now, slots, &is_taken, has_other_nodes);
    let due = scheduler.services().database().read(read).await?;
    for (id, due_at) in &due.crons {
        scheduler.fire(*id, *due_at).await?;
    }
    for job in due.jobs {
        let is_taken = running.jobs.contains_key(&job.id()) || scheduler.reserved.has(job.id());
        if !is_taken && running.of(job.kind) < SLOTS {
            running.start(scheduler, job);
        }
    }
    for queue in &due.queues {
        let room = SLOTS - running.of(JobKind::Mutation).max(running.of(JobKind::Action));
        if room > 0 {
            for job in scheduler.claim_from(*queue, room).await? {
                running.start(scheduler, job);
            }
        }
    }
    if !due.crons.is_empty() || !due.queues.is_empty() {
        return Ok(now);
    }
    Ok(due.next.unwrap_or(Millis(i64::MAX)))
}
