//! How often functions are called, how long they take, and how often they fail.
//!
//! Latencies are counted in HDR histograms (µs, 1 µs … 1 h, 3 digits), one a function and second. Every minute the
//! seconds that are over go into a table; with age they become coarser: 1 s for the last hour, 10 s for a day, 60 s
//! for a week. In reading order: one histogram, the recorder that a call meets, the minutes in memory, what holds all
//! that together, the table, and what is asked of it.

pub(crate) mod histogram;
pub mod recorder;
pub(crate) mod minutes;
mod history;
pub(crate) mod stored;
pub mod view;

pub use history::History;
pub use view::{Bucket, FunctionStats, Performance};
