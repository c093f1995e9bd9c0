//! The schema in the database: what the tables in code must be, what the database holds, and the way from one to the
//! other. An engine keeps the definition, says what its rows allow, and takes the steps ([`Catalog`]).
//!
//! Only what loses nothing is applied: new tables, indexes (also changed and dropped ones, since an index holds nothing
//! of its own), fields that are optional or have a default, and `T` to `Option<T>`. A table without rows may change in
//! any way. Everything else is refused in plain words, and nothing is applied then.
//!
//! What the values of a field may be is recorded too ([`shape`]). Where it may have narrowed, the rows are read: one whose
//! value does not fit the type in code is refused like everything else.

mod catalog;
mod check;
mod definition;
mod difference;
mod misfit;
mod releases;
pub mod shape;
pub mod table;
mod upkeep;

pub use catalog::{Catalog, Extent, VisitValues};
pub use check::check;
pub use definition::{Definition, FieldShape, Schemas, TableShape};
pub use difference::Step;
pub use upkeep::{Applied, Inspected, Stepped, Upkeep, bring_up_to_date, inspect, log_changes, steps};
