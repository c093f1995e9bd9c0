//! What functions cost in statements and rows. A binary of its own, since it registers functions that only count.

mod notes;
mod offline;
mod sessions;
mod written;
