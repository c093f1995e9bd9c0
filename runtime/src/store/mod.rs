//! The store: typed tables over one transactional engine.
//!
//! No SQL stands outside this folder, and nothing of the engine's library leaks out of it. In reading order: the
//! values a column holds, what a table is, how a query is typed, what a transaction can do, the seam to the engine, the
//! handle that the runtime holds, and the engine on SQLite.

pub mod engine;
pub mod error;
pub mod figures;
pub mod handle;
mod misuse;
pub mod offline;
pub mod pace;
pub mod query;
mod shared;
mod sqlite;
pub mod table;
pub mod transaction;
pub mod value;

pub use engine::{Access, WriteJob};
pub use error::StoreError;
pub use figures::Snapshot;
pub use handle::{OpenError, Progress, State, Store, StoreOptions, Stuck, Synchronous};
pub use offline::{Installation, OfflineError};
pub use pace::FunctionPace;
pub use query::{Cursor, Db, DbMut, Encoded, Inserted, Order, Page, Query};
pub use sqlite::draft::Draft;
pub use sqlite::file::{DatabaseFile, Details, Thoroughness};
pub use sqlite::folder::{DATABASE, SCRATCH, private_file, sync_folder};
pub use sqlite::schema::Inspected;
pub use table::{Column, Condition, Doc, FieldDef, Index, IndexDef, KeyDef, Literal, Table, TableDef, Unique};
pub use transaction::{Plan, Row, Transaction};
pub use value::{ColumnType, Value, ValueRef};
