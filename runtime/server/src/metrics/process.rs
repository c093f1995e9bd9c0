//! The process and its build.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::family::Families;
use convoke_calls::runtime::Runtime;

/// The operator's log of this process, once it is installed.
static LOG: OnceLock<Arc<AtomicU64>> = OnceLock::new();

/// Shows from now on how many lines the operator's log has left out.
pub fn watch_log(left_out: Arc<AtomicU64>) {
    // There is one log a process.
    let _ = LOG.set(left_out);
}

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    families.gauges("convoke_build_info", "The runtime's version; always 1.", [(version, 1.0)]);
    let ready = if runtime.ready().is_ok() { 1.0 } else { 0.0 };
    families.gauge("convoke_ready", "Whether calls would be served now, as /readyz says.", ready);
    if let Some(left_out) = LOG.get() {
        families.counter(
            "convoke_log_lines_dropped_total",
            "Lines of the operator's log that were left out because nobody read it fast enough.",
            left_out.load(Ordering::Relaxed),
        );
    }
    families.extend(standard());
}

/// The `process_…` family that every exporter has.
#[cfg(target_os = "linux")]
fn standard() -> Vec<prometheus::proto::MetricFamily> {
    use prometheus::core::Collector as _;
    prometheus::process_collector::ProcessCollector::for_self().collect()
}

/// The crate reads `/proc`.
#[cfg(not(target_os = "linux"))]
fn standard() -> Vec<prometheus::proto::MetricFamily> {
    Vec::new()
}
