//! Connections: opening and limits, and the readers, which serve one query each at a time.

mod disk_reads;
mod handle;
mod interrupt;
mod pragmas;
mod profile;
mod reader_pool;
mod readers;

pub(crate) use disk_reads::Reads;
pub(crate) use handle::{BUSY, Checkpoint, Connection};
pub(crate) use interrupt::{Stop, nanos};
pub(crate) use profile::{Common, Purpose};
pub(crate) use readers::{Lease, Readers};
