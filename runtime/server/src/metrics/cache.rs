//! Kept results of queries: how many there are, and what they are worth.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use convoke_calls::runtime::Runtime;

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let (entries, bytes) = runtime.cache().size();
    let stats = runtime.cache().stats();
    families.gauge("convoke_cache_entries", "Results of queries that are kept now.", entries as f64);
    families.gauge("convoke_cache_bytes", "Bytes that kept results take, about.", bytes as f64);
    families.counter("convoke_cache_hits_total", "Calls that were given a kept result.", stats.hits.load(Relaxed));
    families.counter(
        "convoke_cache_misses_total",
        "Calls of queries whose results may be kept, for which there was none that stood.",
        stats.misses.load(Relaxed),
    );
    families.counter(
        "convoke_cache_joined_total",
        "Calls that waited for another one's run of the same query.",
        stats.joined.load(Relaxed),
    );
    families.counters(
        "convoke_cache_evictions_total",
        "Kept results that fell, by cause: a commit touched what they rest on, or there was no room.",
        [
            ([("cause", "changed")], stats.evicted_changed.load(Relaxed)),
            ([("cause", "size")], stats.evicted_size.load(Relaxed)),
        ],
    );
}
