//! Metrics of the application: values in its memory that `/metrics` shows.

use crate::runtime::Runtime;

/// A value of the application that rises and falls. Registered with [`gauge!`](macro@crate::gauge).
pub struct SubmittedGauge {
    /// Metric name, by Prometheus' conventions.
    pub name: &'static str,
    /// Help text of the metric.
    pub help: &'static str,
    /// Reads the value from memory. It must not block.
    pub read: fn(&Runtime) -> f64,
}
inventory::collect!(SubmittedGauge);

/// Shows a value in the application's memory in `/metrics`: `convoke::gauge!("app_subscriptions", "Open
/// subscriptions.", |runtime| …)`.
#[macro_export]
macro_rules! gauge {
    ($name:literal, $help:literal, $read:expr) => {
        $crate::__private::inventory::submit! {
            $crate::gauge::SubmittedGauge { name: $name, help: $help, read: $read }
        }
    };
}
