//! Metrics of calls: by function, outcome and duration.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::family::{Families, Label, Sizes};
use convoke_calls::registry::Registered;
use convoke_calls::runtime::Runtime;
use convoke_calls::totals::Totals;
use convoke_core::error::Code;

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let functions: Vec<(&Registered, Totals)> =
        runtime.registry().all().map(|function| (function, runtime.totals().of(function))).collect();
    // Functions without calls have no series, because a program may have hundreds of functions with many buckets each.
    let called = || functions.iter().filter(|(_, totals)| totals.calls() > 0);
    families.counters(
        "convoke_calls_total",
        "Calls from outside and by the scheduler that ended, by function and outcome (OK, or an error code).",
        called().flat_map(|(function, totals)| {
            totals.outcomes().map(move |(outcome, calls)| {
                let [path, kind] = labels(function);
                ([path, kind, ("outcome", outcome)], calls)
            })
        }),
    );
    families.counters(
        "convoke_call_errors_total",
        "Failed calls of all functions, by code; every code has a series from the start.",
        errors(functions.iter().map(|(_, totals)| totals)),
    );
    families.histograms(
        "convoke_call_duration_seconds",
        "Duration of a call: waiting for a reader or the writer, the function, the commit.",
        called().map(|(function, totals)| {
            let cumulative = totals.cumulative().collect();
            let sum = totals.latency_ns as f64 / 1e9;
            (labels(function), Sizes { cumulative, count: totals.calls(), sum })
        }),
    );
    families.counters(
        "convoke_scheduled_calls_total",
        "Calls of convoke_calls_total that the scheduler made.",
        called()
            .filter(|(_, totals)| totals.scheduled > 0)
            .map(|(function, totals)| (labels(function), totals.scheduled)),
    );
    families.counters(
        "convoke_nested_calls_total",
        "Calls that other functions made. They are part of those functions' calls.",
        functions
            .iter()
            .filter(|(function, _)| function.nested() > 0)
            .map(|(function, _)| (labels(function), function.nested())),
    );
    let (recorded, bytes) = runtime.recent_calls().recorded();
    families.gauge("convoke_calls_recorded", "Finished calls on disk, as `convoke logs` shows them.", recorded as f64);
    families.gauge("convoke_calls_recorded_bytes", "Bytes of the finished calls on disk.", bytes as f64);
    let unrecorded = runtime.recent_calls().unrecorded();
    families.counters(
        "convoke_calls_unrecorded_total",
        "Finished calls that were not recorded: the queue was full (queue), or the disk was full or failed (disk).",
        [
            ([("reason", "queue")], unrecorded.queue.load(Relaxed)),
            ([("reason", "disk")], unrecorded.disk.load(Relaxed)),
        ],
    );
    families.gauge("convoke_actions_running", "Running actions.", runtime.actions_running() as f64);
    families.gauge("convoke_actions_max", "Limit of concurrent actions.", runtime.limits().actions_max as f64);
    families.counters(
        "convoke_rate_limited_total",
        "Calls that were rejected because the caller exceeded the rate of this class.",
        sorted(runtime.rates().limited()).iter().map(|(class, calls)| ([("class", *class)], *calls)),
    );
    families.counter(
        "convoke_idempotent_replays_total",
        "Calls that returned the recorded result of their idempotency key.",
        runtime.idempotent_replays().load(Relaxed),
    );
}

/// Returns the errors of all codes, also zeros: an increase is visible only if the series existed before.
fn errors<'a>(functions: impl Iterator<Item = &'a Totals>) -> impl Iterator<Item = ([Label<'static>; 1], u64)> {
    let mut sum = Totals::default();
    functions.for_each(|totals| sum.add(totals));
    Code::ALL.iter().map(move |code| ([("code", code.as_str())], sum.errors(*code)))
}

fn labels(function: &Registered) -> [Label<'_>; 2] {
    let path: &Arc<str> = &function.path;
    [("function", path), ("kind", function.kind().as_str())]
}

fn sorted<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort();
    all
}
