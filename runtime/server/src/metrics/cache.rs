//! Metrics of the query cache.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use convoke_calls::runtime::Runtime;

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let (entries, bytes) = runtime.cache().size();
    let stats = runtime.cache().stats();
    families.gauge("convoke_cache_entries", "Cached results of queries.", entries as f64);
    families.gauge("convoke_cache_bytes", "Approximate bytes of cached results.", bytes as f64);
    families.counter("convoke_cache_hits_total", "Calls that returned a cached result.", stats.hits.load(Relaxed));
    families.counter(
        "convoke_cache_misses_total",
        "Calls of cacheable queries without a valid cached result.",
        stats.misses.load(Relaxed),
    );
    families.counter(
        "convoke_cache_joined_total",
        "Calls that waited for a concurrent run of the same query.",
        stats.joined.load(Relaxed),
    );
    families.counters(
        "convoke_cache_evictions_total",
        "Evicted results, by cause: a commit changed rows that they depend on, or the cache was full.",
        [
            ([("cause", "changed")], stats.evicted_changed.load(Relaxed)),
            ([("cause", "size")], stats.evicted_size.load(Relaxed)),
        ],
    );
}
