//! Notes that several people edit at once.
//!
//! The plain modules below know no context and no database: values in, values out. Reading order: what an operation is,
//! how two of them pass each other, how a chain of them passes a log, how the text lies in pieces, how two texts differ.

pub mod chain;
pub mod difference;
pub mod operation;
pub mod pieces;
pub mod transform;
pub mod units;
pub mod revocation;
