//! Metrics of live queries.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use convoke_calls::live::Bound;
use convoke_calls::runtime::Runtime;

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let (connections, subscriptions) = runtime.live().counts();
    let stats = runtime.live().stats();
    families.gauge("convoke_live_connections", "Connections with live queries.", connections as f64);
    families.gauge("convoke_live_subscriptions", "Live queries of all clients.", subscriptions as f64);
    families.counters(
        "convoke_live_runs_total",
        "Runs of live queries, by cause: a client subscribed, a commit changed rows that were read, or the result \
         depends on the time.",
        [
            ([("cause", "subscribed")], stats.runs_subscribed.load(Relaxed)),
            ([("cause", "changed")], stats.runs_changed.load(Relaxed)),
            ([("cause", "refreshed")], stats.runs_refreshed.load(Relaxed)),
        ],
    );
    families.counter("convoke_live_sent_total", "Results that were sent to clients.", stats.sent.load(Relaxed));
    families.counter(
        "convoke_live_replaced_total",
        "Results that a later commit replaced before they were checked again.",
        stats.replaced.load(Relaxed),
    );
    families.counters(
        "convoke_live_bounds_met_total",
        "Times that a client reached a limit of live queries: connections, queries, bytes of results, runs per second, calls, \
         bytes of a message (settings `live_*`), or the timeout of the first message.",
        Bound::ALL.map(|bound| ([("bound", bound.name())], stats.met(bound))),
    );
}
