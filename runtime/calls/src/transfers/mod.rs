//! The bytes of files on their way: the receipt of uploads, reads by links and in actions, and the removal of contents that
//! no row needs.

mod download;
mod receive;
mod sweep;

pub use download::{Download, FileReader, download};
pub(crate) use receive::address;
pub use receive::{Offset, Receiving, create, status};
pub use sweep::{Swept, sweep};
