//! Metrics of files.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use convoke_calls::runtime::Runtime;

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let files = runtime.files();
    let counters = files.counters();
    families.counters(
        "convoke_file_uploads_total",
        "Uploads of files: completed (stored), or failed or rejected (failed).",
        [
            ([("result", "stored")], counters.uploads.load(Relaxed)),
            ([("result", "failed")], counters.uploads_failed.load(Relaxed)),
        ],
    );
    families.gauge("convoke_file_uploads_open", "Uploads whose bytes are arriving.", files.arriving() as f64);
    families.counter(
        "convoke_file_received_bytes_total",
        "Bytes of files that clients have sent.",
        counters.bytes_received.load(Relaxed),
    );
    families.counter(
        "convoke_file_sent_bytes_total",
        "Bytes of files that were read for clients.",
        counters.bytes_sent.load(Relaxed),
    );
    families.counter(
        "convoke_files_removed_total",
        "Contents that were removed because no row referred to them.",
        counters.removed.load(Relaxed),
    );
}
