//! Performance metrics of functions: calls, latencies and failures over time.
//!
//! Latencies are recorded in HDR histograms (µs, 1 µs … 1 h, 3 digits), one per function and second. Every minute, the
//! past seconds are written to a table, and older ones are aggregated: 1 s for the last hour, 10 s for a day, 60 s for
//! a week. In reading order: one histogram, the recorder of a function, the minutes in memory, the history, the table,
//! and the queries.

pub(crate) mod histogram;
pub mod recorder;
pub(crate) mod minutes;
mod history;
pub(crate) mod stored;
pub mod view;

pub use history::History;
pub use view::{Bucket, FunctionStats, Performance};
