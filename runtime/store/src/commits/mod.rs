//! Commits: their numbers, the rows and tables that each one changed, and the rows and ranges that a read depends on.

mod change_recorder;
mod change_set;
pub mod changes;
mod log;
pub mod read_set;

pub use change_recorder::RecordedJob;
pub use change_set::{ChangeSet, Commit, Mark, RowChange};
pub use log::{Commits, Committed};
