//! The bytes of a connection: parsed strictly, checked before hyper reads them, and bounded in time and memory.

pub(crate) mod activity;
pub(crate) mod backlog;
pub(crate) mod chunked;
pub(crate) mod closing;
pub(crate) mod guarded_io;
pub(crate) mod head;
pub(crate) mod rejection;
