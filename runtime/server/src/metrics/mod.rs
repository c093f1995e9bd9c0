//! `/metrics`: collects the counters of the runtime's parts at each scrape and writes them as Prometheus text.
//!
//! Nothing is counted here, so calls do not pay for labels or look-ups: the code that does the work has plain counters.
//! Names and units follow Prometheus' conventions: base units, and `_total` for counters. Label values come from closed
//! sets: registered paths, kinds, codes and classes. An unknown path never becomes a label.
//!
//! The crate `prometheus` writes the text (format 0.0.4, which every scraper and `promtool check metrics` read). The
//! other maintained crate, `prometheus-client`, writes only OpenMetrics, in which older scrapers find no type of
//! counters. In reading order: metric families, the page, and one module per subject.

mod family;
mod page;

mod backup;
mod cache;
mod copies;
mod files;
mod calls;
mod gauge;
mod http;
mod jobs;
mod live;
mod log_streams;
mod process;
mod store;
#[cfg(feature = "otel")]
mod telemetry;
mod webhooks;
mod workflows;
#[cfg(feature = "otel")]
mod collector;

#[cfg(feature = "otel")]
pub(crate) use collector::collected;
pub use page::{CONTENT_TYPE, Page};
pub use process::watch_log;
