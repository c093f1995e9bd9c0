//! Metrics of the store: queues, batches, commits, the engine's own metrics, and the disk.

use super::family::{Families, Sizes};
use convoke_calls::runtime::Runtime;
use convoke_store::Stats;
use convoke_store::disk::Floor;
use convoke_store::stats::{BATCH_BUCKETS, COMMIT_BUCKETS_US, StatKind};

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let stats = runtime.store().stats();
    let (engine, nodes) = (runtime.store().engine_name(), runtime.store().nodes().count());
    families.gauges(
        "convoke_store_engine_info",
        "The engine of the database; always 1.",
        [([("engine", engine)], 1.0)],
    );
    families.gauge("convoke_store_nodes", "Processes that serve the database, as known to this process.", nodes as f64);
    queues(families, &stats);
    commits(families, &stats);
    statements(families, &stats);
    own(families, runtime);
    disk(families, runtime);
}

fn queues(families: &mut Families, stats: &Stats) {
    families.gauges(
        "convoke_store_queue_depth",
        "Waiting mutations (writer) and queries (reader).",
        [([("queue", "writer")], stats.writer_queue as f64), ([("queue", "reader")], stats.reader_queue as f64)],
    );
    families.counters(
        "convoke_store_share_rejections_total",
        "Calls that were rejected with 503 because too many calls of the same caller were queued while other callers waited.",
        [
            ([("queue", "writer")], stats.writer_share_rejections),
            ([("queue", "reader")], stats.reader_share_rejections),
        ],
    );
    families.gauge("convoke_store_readers_busy", "Busy readers.", stats.readers_busy as f64);
    families.gauge("convoke_store_readers", "Readers.", stats.readers as f64);
    families.gauge(
        "convoke_store_mutation_running_seconds",
        "Time since the running mutation began; 0 if none runs.",
        stats.mutation_running.as_secs_f64(),
    );
}

fn commits(families: &mut Families, stats: &Stats) {
    let batches = Sizes::of(BATCH_BUCKETS.map(|bound| bound as f64), &stats.batch_buckets, stats.batched as f64);
    families.histograms("convoke_store_batch_mutations", "Mutations per commit.", [(&[][..], batches)]);
    let bounds = COMMIT_BUCKETS_US.map(|bound| bound as f64 / 1e6);
    let commits = Sizes::of(bounds, &stats.commit_buckets, stats.commit_us as f64 / 1e6);
    families.histograms("convoke_store_commit_duration_seconds", "Time spent in COMMIT.", [(&[][..], commits)]);
    families.counter(
        "convoke_store_batch_replays_total",
        "Batches whose transaction failed, so that each mutation ran again in a transaction of its own.",
        stats.replays,
    );
}

fn statements(families: &mut Families, stats: &Stats) {
    families.counters(
        "convoke_store_statements_total",
        "Statements, by whether their text was cached (hit) or had to be built (miss).",
        [([("cache", "hit")], stats.statements.saturating_sub(stats.texts)), ([("cache", "miss")], stats.texts)],
    );
    families.counter("convoke_store_scans_total", "Queries that scanned a whole table without an index.", stats.scans);
}

fn own(families: &mut Families, runtime: &Runtime) {
    for stat in runtime.store().own_stats() {
        let name = format!("convoke_store_{}", stat.name);
        match stat.kind {
            StatKind::Counter => families.counter(&name, stat.help, stat.value),
            StatKind::Gauge => families.gauge(&name, stat.help, stat.value as f64),
        }
    }
}

fn disk(families: &mut Families, runtime: &Runtime) {
    let folder = runtime.data();
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
        families.gauge(
            "convoke_disk_free_bytes_min",
            "Free bytes on the data folder's disk below which writes of users are rejected; 0 = no limit.",
            Floor::of(runtime.limits()).bytes(disk.f_blocks * disk.f_frsize) as f64,
        );
    }
}
