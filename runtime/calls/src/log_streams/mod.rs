//! Streams of JSON lines for other programs: completed calls with their log lines, and the events of the runtime.
//!
//! Each stream has a bounded queue and a task that writes it to a file or sends it to a webhook. Calls only add to the
//! queue. Lines that do not fit are lost and counted.

mod file;
mod line;
mod queue;
mod settings;
mod stream;
mod streams;
#[cfg(feature = "outbound")]
mod webhook;

pub use settings::{LogStream, LogStreams};
pub use streams::{Counts, Streams};
