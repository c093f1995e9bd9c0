//! Counters of this engine: those of every engine, and those of conflicts.

use std::ops::Deref;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use convoke_store::NamedStat;

/// The counters of a node.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    common: convoke_store::stats::Counters,
    /// Runs of queries and mutations that conflicted with others and were repeated.
    pub retries: AtomicU64,
    /// Queries and mutations that failed because they conflicted until their time limit.
    pub contended: AtomicU64,
    /// Runs of mutations whose connection was cut.
    pub cuts: AtomicU64,
    /// Commits whose outcome was at first unknown.
    pub commits_resolved: AtomicU64,
}

impl Deref for Counters {
    type Target = convoke_store::stats::Counters;
    fn deref(&self) -> &Self::Target {
        &self.common
    }
}

impl Counters {
    /// The counters that only this engine has.
    pub(crate) fn own(&self) -> Vec<NamedStat> {
        let counter = |name, help, counter: &AtomicU64| NamedStat::counter(name, help, counter.load(Relaxed));
        vec![
            counter(
                "conflicts_total",
                "Runs of queries and mutations that were in conflict with others beside them, and were run again.",
                &self.retries,
            ),
            counter(
                "contended_total",
                "Queries and mutations that were given up, in conflict with others until their time was over.",
                &self.contended,
            ),
            counter("connections_cut_total", "Runs of mutations whose connection to the database was cut.", &self.cuts),
            counter(
                "commits_resolved_total",
                "Commits whose connection was cut, and that were looked up by their own id.",
                &self.commits_resolved,
            ),
        ]
    }
}
