//! Totals of each function's calls since the process started: their outcomes and their latencies.
//!
//! These are the counters of `/metrics`. The histograms of performance cannot provide them: those restart every second,
//! and their cells do not match the buckets of a scraper.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::observe::{By, CallObserver, Called, CompletedCall};
use crate::registry::{PerFunction, Registered, Registry};
use crate::shards::Shards;
use convoke_core::error::Code;

/// The counters of all functions.
pub struct CallTotals(PerFunction<Shards<Option<Box<Totals>>>>);

impl CallTotals {
    pub(crate) fn new(registry: &Registry) -> Self {
        // Allocated at the first call of a shard: most functions of a program are called on few threads.
        Self(registry.per_function(|_| Shards::default()))
    }

    /// Returns the totals of one function.
    pub fn of(&self, function: &Registered) -> Totals {
        let mut sum = Totals::default();
        self.0[function].each().filter_map(|shard| shard.clone()).for_each(|totals| sum.add(&totals));
        sum
    }
}

impl CallObserver for CallTotals {
    fn completed(&self, call: &CompletedCall<'_>) -> Option<BoxFuture<'static, ()>> {
        if let Called::Function(function) = call.called {
            let mut totals = self.0[function].mine();
            totals.get_or_insert_default().count(call.outcome(), call.elapsed, call.by == By::Scheduler);
        }
        None
    }
}

/// Upper bounds of the latency buckets, in ns. One more bucket holds the rest.
pub(crate) const BUCKETS_NS: [u64; 17] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    30_000_000_000,
    300_000_000_000,
];

/// Number of outcomes: the codes of a call, and, last, success.
const OUTCOMES: usize = Code::ALL.len() + 1;

/// Counters of one function, or of a part of its calls. They only increase.
#[derive(Clone, Debug)]
pub struct Totals {
    outcomes: [u64; OUTCOMES],
    /// Calls by the scheduler.
    pub scheduled: u64,
    /// Sum of all latencies, in ns.
    pub latency_ns: u64,
    /// Calls by latency. Each is in the first bucket of [`BUCKETS_NS`] whose bound it does not exceed.
    buckets: [u64; BUCKETS_NS.len() + 1],
}

impl Default for Totals {
    fn default() -> Self {
        Self { outcomes: [0; OUTCOMES], scheduled: 0, latency_ns: 0, buckets: [0; BUCKETS_NS.len() + 1] }
    }
}

impl Totals {
    /// Counts a call. Without a code, it succeeded.
    pub(crate) fn count(&mut self, outcome: Option<Code>, latency: Duration, scheduled: bool) {
        let latency_ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.outcomes[outcome.map_or(OUTCOMES - 1, |code| code as usize)] += 1;
        self.scheduled += u64::from(scheduled);
        self.latency_ns = self.latency_ns.saturating_add(latency_ns);
        self.buckets[BUCKETS_NS.partition_point(|bound| *bound < latency_ns)] += 1;
    }

    /// Adds the counters of another part.
    pub fn add(&mut self, other: &Self) {
        for (sum, count) in self.outcomes.iter_mut().zip(other.outcomes) {
            *sum += count;
        }
        for (sum, count) in self.buckets.iter_mut().zip(other.buckets) {
            *sum += count;
        }
        self.scheduled += other.scheduled;
        self.latency_ns = self.latency_ns.saturating_add(other.latency_ns);
    }

