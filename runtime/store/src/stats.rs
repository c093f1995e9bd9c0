//! What the store counts about itself, for metrics: what every engine counts, and what only one does as data.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds of the buckets in which commits are counted, in microseconds; one more bucket holds the rest.
pub const COMMIT_BUCKETS_US: [u64; 10] = [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000];

/// Upper bounds of the buckets in which batches are counted, in mutations; one more bucket holds the rest.
pub const BATCH_BUCKETS: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// The counters, written by the code that does the work.
#[derive(Debug, Default)]
pub struct Counters {
    /// Batches committed.
    pub batches: AtomicU64,
    /// Mutations in them, refused ones too.
    pub batched: AtomicU64,
    /// Mutations of the largest batch.
    pub batch_largest: AtomicU64,
    /// Batches by size: see [`BATCH_BUCKETS`].
    pub batch_buckets: [AtomicU64; BATCH_BUCKETS.len() + 1],
    /// Batches that were run again, each mutation alone.
    pub replays: AtomicU64,
    /// Time spent in COMMIT, in microseconds.
    pub commit_us: AtomicU64,
    /// Commits by duration: see [`COMMIT_BUCKETS_US`].
    pub commit_buckets: [AtomicU64; COMMIT_BUCKETS_US.len() + 1],
    /// Mutations that were rejected because too many of their flow waited while others did.
    pub writer_share_rejections: AtomicU64,
    /// The same of queries.
    pub reader_share_rejections: AtomicU64,
    /// Statements of transactions that are over.
    pub statements: AtomicU64,
    /// Statements whose text the connection did not have ready: one a form and connection.
    pub texts: AtomicU64,
    /// Queries that walked a table without an index.
    pub scans: AtomicU64,
}

impl Counters {
    /// Takes in a commit.
    pub fn committed(&self, mutations: usize, elapsed: Duration) {
        // Begun microseconds count whole, so that a bucket holds nothing that exceeds its bound.
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

/// The counters, and how busy the engine is, at one moment. Counters only rise until the process ends.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Mutations that wait for the writer.
    pub writer_queue: usize,
    /// Queries that wait for a reader.
    pub reader_queue: usize,
    /// Readers at work.
    pub readers_busy: usize,
    /// Readers there are.
    pub readers: usize,
    /// How long the mutation that runs now has been running; zero if none runs.
    pub mutation_running: Duration,
    /// Batches committed.
    pub batches: u64,
    /// Mutations in them, refused ones too.
    pub batched: u64,
    /// Mutations of the largest batch.
    pub batch_largest: u64,
    /// Batches by size: see [`BATCH_BUCKETS`].
    pub batch_buckets: [u64; BATCH_BUCKETS.len() + 1],
    /// Batches that were run again, each mutation alone.
    pub replays: u64,
    /// Time spent in COMMIT, in microseconds.
    pub commit_us: u64,
    /// Commits by duration: see [`COMMIT_BUCKETS_US`].
    pub commit_buckets: [u64; COMMIT_BUCKETS_US.len() + 1],
    /// Mutations that were rejected because too many of their flow waited while others did.
    pub writer_share_rejections: u64,
    /// The same of queries.
    pub reader_share_rejections: u64,
    /// Statements of transactions that are over.
    pub statements: u64,
    /// Statements whose text the connection did not have ready: one a form and connection.
    pub texts: u64,
    /// Queries that walked a table without an index.
    pub scans: u64,
}

impl Counters {
    /// The counters as they are now; what is no counter is left at zero.
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

/// A figure that one engine has and another has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedStat {
    /// Its name, in snake_case.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub help: &'static str,
    /// How it moves.
    pub kind: StatKind,
    /// What it is now.
    pub value: u64,
}

/// How a figure moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatKind {
    /// It only rises.
    Counter,
    /// It goes up and down.
    Gauge,
}

impl NamedStat {
    /// A number that only rises.
    pub const fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, kind: StatKind::Counter, value }
    }

    /// A number that goes up and down.
    pub const fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, kind: StatKind::Gauge, value }
    }

    /// The value of the figure with this name, if it is one of these.
    pub fn find(stats: &[Self], name: &str) -> Option<u64> {
        stats.iter().find(|stat| stat.name == name).map(|stat| stat.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_does_not_exceed_its_bound() {
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
