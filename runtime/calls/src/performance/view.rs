//! Queries on performance: the course of one function over time, and all functions side by side.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::histogram::{Span, Sum};
use super::history::History;
use super::minutes::Of;
use super::recorder::SECOND;
use super::stored;
use crate::function::Kind;
use convoke_core::clock::Millis;
use convoke_core::error::Result;
use convoke_store::Db;

/// The metrics of a runtime's calls, up to this moment.
///
/// Calls from outside and calls by the scheduler are counted. A function that another function calls is part of that
/// function's call.
pub struct Performance<'a> {
    history: &'a History,
    db: &'a Db,
}

/// The calls of one period. Latencies are in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bucket {
    /// Start of the period.
    pub timestamp: Millis,
    /// Calls that ended in it.
    pub calls: u64,
    /// Calls that ended in an error or a panic.
    pub errors: u64,
    /// Calls by the scheduler.
    pub scheduled: u64,
    /// The sum of all latencies.
    pub latency_us: u64,
    /// Median latency by nearest rank, at most 0.1 % off; 0 without calls.
    pub p50_us: f64,
    /// As `p50_us`, for 95 %.
    pub p95_us: f64,
    /// As `p50_us`, for 99 %.
    pub p99_us: f64,
}

impl Bucket {
    /// Returns the mean latency in ms; 0 without calls.
    pub fn avg_latency_ms(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.latency_us as f64 / self.calls as f64 / 1_000.0 }
    }

    /// Returns the share of calls without an error; 1 without calls.
    pub fn success_rate(&self) -> f64 {
        if self.calls == 0 { 1.0 } else { (self.calls - self.errors) as f64 / self.calls as f64 }
    }

    fn of(timestamp: Millis, sum: &Sum) -> Self {
        let stats = sum.stats;
        Self {
            timestamp,
            calls: stats.calls,
            errors: stats.errors,
            scheduled: stats.scheduled,
            latency_us: stats.latency_us,
            p50_us: sum.percentile_us(50),
            p95_us: sum.percentile_us(95),
            p99_us: sum.percentile_us(99),
        }
    }
}

/// The calls of one function over a period.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionStats {
    /// Path.
    pub function: Arc<str>,
    /// Kind; none if the program no longer has the function.
    pub kind: Option<Kind>,
    /// Metrics.
    pub stats: Bucket,
}

impl History {
    /// Returns the queries on this history, in a snapshot.
    pub fn at<'a>(&'a self, db: &'a Db) -> Performance<'a> {
        Performance { history: self, db }
    }
}

impl Performance<'_> {
    /// Returns the paths that match a name: a path with `/` or with `:` before the function, or the bare name of a
    /// function, which several functions may share.
    pub fn functions(&self, name: &str) -> Vec<Arc<str>> {
        let path = name.replace(':', "/");
        if let Some(function) = self.history.registry.get(&path) {
            return vec![function.path.clone()];
        }
        let bare = |path: &str| path.rsplit('/').next() == Some(name);
        self.history.registry.all().filter(|function| bare(&function.path)).map(|f| f.path.clone()).collect()
    }

    /// Returns the calls of a function (of all functions without a name) in buckets of length `bucket`, aligned to
    /// multiples of it. The first bucket contains `from`, the last begins before `end`, and empty buckets are included.
    /// An unknown name gives empty buckets.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn series(&self, name: Option<&str>, from: Millis, end: Millis, bucket: Duration) -> Result<Vec<Bucket>> {
        let step = i64::try_from(bucket.as_millis()).unwrap_or(i64::MAX).max(SECOND);
        let start = from.0.div_euclid(step) * step;
        let buckets = usize::try_from((end.0 - start).max(0).unsigned_abs().div_ceil(step.unsigned_abs())).unwrap_or(0);
        let of = match name {
            None => Of::Together,
            Some(name) => Of::Functions(self.functions(name)),
        };
        let place = |span: &Span| usize::try_from((span.start - start).div_euclid(step)).ok();
        let mut spans = self.spans(&of, (start, start + step * buckets as i64))?;
        spans.sort_by_key(|(_, span)| place(span));
        let timestamp = |place: usize| Millis(start + step * place as i64);
        let mut series: Vec<Bucket> =
            (0..buckets).map(|place| Bucket { timestamp: timestamp(place), ..Bucket::default() }).collect();
        let mut sum = Sum::default();
        for same in spans.chunk_by(|(_, a), (_, b)| place(a) == place(b)) {
            sum.clear();
            same.iter().for_each(|(_, span)| sum.add(span));
            if let Some(bucket) = place(&same[0].1).and_then(|place| series.get_mut(place)) {
                *bucket = Bucket::of(bucket.timestamp, &sum);
            }
        }
        Ok(series)
    }

    /// Returns the functions that were called in `[from, end)`, by path. `from` is rounded down to a second, and for
    /// older times to the stored resolution.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn breakdown(&self, from: Millis, end: Millis) -> Result<Vec<FunctionStats>> {
        let start = from.0.div_euclid(SECOND) * SECOND;
        let mut functions: BTreeMap<Arc<str>, Vec<Span>> = BTreeMap::new();
        for (function, span) in self.spans(&Of::Each, (start, end.0))? {
            functions.entry(function).or_default().push(span);
        }
        let mut sum = Sum::default();
        let stats = functions.into_iter().map(|(function, spans)| {
            sum.clear();
            spans.iter().for_each(|span| sum.add(span));
            let kind = self.history.registry.get(&function).map(|function| function.kind());
            FunctionStats { function, kind, stats: Bucket::of(from, &sum) }
        });
        Ok(stats.collect())
    }

    /// Returns the spans that begin in the requested time, from the table and from memory.
    fn spans(&self, of: &Of, (from, end): (i64, i64)) -> Result<Vec<(Arc<str>, Span)>> {
        let mut spans = Vec::new();
        let first_kept = self.history.minutes.copy(self.history.each(), of, &mut spans);
        stored::read(self.db, of, (from, end), self.history.boot, first_kept, &mut spans)?;
        spans.retain(|(_, span)| (from..end).contains(&span.start));
        Ok(spans)
    }
}
