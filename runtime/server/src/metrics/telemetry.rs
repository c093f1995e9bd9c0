//! Metrics of the records that are sent to a collector.

use super::family::Families;
use convoke_calls::runtime::Runtime;
use convoke_calls::telemetry::Signal;

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let Some(telemetry) = runtime.telemetry() else { return };
    families.counters(
        "convoke_telemetry_sent_total",
        "Spans (traces), log lines (logs) and metrics that the collector has accepted.",
        Signal::ALL.map(|signal| ([("signal", signal.as_str())], telemetry.sent(signal))),
    );
    families.counters(
        "convoke_telemetry_lost_total",
        "Spans (traces), log lines (logs) and metrics that were lost: the queue was full, or the collector rejected them.",
        Signal::ALL.map(|signal| ([("signal", signal.as_str())], telemetry.lost(signal))),
    );
}
