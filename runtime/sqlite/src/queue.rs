//! What waits for the writer: mutations, bounded and in the order of a [`FairQueue`], and work on the database as a whole.

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

/// A mutation that the writer has taken, to be given to [`Queue::ran`].
pub(crate) struct Taken {
    /// The mutation.
    pub job: Job,
    /// Its turn.
    pub service: Service,
}

/// What the writer does next.
pub(crate) enum Work {
    /// A mutation.
    Job(Taken),
    /// Work on the database as a whole.
    Whole(Whole),
}

/// Work on the database as a whole. It is done between two batches, before the mutations that wait.
pub(crate) enum Whole {
    /// A copy of the database.
    Backup(Box<BackupJob>),
    /// Anything else.
    Upkeep(Upkeep),
}

/// Work on the database as a whole.
pub(crate) type Upkeep = Box<dyn FnOnce(&Rc<Connection>) + Send>;

/// What waiting for work ended in.
pub(crate) enum Next {
    /// Work.
    Work(Work),
    /// None came in time.
    Idle,
    /// None will come any more.
    End,
}

/// The queue.
pub(crate) struct Queue {
    line: Mutex<Line>,
    wake: Condvar,
}

struct Line {
    jobs: FairQueue<Job>,
    whole: VecDeque<Whole>,
    closed: bool,
    /// Whether the writer waits: only then it has to be woken.
    asleep: bool,
}

/// Why a job was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotQueued {
    /// As many wait as may.
    Full,
    /// As many of its flow wait as may while others do.
    Share,
    /// Nothing is taken any more.
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
    /// An empty queue for at most `jobs_max` mutations.
    pub(crate) fn new(jobs_max: usize) -> Self {
        let line = Line { jobs: FairQueue::new(1, jobs_max), whole: VecDeque::new(), closed: false, asleep: false };
        Self { line: Mutex::new(line), wake: Condvar::new() }
    }

    /// Lines up a mutation, or gives it back. Another one may have to go for it, whose flow has more than its share of
    /// the queue: that one is to be answered as rejected for its share.
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

    /// Whether one more mutation of `flow` may wait.
    pub(crate) fn admits(&self, flow: Flow) -> Result<(), NotQueued> {
        self.line.lock().jobs.admits(flow).map_err(NotQueued::from)
    }

    /// Lines up work on the database as a whole; says whether it was taken.
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

    /// Waits for work, at most for `patience`. What was taken before the end is still handed out after it.
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

    /// The next mutation if one waits already and may join a batch.
    pub(crate) fn joining(&self) -> Option<Taken> {
        let mut line = self.line.lock();
        if !line.whole.is_empty() || line.jobs.peek()?.slow() {
            return None;
        }
        line.next_job()
    }

    /// The next mutation if one waits already.
    pub(crate) fn waiting(&self) -> Option<Taken> {
        self.line.lock().next_job()
    }

    /// A mutation ran, and took so long of the writer's time: the next one may be taken.
    pub(crate) fn ran(&self, service: Service, elapsed: Duration) {
        self.line.lock().jobs.end(service, elapsed);
    }

    /// Charges what was done for mutations after they had run.
    pub(crate) fn charge(&self, costs: impl Iterator<Item = (Flow, Duration)>) {
        let mut line = self.line.lock();
        if !line.jobs.is_empty() {
            costs.for_each(|(flow, elapsed)| line.jobs.charge(flow, elapsed));
        }
    }

    /// Waits for the end, at most for `patience`; says whether it came.
    pub(crate) fn ended_within(&self, patience: Duration) -> bool {
        let mut line = self.line.lock();
        if !line.closed {
            line.asleep = true;
            self.wake.wait_for(&mut line, patience);
            line.asleep = false;
        }
        line.closed
    }

    /// Whether nothing is taken any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.line.lock().closed
    }

    /// Takes no more.
    pub(crate) fn close(&self) {
        self.line.lock().closed = true;
        self.wake.notify_all();
    }

    /// How much waits.
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
