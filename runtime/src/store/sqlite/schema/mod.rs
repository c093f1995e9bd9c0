//! The schema in the file: what the tables in code must be, what the file holds, and the way from one to the other.
//!
//! Only what loses nothing is applied: new tables, indexes (also changed and dropped ones, since an index holds nothing
//! of its own), fields that are optional or have a default, and `T` to `Option<T>`. A table without rows may change in
//! any way. Everything else is refused in plain words, and nothing is applied then.

mod apply;
mod check;
mod definition;
mod difference;

pub use apply::{Extent, Inspected, apply, greatest_id, inspect};
pub use check::check;
