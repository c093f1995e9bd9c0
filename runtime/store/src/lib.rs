//! The store: typed tables over a transactional engine.
//!
//! This crate contains no engine, and the crates above it do not depend on a particular one. In reading order: column
//! values, tables in code and the schema of a database (`schema/`), fields with files (`file_fields/`), queries (`query/`), the reads of a transaction,
//! commits (`commits/`), the writes of mutations (`overlay/`), the engine interface, fair queues (`fairness/`), the
//! handle that the runtime holds, and the same handle with ids and a clock.

// The attributes emit absolute paths (`::convoke::…`): a crate of tables depends on this one under that name.
extern crate self as convoke;

#[doc(hidden)]
pub mod __private;
mod admission;
pub mod commits;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod database;
pub mod disk;
pub mod engine;
mod engines;
pub mod error;
mod error_codes;
mod fairness;
mod fields;
pub mod file_fields;
pub mod files;
pub mod gate;
mod json_object;
pub mod nodes;
pub mod offline;
pub mod overlay;
mod packed_row;
pub mod page_feed;
pub mod page_sink;
pub mod query;
pub mod reader;
mod row;
pub mod schema;
pub mod stats;
pub mod store;
pub mod value;

/// Items that a file of tables needs besides the tables.
pub use convoke_core::sections::Section;
pub use convoke_core::{Error, Id, Invalid, Millis, Result, rate_class, section, wire};
pub use convoke_macros::{table, value};

pub use admission::Admission;
pub use commits::{ChangeSet, Commit, Commits, Committed, RowChange, read_set};
pub use database::Database;
pub use disk::{Disk, Floor, HeldDisk, Room, SystemDisk};
pub use engine::{
    Answerer, Draw, Drawn, Engine, EngineFactory, EngineStart, Files, Nodes, OnOpening, Progress, Ran, ReadJob, Stuck,
    WriteJob,
};
pub use engines::{Engines, Make, NoEngine};
pub use error::{OpenError, StoreError};
pub use fairness::{Flow, fair_queue, latency_class};
pub use fields::Fields;
pub use file_fields::{ContentState, File, FileRule, Place, StoredFile};
pub use files::{private_file, private_folder, remove_if_there, sync_folder, write_private};
pub use gate::Access;
pub use json_object::JsonObject;
pub use latency_class::LatencyClass;
pub use nodes::{LeaseRow, LeaseRows, NewLease, Opened, Renewal, TurnName, TurnRow, TurnRows};
pub use offline::{DatabaseBuilder, Installation, NewRow, OfflineDatabase, OfflineError, Thoroughness};
pub use overlay::Transaction;
pub use packed_row::PackedRow;
pub use page_feed::{CopyAcknowledgement, PageFeed};
pub use page_sink::{PageSink, PageSource};
pub use query::{
    AtMost, Cursor, Db, DbMut, Encoded, Inserted, Order, Page, PageEnds, PageStart, PageStatus, PaginationOpts,
    PaginationResult, Plan, Query, ReadLimits, index_key,
};
pub use read_set::{ReadSet, RecordingReader};
pub use reader::Reader;
pub use row::{MemoryRow, Row};
pub use schema::{Inspected, shape, table};
pub use stats::{NamedStat, Stats};
pub use store::{State, Store, StoreOptions};
pub use table::{
    Column, Condition, Doc, FieldDef, Index, IndexDef, KeyDef, Literal, Meaning, SubmittedTable, Table, TableDef,
    Unique,
};
pub use value::{ColumnType, Value, ValueRef};
