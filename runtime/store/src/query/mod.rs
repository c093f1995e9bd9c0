//! Queries: the author's interface ([`Db`], [`Query`]) and the plan that an engine reads.

mod builder;
mod cursor;
mod db;
mod encoded;
pub mod index_key;
mod misuse;
mod page_ends;
mod pages;
mod plan;
pub mod sql;

pub use builder::{Keyed, Order, Query, Ranged};
pub use cursor::Cursor;
pub use db::{Db, DbMut, Inserted, ReadLimits};
pub use encoded::Encoded;
pub use page_ends::PageEnds;
pub use pages::{AtMost, Page, PageStart, PageStatus, PaginationOpts, PaginationResult};
pub use plan::{LIST_MAX, Plan};