    /// Returns the number of calls per outcome, without outcomes that did not occur. Success is `OK`.
    pub fn outcomes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = Code::ALL.iter().map(|code| code.as_str()).chain(["OK"]);
        names.zip(self.outcomes).filter(|(_, calls)| *calls > 0)
    }

    /// Returns the number of calls with this error.
    pub fn errors(&self, code: Code) -> u64 {
        self.outcomes[code as usize]
    }

    /// Returns the number of calls.
    pub fn calls(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Returns for each bound, in seconds, the number of calls that did not exceed it.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut calls = 0;
        BUCKETS_NS.iter().zip(self.buckets).map(move |(bound, count)| {
            calls += count;
            (*bound as f64 / 1e9, calls)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{FunctionDef, Kind, Visibility};
    use crate::logs::LogLines;
    use convoke_core::clock::Millis;
    use convoke_core::error::Error;
    use convoke_core::identity::Caller;

    #[test]
    fn every_code_has_its_own_counter() {
        for (place, code) in Code::ALL.iter().enumerate() {
            assert_eq!(*code as usize, place, "{code}");
        }
        let mut totals = Totals::default();
        totals.count(Some(Code::NotReady), Duration::ZERO, false);
        totals.count(None, Duration::ZERO, true);
        assert_eq!(totals.outcomes().collect::<Vec<_>>(), [("NOT_READY", 1), ("OK", 1)]);
        assert_eq!((totals.calls(), totals.scheduled), (2, 1));
    }

    #[test]
    fn bucket_bounds_are_inclusive_to_the_nanosecond() {
        let mut totals = Totals::default();
        for ns in [0, 100_000, 100_001, 250_000, 300_000_000_000, 300_000_000_001] {
            totals.count(None, Duration::from_nanos(ns), false);
        }
        let counts: Vec<u64> = totals.cumulative().map(|(_, calls)| calls).collect();
        assert_eq!(counts[..3], [2, 4, 4]);
        assert_eq!((counts[15], counts[16], totals.calls()), (4, 5, 6));
        assert_eq!(totals.cumulative().next(), Some((0.0001, 2)));
    }

    #[test]
    fn no_call_is_lost_between_threads() {
        static DEF: FunctionDef = FunctionDef {
            module: "app::a",
            name: "b",
            kind: Kind::Query,
            visibility: Visibility::Public,
            doc: "",
            file: "a.rs",
            line: 1,
            crons: &[],
            rights: None,
            rate: None,
            tries: None,
            identity_hook: false,
            tool: false,
            cache: false,
            refresh: None,
            route: None,
            args_schema: |generator| generator.subschema_for::<()>(),
            output_schema: |generator| generator.subschema_for::<()>(),
        };
        let registry = Registry::of([&DEF]).unwrap();
        let function = registry.all().next().unwrap();
        let (totals, error) = (CallTotals::new(&registry), Error::new(Code::Conflict, ""));
        let (threads, calls) = (8, 5_000);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for call in 0..calls {
                        let error = (call % 4 == 0).then_some(&error);
                        let call = CompletedCall {
                            called: Called::Function(function),
                            request_id: &"r".into(),
                            caller: &Caller::Nobody,
                            by: By::Caller,
                            key: None,
                            at: Millis(0),
                            elapsed: Duration::ZERO,
                            error,
                            log_lines: &LogLines::default(),
                            is_cached: false,
                            arguments: None,
                            result_bytes: None,
                            rows_read: 0,
                            rows_written: 0,
                            waited: Duration::ZERO,
                            span: &crate::trace::Span::default(),
                        };
                        assert!(totals.completed(&call).is_none());
                    }
                });
            }
        });
        let failed = threads * calls / 4;
        assert_eq!(totals.of(function).outcomes().collect::<Vec<_>>(), [("CONFLICT", failed), ("OK", 3 * failed)]);
    }

    #[test]
    fn parts_add_up() {
        let (mut one, mut other) = (Totals::default(), Totals::default());
        one.count(None, Duration::from_millis(3), false);
        other.count(Some(Code::Forbidden), Duration::from_secs(400), true);
        one.add(&other);
        assert_eq!((one.calls(), one.scheduled, one.latency_ns), (2, 1, 400_003_000_000));
        assert_eq!(one.outcomes().collect::<Vec<_>>(), [("FORBIDDEN", 1), ("OK", 1)]);
        assert_eq!(one.cumulative().last(), Some((300.0, 1)));
    }
}
