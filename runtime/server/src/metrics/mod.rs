//! `/metrics`: what the parts of a runtime count anyway, read when a scraper asks and written as Prometheus text.
//!
//! Nothing is counted here, so no call pays for a label or a lookup; the code that does the work keeps plain counters. Names
//! and units follow Prometheus' conventions: base units, `_total` for what only rises. Labels have values from closed
//! sets: registered paths, kinds, codes, classes. A path that no function has is none of them.
//!
//! The text is written by the crate `prometheus` (format 0.0.4, which every scraper and `promtool check metrics` read);
//! `prometheus-client`, the other well-kept one, writes OpenMetrics alone, in which the older readers find no type for
//! any counter. In reading order: families of samples, the page, and one module a subject.

mod family;
mod page;

mod backup;
mod cache;
mod calls;
mod gauge;
mod http;
mod jobs;
mod live;
mod process;
mod store;

pub use page::{CONTENT_TYPE, Page};
pub use process::watch_log;
