//! The store: typed tables over a transactional engine.
//!
//! No engine stands in this crate, and nothing above it knows which one there is. In reading order: the values a column
//! holds, what a table is, how a query is typed, what a transaction can do, the seam to the engine, the handle that the
//! runtime holds, that with ids and the time, and how a database follows the tables in code.

// The attributes emit absolute paths (`::convoke::…`): a crate of tables depends on this one under that name.
extern crate self as convoke;

#[doc(hidden)]
pub mod __private;
mod admission;
mod change_recorder;
pub mod changes;
pub mod commits;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod database;
mod definition;
pub mod disk;
pub mod engine;
mod engines;
pub mod error;
pub mod fair_queue;
pub mod files;
mod flow;
pub mod gate;
pub mod index_key;
mod json_object;
pub mod latency_class;
mod misuse;
pub mod offline;
mod pages;
pub mod query;
pub mod read_set;
pub mod schema;
pub mod shape;
pub mod shared;
pub mod stats;
pub mod store;
pub mod table;
pub mod transaction;
pub mod value;

/// What an author's file of tables has beside the tables themselves.
pub use convoke_core::{Error, Id, Invalid, Millis, Result, rate_class, section, wire};
pub use convoke_macros::{table, value};

pub use admission::Admission;
pub use commits::{ChangeSet, Commit, Commits, Committed, RowChange};
pub use database::Database;
pub use disk::{Disk, Floor, HeldDisk, Room, SystemDisk};
pub use engine::{
    Access, Answerer, Draw, Drawn, Engine, EngineFactory, EngineStart, Files, Nodes, OnOpening, Progress, Ran, ReadJob,
    Stuck, WriteJob,
};
pub use engines::{Engines, Make, NoEngine};
pub use error::{OpenError, StoreError};
pub use files::{private_file, sync_folder};
pub use flow::Flow;
pub use json_object::JsonObject;
pub use latency_class::LatencyClass;
pub use offline::{DatabaseBuilder, Installation, NewRow, OfflineDatabase, OfflineError, Thoroughness};
pub use pages::{AtMost, PageEnds, PageStart, PageStatus, PaginationOpts, PaginationResult};
pub use query::{Cursor, Db, DbMut, Encoded, Inserted, Order, Page, Query, ReadLimits};
pub use read_set::{ReadSet, RecordingReader};
pub use schema::Inspected;
pub use shared::{LeaseRow, LeaseRows, NewLease, Opened, Renewal, TurnName, TurnRow, TurnRows};
pub use stats::{NamedStat, Stats};
pub use store::{State, Store, StoreOptions};
pub use table::{
    Column, Condition, Doc, FieldDef, Index, IndexDef, KeyDef, Literal, Meaning, SubmittedTable, Table, TableDef,
    Unique,
};
pub use transaction::{Plan, Reader, Row, Writer};
pub use value::{ColumnType, Value, ValueRef};
