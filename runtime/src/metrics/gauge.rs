//! Figures of the application: numbers in its memory that are shown among the others.

use super::family::Families;
use crate::runtime::Runtime;

/// A number of the application's that goes up and down. Registered with [`gauge!`](crate::gauge).
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
            $crate::metrics::gauge::SubmittedGauge { name: $name, help: $help, read: $read }
        }
    };
}

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let mut gauges: Vec<&SubmittedGauge> = inventory::iter::<SubmittedGauge>().collect();
    gauges.sort_by_key(|gauge| gauge.name);
    // A page with two families of one name is refused whole.
    gauges.dedup_by_key(|gauge| gauge.name);
    for gauge in gauges {
        families.gauge(gauge.name, gauge.help, (gauge.read)(runtime));
    }
}
