//! Commits: their numbers, the rows and tables that each one changed, and the rows and ranges that a read depends on.

mod change_set;
mod log;
pub mod read_set;

pub use change_set::{ChangeSet, Commit, RowChange};
pub use log::{Commits, Committed};
