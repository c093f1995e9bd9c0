//! The writes of mutations, above every engine.
//!
//! A mutation runs on a [`Transaction`]. It keeps the written rows in memory and reads them over the [`Base`]: the
//! state of the database that the engine gives to the mutation. The engine receives the writes only when it commits.
//!
//! - **Rows.** A [`Batch`] contains the pending rows of the mutations that one commit makes durable, merged by row: the
//!   row in the database, the row now, and the changed fields. The bytes of a row are packed once
//!   ([`PackedRow`](crate::PackedRow)); the engine writes these bytes and its caches keep them.
//! - **Undo.** A batch has one journal. A savepoint is a position in it, and so is the start of a mutation. A mutation
//!   that fails is undone in memory, and the engine sends no savepoint.
//! - **Reads.** Pending rows are ordered by the positions of [`index_key`](crate::index_key), the order of every
//!   engine. A read merges them into the rows of the base, in both directions.
//! - **Unique keys.** Each write checks the unique indexes against the pending rows and the base. The indexes of the
//!   engine remain as a second check. If one of them rejects a write, the engine runs the batch again, one mutation at
//!   a time, and the mutation of this write fails.
//! - **Writes.** [`Batch::writes`] returns one write per changed row, in the order of tables and ids. A row whose
//!   unique keys pass to another row is first vacated ([`Write::Vacate`]).
//! - **Changes.** [`Batch::changes`] compares each pending row with the row in the database, for live queries and
//!   caches.
//! - **Memory.** A mutation whose pending rows exceed [`PENDING_BYTES_MAX`] is stopped and runs again alone
//!   ([`Mode::Alone`]). Then its pending rows are applied whenever they exceed the limit, and its savepoints are those
//!   of the engine.

mod base;
mod batch;
mod merge;
mod pending;
mod row_bytes;
mod transaction;
mod writes;

pub use base::Base;
pub use batch::{Batch, PENDING_BYTES_MAX};
pub use row_bytes::row_bytes;
pub use transaction::{End, Mode, Transaction};
pub use writes::{RowWrite, Write};
