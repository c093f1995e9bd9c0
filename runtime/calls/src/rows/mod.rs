//! The rows of scheduled work, with the changes of their states: jobs and crons, and runs of workflows with their
//! journal.
//!
//! A workflow's steps are jobs, and the scheduler advances runs: both use these rows, and the rows use neither.

pub mod retry;
pub mod outcome;
pub mod run;
pub mod job;
