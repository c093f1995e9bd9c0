//! The store: typed tables over one transactional engine.
//!
//! No SQL stands outside this folder, and nothing of the engine's library leaks out of it. In reading order: the
//! values a column holds, what a table is, how a query is typed, what a transaction can do, and the engine.

pub mod engine;
pub mod error;
pub mod query;
pub mod table;
pub mod transaction;
pub mod value;

pub use engine::WriteJob;
pub use error::StoreError;
pub use query::{Cursor, Db, DbMut, Encoded, Inserted, Order, Page, Query};
pub use table::{Column, Condition, Doc, FieldDef, Index, IndexDef, KeyDef, Literal, Table, TableDef, Unique};
pub use transaction::{Plan, Row, Transaction};
pub use value::{ColumnType, Value, ValueRef};
