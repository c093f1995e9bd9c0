//! What waits for the writer: bounded, first come first served.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::backup::BackupJob;
use super::connection::Connection;
use crate::store::engine::WriteJob;

/// What the writer does next.
pub enum Work {
    /// A mutation.
    Job(Box<dyn WriteJob>),
    /// A copy of the database.
    Backup(Box<BackupJob>),
    /// Work on the database as a whole, between two batches.
    Upkeep(Upkeep),
}

/// Work on the database as a whole.
pub type Upkeep = Box<dyn FnOnce(&Connection) + Send>;

/// What waiting for work ended in.
pub enum Next {
    /// Work.
    Work(Work),
    /// None came in time.
    Idle,
    /// None will come any more.
    End,
}

/// The queue.
pub struct Queue {
    line: Mutex<Line>,
    wake: Condvar,
    jobs_max: usize,
}

#[derive(Default)]
struct Line {
    work: VecDeque<Work>,
    closed: bool,
    /// Whether the writer waits: only then it has to be woken.
    asleep: bool,
}

/// Why a job was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// As many wait as may.
    Full,
    /// Nothing is taken any more.
    Closed,
}

impl Queue {
    /// An empty queue for at most `jobs_max`.
    pub fn new(jobs_max: usize) -> Self {
        Self { line: Mutex::default(), wake: Condvar::new(), jobs_max }
    }

    /// Lines up a mutation, or gives it back.
    pub fn push(&self, job: Box<dyn WriteJob>) -> Result<(), (Box<dyn WriteJob>, Refusal)> {
        let mut line = self.line.lock();
        if line.closed {
            return Err((job, Refusal::Closed));
        }
        if line.work.len() >= self.jobs_max {
            return Err((job, Refusal::Full));
        }
        line.work.push_back(Work::Job(job));
        self.wake(line.asleep);
        Ok(())
    }

    /// Lines up a backup; says whether it was taken.
    pub fn push_backup(&self, backup: BackupJob) -> bool {
        let mut line = self.line.lock();
        if line.closed {
            return false;
        }
        line.work.push_back(Work::Backup(Box::new(backup)));
        self.wake(line.asleep);
        true
    }

    /// Lines up work on the database as a whole; says whether it was taken.
    pub fn push_upkeep(&self, work: Upkeep) -> bool {
        let mut line = self.line.lock();
        if line.closed {
            return false;
        }
        line.work.push_back(Work::Upkeep(work));
        self.wake(line.asleep);
        true
    }

    fn wake(&self, asleep: bool) {
        if asleep {
            self.wake.notify_one();
        }
    }

    /// Waits for work, at most for `patience`. What was taken before the end is still handed out after it.
    pub fn next(&self, patience: Option<Duration>) -> Next {
        let mut line = self.line.lock();
        loop {
            if let Some(work) = line.work.pop_front() {
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
            if late && line.work.is_empty() && !line.closed {
                return Next::Idle;
            }
        }
    }

    /// The next mutation if one waits already and may join a batch.
    pub fn joining(&self) -> Option<Box<dyn WriteJob>> {
        let mut line = self.line.lock();
        match line.work.pop_front()? {
            Work::Job(job) if !job.slow() => Some(job),
            work => {
                line.work.push_front(work);
                None
            }
        }
    }

    /// The next mutation if one waits already.
    pub fn waiting(&self) -> Option<Box<dyn WriteJob>> {
        let mut line = self.line.lock();
        let place = line.work.iter().position(|work| matches!(work, Work::Job(_)))?;
        match line.work.remove(place)? {
            Work::Job(job) => Some(job),
            Work::Backup(_) | Work::Upkeep(_) => None,
        }
    }

    /// Waits for the end, at most for `patience`; says whether it came.
    pub fn ended_within(&self, patience: Duration) -> bool {
        let mut line = self.line.lock();
        if !line.closed {
            line.asleep = true;
            self.wake.wait_for(&mut line, patience);
            line.asleep = false;
        }
        line.closed
    }

    /// Whether nothing is taken any more.
    pub fn is_closed(&self) -> bool {
        self.line.lock().closed
    }

    /// Takes no more.
    pub fn close(&self) {
        self.line.lock().closed = true;
        self.wake.notify_all();
    }

    /// How much waits.
    pub fn len(&self) -> usize {
        self.line.lock().work.len()
    }
}
