//! The store: queues, batches, commits, the log, the files.

use super::family::{Families, Sizes};
use crate::runtime::Runtime;
use crate::store::DATABASE;
use crate::store::figures::{BATCH_BUCKETS, COMMIT_BUCKETS_US, Snapshot};

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let figures = runtime.store().figures();
    queues(families, &figures);
    commits(families, &figures);
    statements(families, &figures);
    files(families, runtime);
}

fn queues(families: &mut Families, figures: &Snapshot) {
    families.gauges(
        "convoke_store_queue_depth",
        "Mutations that wait for the writer, and queries that wait for a reader.",
        [([("queue", "writer")], figures.writer_queue as f64), ([("queue", "reader")], figures.reader_queue as f64)],
    );
    families.gauge("convoke_store_readers_busy", "Readers at work.", figures.readers_busy as f64);
    families.gauge("convoke_store_readers", "Readers there are.", figures.readers as f64);
    families.gauge(
        "convoke_store_mutation_running_seconds",
        "How long the mutation that runs now has been running; 0 if none runs.",
        figures.mutation_running.as_secs_f64(),
    );
}

fn commits(families: &mut Families, figures: &Snapshot) {
    let batches = Sizes::of(BATCH_BUCKETS.map(|bound| bound as f64), &figures.batch_buckets, figures.batched as f64);
    families.histograms(
        "convoke_store_batch_mutations",
        "Mutations that were committed together.",
        [(&[][..], batches)],
    );
    let bounds = COMMIT_BUCKETS_US.map(|bound| bound as f64 / 1e6);
    let commits = Sizes::of(bounds, &figures.commit_buckets, figures.commit_us as f64 / 1e6);
    families.histograms("convoke_store_commit_duration_seconds", "Time spent in COMMIT.", [(&[][..], commits)]);
    families.counter(
        "convoke_store_batch_replays_total",
        "Batches whose transaction was lost, so that each mutation ran again, alone.",
        figures.replays,
    );
    families.gauge("convoke_store_wal_bytes", "Bytes of the write-ahead log in use.", figures.wal_bytes as f64);
    families.counter(
        "convoke_store_checkpoints_total",
        "Times the write-ahead log was copied back, wholly or in part.",
        figures.checkpoints,
    );
    families.counter(
        "convoke_store_readers_stopped_total",
        "Queries that were stopped because their snapshot kept the write-ahead log from shrinking.",
        figures.readers_stopped,
    );
}

fn statements(families: &mut Families, figures: &Snapshot) {
    families.counters(
        "convoke_store_statements_total",
        "Statements, by whether their connection had the text ready (hit) or had to make it first (miss).",
        [([("cache", "hit")], figures.statements.saturating_sub(figures.texts)), ([("cache", "miss")], figures.texts)],
    );
    families.counter("convoke_store_scans_total", "Queries that walked a whole table without an index.", figures.scans);
}

fn files(families: &mut Families, runtime: &Runtime) {
    let folder = runtime.data();
    if let Ok(metadata) = std::fs::metadata(folder.join(DATABASE)) {
        families.gauge(
            "convoke_store_database_bytes",
            "Size of the database file, without the write-ahead log.",
            metadata.len() as f64,
        );
    }
    if let Ok(disk) = rustix::fs::statvfs(folder) {
        families.gauge(
            "convoke_disk_free_bytes",
            "Bytes that the process may still write on the data folder's disk.",
            (disk.f_bavail * disk.f_frsize) as f64,
        );
        families.gauge(
            "convoke_disk_size_bytes",
            "Size of the data folder's disk.",
            (disk.f_blocks * disk.f_frsize) as f64,
        );
    }
}
