//! The schema of the database: the rules of table definitions, the recorded schema, and the way from it to the code. An
//! engine records the definition, checks its rows, and takes the steps ([`Catalog`]).
//!
//! Only changes without data loss are applied: new tables, indexes (also changed and dropped ones, since an index has
//! no data of its own), fields that are optional or have a default, and `T` to `Option<T>`. A table without rows may
//! change in any way. Any other change is rejected with a message, and then nothing is applied.
//!
//! The possible values of a field are recorded too ([`shape`]). If they may have narrowed, the rows are read. A row
//! whose value does not fit the type in code is rejected in the same way.

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
