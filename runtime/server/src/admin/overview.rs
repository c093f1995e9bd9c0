//! The handler that summarizes the state of the server. It needs no scope.

use serde_json::json;

use super::node::AnsweringNode;
use super::{Admin, AdminRequest, success};
use crate::following::Following;
use convoke_calls::scheduler::JobState;
use convoke_core::error::Result;
use convoke_http::Reply;
use convoke_store::disk::Floor;

/// `GET overview`: returns the readiness and version; the queues of the store and the engine's own metrics; the bytes
/// of the database and of the disk; jobs by state; live queries; and the responding node, if several may serve the
/// database.
///
/// # Errors
/// A failure of the store.
pub async fn show(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let runtime = &admin.runtime;
    let stats = runtime.store().stats();
    let own: Vec<_> =
        runtime.store().own_stats().iter().map(|stat| json!([stat.name, stat.value, stat.help])).collect();
    let (connections, subscriptions) = runtime.live().counts();
    let mut jobs = serde_json::Map::new();
    for state in [JobState::Pending, JobState::Running, JobState::Failed] {
        // The count fails while the store is closed because of its schema.
        let count = runtime.jobs().count(state).await.ok();
        jobs.insert(state.as_str().to_owned(), json!(count));
    }
    let disk = rustix::fs::statvfs(runtime.data()).ok().map(|disk| {
        let size = disk.f_blocks * disk.f_frsize;
        json!({ "free": disk.f_bavail * disk.f_frsize, "size": size, "floor": Floor::of(runtime.limits()).bytes(size) })
    });
    let mut overview = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "environment": admin.environment,
        "now": runtime.clock().now(),
        "notReady": runtime.ready().err(),
        "follows": Following::status(runtime).map(|status| status.url.clone()),
        "store": {
            "engine": runtime.store().engine_name(),
            "nodes": runtime.store().nodes().count(),
            "writerQueue": stats.writer_queue,
            "readerQueue": stats.reader_queue,
            "readers": stats.readers,
            "readersBusy": stats.readers_busy,
            "bytes": runtime.store().files().bytes(),
            "own": own,
        },
        "disk": disk,
        "jobs": jobs,
        "live": { "connections": connections, "queries": subscriptions },
    });
    if let Some(node) = AnsweringNode::of(admin) {
        overview["node"] = json!(node);
    }
    success(&overview)
}
