//! Metrics of the store: those of every engine, and those of one engine as data.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds of the commit duration buckets, in microseconds; one more bucket holds the rest.
pub const COMMIT_BUCKETS_US: [u64; 10] = [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000];

/// Upper bounds of the batch size buckets, in mutations; one more bucket holds the rest.
pub const BATCH_BUCKETS: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// The counters; the working code increments them.
#[derive(Debug, Default)]
pub struct Counters {
    /// Batches committed.
    pub batches: AtomicU64,
    /// Mutations in batches, including rejected ones.
    pub batched: AtomicU64,
    /// Mutations of the largest batch.
    pub batch_largest: AtomicU64,
    /// Batches by size: see [`BATCH_BUCKETS`].
    pub batch_buckets: [AtomicU64; BATCH_BUCKETS.len() + 1],
    /// Batches that ran again with each mutation alone.
    pub replays: AtomicU64,
    /// Time spent in COMMIT, in microseconds.
    pub commit_us: AtomicU64,
    /// Commits by duration: see [`COMMIT_BUCKETS_US`].
    pub commit_buckets: [AtomicU64; COMMIT_BUCKETS_US.len() + 1],
    /// Mutations rejected because too many of their flow were queued while others waited.
    pub writer_share_rejections: AtomicU64,
    /// Queries rejected for the same reason.
    pub reader_share_rejections: AtomicU64,
    /// Statements of completed transactions.
    pub statements: AtomicU64,
    /// Statements that the connection had to prepare: one per form and connection.
    pub texts: AtomicU64,
    /// Queries that read a table without an index.
    pub scans: AtomicU64,
}

impl Counters {
    /// Records a commit.
    pub fn committed(&self, mutations: usize, elapsed: Duration) {
        // Rounds up to whole microseconds, so that a bucket holds no value above its bound.
        let elapsed = u64::try_from(elapsed.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX);
        let mutations = mutations as u64;
        self.commit_buckets[COMMIT_BUCKETS_US.partition_point(|bound| *bound < elapsed)].fetch_add(1, Relaxed);
        self.commit_us.fetch_add(elapsed, Relaxed);
        self.batch_buckets[BATCH_BUCKETS.partition_point(|bound| *bound < mutations)].fetch_add(1, Relaxed);
        self.batches.fetch_add(1, Relaxed);
        self.batched.fetch_add(mutations, Relaxed);
        self.batch_largest.fetch_max(mutations, Relaxed);
    }
}

/// A snapshot of the counters and the load. Counters only rise until the process ends.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Mutations in the queue.
    pub writer_queue: usize,
    /// Queries in the queue.
    pub reader_queue: usize,
    /// Busy readers.
    pub readers_busy: usize,
    /// Number of readers.
    pub readers: usize,
    /// Running time of the current mutation; zero if none runs.
    pub mutation_running: Duration,
    /// Batches committed.
    pub batches: u64,
    /// Mutations in batches, including rejected ones.
    pub batched: u64,
    /// Mutations of the largest batch.
    pub batch_largest: u64,
    /// Batches by size: see [`BATCH_BUCKETS`].
    pub batch_buckets: [u64; BATCH_BUCKETS.len() + 1],
    /// Batches that ran again with each mutation alone.
    pub replays: u64,
    /// Time spent in COMMIT, in microseconds.
    pub commit_us: u64,
    /// Commits by duration: see [`COMMIT_BUCKETS_US`].
    pub commit_buckets: [u64; COMMIT_BUCKETS_US.len() + 1],
    /// Mutations rejected because too many of their flow were queued while others waited.
    pub writer_share_rejections: u64,
    /// Queries rejected for the same reason.
    pub reader_share_rejections: u64,
    /// Statements of completed transactions.
    pub statements: u64,
    /// Statements that the connection had to prepare: one per form and connection.
    pub texts: u64,
    /// Queries that read a table without an index.
    pub scans: u64,
}

impl Counters {
    /// Returns the current counters; values that are no counters are zero.
    pub fn stats(&self) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        Stats {
            batches: read(&self.batches),
            batched: read(&self.batched),
            batch_largest: read(&self.batch_largest),
            batch_buckets: std::array::from_fn(|bucket| read(&self.batch_buckets[bucket])),
            replays: read(&self.replays),
            commit_us: read(&self.commit_us),
            commit_buckets: std::array::from_fn(|bucket| read(&self.commit_buckets[bucket])),
            writer_share_rejections: read(&self.writer_share_rejections),
            reader_share_rejections: read(&self.reader_share_rejections),
            statements: read(&self.statements),
            texts: read(&self.texts),
            scans: read(&self.scans),
            ..Stats::default()
        }
    }
}

/// A metric that only one engine has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedStat {
    /// Its name, in snake_case.
    pub name: &'static str,
    /// Its description, in a sentence.
    pub help: &'static str,
    /// Its kind.
    pub kind: StatKind,
    /// Its current value.
    pub value: u64,
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatKind {
    /// It only rises.
    Counter,
    /// It goes up and down.
    Gauge,
}

impl NamedStat {
    /// Creates a counter.
    pub const fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, kind: StatKind::Counter, value }
    }

    /// Creates a gauge.
    pub const fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, kind: StatKind::Gauge, value }
    }

    /// Returns the value of the metric with this name, if it exists.
    pub fn find(stats: &[Self], name: &str) -> Option<u64> {
        stats.iter().find(|stat| stat.name == name).map(|stat| stat.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_holds_values_up_to_its_bound() {
        let counters = Counters::default();
        for (mutations, took_ns) in
            [(1, 100_000), (2, 100_001), (3, 250_000), (256, 1_000_000_000), (257, 2_000_000_000)]
        {
            counters.committed(mutations, Duration::from_nanos(took_ns));
        }
        let now = counters.stats();
        assert_eq!(
            (now.commit_buckets[..3].to_vec(), now.commit_buckets[9], now.commit_buckets[10]),
            (vec![1, 2, 0], 1, 1)
        );
        assert_eq!(
            (now.batch_buckets[..3].to_vec(), now.batch_buckets[8], now.batch_buckets[9]),
            (vec![1, 1, 1], 1, 1)
        );
        assert_eq!((now.batches, now.batched, now.batch_largest), (5, 519, 257));
    }
}
