//! Cached rows, and the memory of rows and pages.

mod known_rows;
mod newest;
mod packed_row;
pub(crate) mod page_cache;
mod row_memory;

pub(crate) use known_rows::KnownRow;
pub(crate) use newest::{Changed, Newest};
pub(crate) use row_memory::RowMemory;
