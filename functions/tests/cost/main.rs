//! The cost of functions in statements and rows. A separate binary, since it registers functions that only count.

mod notes;
mod offline;
mod sessions;
mod written;
