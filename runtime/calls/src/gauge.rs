//! Figures of the application: numbers in its memory that are shown among the others.

use crate::runtime::Runtime;

/// A number of the application's that goes up and down. Registered with [`gauge!`](macro@crate::gauge).
pub struct SubmittedGauge {
    /// Its name, by Prometheus' conventions.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Reads it from memory; it must not wait.
    pub read: fn(&Runtime) -> f64,
}
inventory::collect!(SubmittedGauge);

/// Shows a number of the application's memory in `/metrics`:
/// `convoke::gauge!("app_subscriptions", "Open subscriptions.", |runtime| …)`.
#[macro_export]
macro_rules! gauge {
    ($name:literal, $help:literal, $read:expr) => {
        $crate::__private::inventory::submit! {
            $crate::gauge::SubmittedGauge { name: $name, help: $help, read: $read }
        }
    };
}
