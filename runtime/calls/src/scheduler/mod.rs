//! Scheduled work: rows in the same database, written in the transaction of the mutation that schedules it.
//!
//! A scheduled mutation has its effect exactly once: its row is deleted in the transaction of its effect. A scheduled
//! action starts at most once, unless its attribute sets `tries`. Failed attempts back off, and after the last attempt
//! the job stays visible. The modules in reading order: the receiver of an outcome, queues, the requests of functions,
//! the expressions of crons, the scheduler's state, the clock, the run of one job, the run of several steps in a row,
//! the due work, and the loop of a server.

pub mod finished;
pub(crate) mod queue;
pub mod schedule;
pub mod cron;
mod handover;
mod state;
mod clock;
mod set_back;
mod step;
pub(crate) mod run;
mod chain;
pub mod due;
pub(crate) mod background;
pub mod jobs;

pub use crate::rows::job::{Cron, Job, JobKind, JobState};
pub use crate::rows::outcome::{Ended, JobError};
pub use crate::rows::retry::Retry;
pub use finished::Finished;
pub use jobs::Jobs;
pub use queue::QueueState;
pub use schedule::{Scheduled, Scheduling, When};
pub use state::{Scheduler, Stats};
