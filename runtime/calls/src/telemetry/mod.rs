//! Sends traces, logs and metrics to an OpenTelemetry collector, by OTLP over HTTP with protobuf.
//!
//! A task empties the queues of [`crate::trace`] once per second. A collector that is slow or unreachable delays only
//! this task: the queues are bounded, and what they cannot hold is counted.

pub mod settings;
#[cfg(feature = "otel")]
mod destination;
#[cfg(feature = "otel")]
mod encode;
#[cfg(feature = "otel")]
mod exporter;
#[cfg(feature = "otel")]
mod metric;
#[cfg(feature = "otel")]
mod signal;

#[cfg(feature = "otel")]
pub use exporter::Telemetry;
#[cfg(feature = "otel")]
pub use metric::{Metric, MetricData, Point, Sizes};
#[cfg(feature = "otel")]
pub use signal::Signal;
