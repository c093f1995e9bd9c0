//! Scheduled work: rows in the same database, written in the transaction of the mutation that asked.
//!
//! A scheduled mutation has its effect exactly once: the row goes in the transaction that has the effect. A scheduled
//! action starts at most once unless it declares tries. What fails backs off, and after its tries it stays visible. In
//! reading order: the rows, how functions ask for work, expressions of crons, what the scheduler holds, the clock, how one
//! job runs, which are due, and the loop that runs them in a server.

pub mod job;
pub mod schedule;
pub mod cron;
mod state;
mod clock;
mod set_back;
pub(crate) mod run;
pub mod due;
pub(crate) mod background;
pub mod jobs;

pub use job::{Cron, Job, JobKind, JobState};
pub use jobs::Jobs;
pub use schedule::When;
pub use state::{Scheduler, Stats};
