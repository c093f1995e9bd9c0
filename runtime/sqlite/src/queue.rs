//! The queue of the writer: mutations, limited and in the order of a [`FairQueue`], and work on the whole database.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::connection::Connection;
use super::file::BackupJob;
use convoke_store::fair_queue::{FairQueue, Rejection, Service};
use convoke_store::{Flow, WriteJob};

/// A mutation.
pub(crate) type Job = Box<dyn WriteJob>;

/// A mutation taken by the writer; it must be passed to [`Queue::ran`].
pub(crate) struct Taken {
    /// The mutation.
    pub job: Job,
    /// Its turn.
    pub service: Service,
}

/// The next work of the writer.
pub(crate) enum Work {
    /// A mutation.
    Job(Taken),
    /// Work on the whole database.
    Whole(Whole),
}

/// Work on the whole database. It runs between two batches, before queued mutations.
pub(crate) enum Whole {
    /// A copy of the database.
    Backup(Box<BackupJob>),
    /// Other work.
    Upkeep(Upkeep),
}

/// Work on the whole database.
pub(crate) type Upkeep = Box<dyn FnOnce(&Rc<Connection>) + Send>;

/// The result of waiting for work.
pub(crate) enum Next {
    Work(Work),
    /// No work arrived in time.
    Idle,
    /// The queue is closed and empty.
    End,
}

pub(crate) struct Queue {
    line: Mutex<Line>,
    wake: Condvar,
}

struct Line {
    jobs: FairQueue<Job>,
    whole: VecDeque<Whole>,
    closed: bool,
    /// True if the writer waits and must be woken.
    asleep: bool,
}

/// Reason why a job was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotQueued {
    /// The queue is full.
    Full,
    /// The flow has used its share of the queue while others wait.
    Share,
    /// The queue is closed.
    Closed,
}

impl From<Rejection> for NotQueued {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Full => NotQueued::Full,
            Rejection::Share => NotQueued::Share,
        }
    }
}

impl Queue {
    /// Creates an empty queue for at most `jobs_max` mutations.
    pub(crate) fn new(jobs_max: usize) -> Self {
        let line = Line { jobs: FairQueue::new(1, jobs_max), whole: VecDeque::new(), closed: false, asleep: false };
        Self { line: Mutex::new(line), wake: Condvar::new() }
    }

    /// Queues a mutation, or returns it. If another flow exceeds its share of a full queue, returns the newest mutation
    /// of that flow, which must be rejected.
    pub(crate) fn push(&self, job: Job) -> Result<Option<Job>, (Job, NotQueued)> {
        let flow = job.flow();
        let mut line = self.line.lock();
        if line.closed {
            return Err((job, NotQueued::Closed));
        }
        let pushed_out = line.jobs.push(flow, job).map_err(|(job, rejection)| (job, rejection.into()))?;
        self.wake(line.asleep);
        Ok(pushed_out)
    }

    /// Checks if another mutation of `flow` may be queued.
    pub(crate) fn admits(&self, flow: Flow) -> Result<(), NotQueued> {
        self.line.lock().jobs.admits(flow).map_err(NotQueued::from)
    }

    /// Queues work on the whole database. Returns true if it was queued.
    pub(crate) fn push_whole(&self, work: Whole) -> bool {
        let mut line = self.line.lock();
        if line.closed {
            return false;
        }
        line.whole.push_back(work);
        self.wake(line.asleep);
        true
    }

    fn wake(&self, asleep: bool) {
        if asleep {
            self.wake.notify_one();
        }
    }

    /// Waits for work, at most for `patience`. Work queued before the end is still returned after it.
    pub(crate) fn next(&self, patience: Option<Duration>) -> Next {
        let mut line = self.line.lock();
        loop {
            if let Some(work) = line.next() {
                return Next::Work(work);
            }
            if line.closed {
                return Next::End;
            }
            line.asleep = true;
            let late = match patience {
                Some(patience) => self.wake.wait_for(&mut line, patience).timed_out(),
                None => {
                    self.wake.wait(&mut line);
                    false
                }
            };
            line.asleep = false;
            if late && line.is_empty() && !line.closed {
                return Next::Idle;
            }
        }
    }

    /// Returns the next mutation if one is queued and may join a batch.
    pub(crate) fn joining(&self) -> Option<Taken> {
        let mut line = self.line.lock();
        if !line.whole.is_empty() || line.jobs.peek()?.slow() {
            return None;
        }
        line.next_job()
    }

    /// Returns the next mutation if one is queued.
    pub(crate) fn waiting(&self) -> Option<Taken> {
        self.line.lock().next_job()
    }

    /// Records that a mutation has run and how long it used the writer. The next one may be taken.
    pub(crate) fn ran(&self, service: Service, elapsed: Duration) {
        self.line.lock().jobs.end(service, elapsed);
    }

    /// Charges work for mutations after they have run.
    pub(crate) fn charge(&self, costs: impl Iterator<Item = (Flow, Duration)>) {
        let mut line = self.line.lock();
        if !line.jobs.is_empty() {
            costs.for_each(|(flow, elapsed)| line.jobs.charge(flow, elapsed));
        }
    }

    /// Waits for the end, at most for `patience`. Returns true if it came.
    pub(crate) fn ended_within(&self, patience: Duration) -> bool {
        let mut line = self.line.lock();
        if !line.closed {
            line.asleep = true;
            self.wake.wait_for(&mut line, patience);
            line.asleep = false;
        }
        line.closed
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.line.lock().closed
    }

    /// Closes the queue.
    pub(crate) fn close(&self) {
        self.line.lock().closed = true;
        self.wake.notify_all();
    }

    /// Returns the number of queued mutations.
    pub(crate) fn len(&self) -> usize {
        let line = self.line.lock();
        line.jobs.len() + line.whole.len()
    }
}

impl Line {
    fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.jobs.is_empty()
    }

    fn next(&mut self) -> Option<Work> {
        match self.whole.pop_front() {
            Some(work) => Some(Work::Whole(work)),
            None => self.next_job().map(Work::Job),
        }
    }

    fn next_job(&mut self) -> Option<Taken> {
        self.jobs.pop().map(|(service, job)| Taken { job, service })
    }
}
