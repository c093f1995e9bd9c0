//! The handover of a run's next job, from the transaction that writes it to the task that runs it.
//!
//! The scheduler's loop does not start such a job. Its row is stored nevertheless: if the task ends before it runs the
//! job, the loop finds the row.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::task::{Context, Waker};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::rows::job::Job;
use crate::workflow::advance::{Next, Suspended};
use convoke_core::id::Id;

/// Maximum number of jobs that follow the first one in a task. Then other due jobs get its slot.
const FOLLOWING_MAX: usize = 15;

/// Maximum number of runs whose code stays in memory while their next job waits for the loop.
const PARKED_MAX: usize = 256;

pub(super) type JobRun = BoxFuture<'static, ()>;

/// The jobs that tasks will run next, and that the loop must not start.
#[derive(Clone, Default)]
pub(super) struct Reserved(Arc<Mutex<HashSet<Id<Job>>>>);

impl Reserved {
    /// Returns true if a task will run the job.
    pub(super) fn has(&self, job: Id<Job>) -> bool {
        self.0.lock().contains(&job)
    }

    fn add(&self, job: Id<Job>) -> Reservation {
        self.0.lock().insert(job);
        Reservation { job, reserved: self.clone() }
    }
}

/// The code of runs whose next job waits for the loop.
#[derive(Clone, Default)]
pub(super) struct Parked(Arc<Mutex<HashMap<Id<Job>, Suspended>>>);

impl Parked {
    fn add(&self, job: Id<Job>, code: Suspended) {
        let mut parked = self.0.lock();
        if parked.len() >= PARKED_MAX {
            // Other nodes may have run these jobs. The code of a run is replayed without them.
            parked.clear();
        }
        parked.insert(job, code);
    }

    /// Returns the code that waits for a job.
    pub(super) fn take(&self, job: Id<Job>) -> Option<Suspended> {
        self.0.lock().remove(&job)
    }
}

/// The place of a job in [`Reserved`], until it is dropped.
struct Reservation {
    job: Id<Job>,
    reserved: Reserved,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.reserved.0.lock().remove(&self.job);
    }
}

/// The jobs that a task has received.
pub(super) struct Handed(Arc<Mutex<State>>);

struct State {
    runs: Vec<JobRun>,
    /// Number of jobs that the task may still receive.
    room: usize,
}

impl Handed {
    /// Returns the received jobs.
    pub(super) fn take(&self) -> Vec<JobRun> {
        std::mem::take(&mut self.0.lock().runs)
    }
}

/// The way to a task that runs the next job.
#[derive(Clone)]
pub(crate) struct Handover {
    run: Arc<dyn Fn(Next, Handover) -> JobRun + Send + Sync>,
    handed: Weak<Mutex<State>>,
    reserved: Reserved,
    parked: Parked,
    runtime: Handle,
    /// True if one thread runs all mutations, and those after this one see its writes before its commit.
    is_serial: bool,
}

impl Handover {
    /// Creates the way to the current task, and its end.
    pub(super) fn new(
        run: impl Fn(Next, Self) -> JobRun + Send + Sync + 'static,
        (reserved, parked): (Reserved, Parked),
        is_serial: bool,
    ) -> (Self, Handed) {
        let handed = Arc::new(Mutex::new(State { runs: Vec::new(), room: FOLLOWING_MAX }));
        let (run, runtime) = (Arc::new(run), Handle::current());
        (Self { run, handed: Arc::downgrade(&handed), reserved, parked, runtime, is_serial }, Handed(handed))
    }

    /// Begins the run of a job in the transaction that writes it: its mutation is queued, and is often part of the same
    /// commit. If the transaction is rolled back, the row of the job does not exist, and its run has no effect.
    pub(super) fn begin(&self, next: Next) -> Early {
        if !self.is_serial {
            return Early::AfterCommit(Box::new(next));
        }
        if self.hand(next, true) { Early::Begun } else { Early::Left }
    }

    /// Hands over a job whose row is committed. Returns false if the loop must run it.
    pub(super) fn give(&self, next: Next) -> bool {
        self.hand(next, false)
    }

    fn hand(&self, next: Next, is_begun: bool) -> bool {
        let Some(handed) = self.handed.upgrade() else { return false };
        {
            let mut handed = handed.lock();
            if handed.room == 0 {
                if let Some(code) = next.suspended {
                    self.parked.add(next.job.id(), code);
                }
                return false;
            }
            handed.room -= 1;
        }
        let reservation = self.reserved.add(next.job.id());
        let run = (self.run)(next, self.clone());
        let mut run = async move {
            run.await;
            drop(reservation);
        }
        .boxed();
        if is_begun {
            let _within = self.runtime.enter();
            let begun = catch_unwind(AssertUnwindSafe(|| run.poll_unpin(&mut Context::from_waker(Waker::noop()))));
            match begun {
                Ok(polled) if polled.is_pending() => {}
                Ok(_) => return true,
                Err(_) => return false,
            }
        }
        // The task looks here after the job that hands this one over.
        handed.lock().runs.push(run);
        true
    }
}

/// The result of [`Handover::begin`].
pub(super) enum Early {
    /// The job runs.
    Begun,
    /// The loop must run the job.
    Left,
    /// The job must be handed over after the commit.
    AfterCommit(Box<Next>),
}
