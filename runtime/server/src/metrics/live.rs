//! Live queries: how many there are, and what they cost.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use convoke_calls::live::Bound;
use convoke_calls::runtime::Runtime;

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let (connections, subscriptions) = runtime.live().counts();
    let stats = runtime.live().stats();
    families.gauge("convoke_live_connections", "Clients that have live queries now.", connections as f64);
    families.gauge("convoke_live_subscriptions", "Live queries of all clients now.", subscriptions as f64);
    families.counters(
        "convoke_live_runs_total",
        "Runs of live queries, by cause: somebody subscribed, a commit touched what was read, or the result grows old \
         by itself.",
        [
            ([("cause", "subscribed")], stats.runs_subscribed.load(Relaxed)),
            ([("cause", "changed")], stats.runs_changed.load(Relaxed)),
            ([("cause", "refreshed")], stats.runs_refreshed.load(Relaxed)),
        ],
    );
    families.counter("convoke_live_sent_total", "Results that were handed to clients.", stats.sent.load(Relaxed));
    families.counter(
        "convoke_live_replaced_total",
        "Results that a later commit had touched before they were looked at again.",
        stats.replaced.load(Relaxed),
    );
    families.counters(
        "convoke_live_bounds_met_total",
        "How often a client met a bound of live queries: more connections, queries, bytes of results, runs a second, calls \
         under way or bytes of a message than the settings `live_*` let it have, or no first message in time.",
        Bound::ALL.map(|bound| ([("bound", bound.name())], stats.met(bound))),
    );
}
