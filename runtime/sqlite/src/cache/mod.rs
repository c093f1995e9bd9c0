//! Cached rows, and the memory of rows and pages.

mod known_rows;
mod newest;
pub(crate) mod page_cache;
mod written;

pub(crate) use newest::{Changed, Newest};
pub(crate) use written::Written;
