//! Transfers of rows between the engines in both directions, and exports of one snapshot while nodes write.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use serde_json::json;
use tempfile::TempDir;

use crate::node::{Cluster, Node, SERVER, said, until};

const ROWS: i64 = 100_000;
/// Rows per call: a mutation may take one second, on a busy machine too.
const AT_ONCE: i64 = 500;

/// The path of an archive.
struct Archive(TempDir);

impl Archive {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> String {
        self.0.path().join("all.tar.gz").to_string_lossy().into_owned()
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap()
    }

    /// Returns the rows of a table, one per line.
    fn rows(&self, table: &str) -> Vec<serde_json::Value> {
        let mut tar = Command::new("tar");
        let lines = said(tar.args(["-xzOf", &self.path(), &format!("tables/{table}.jsonl")]));
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Returns a command for the program on the embedded engine.
fn embedded(cluster: &Cluster, folder: &TempDir) -> Command {
    let mut command = cluster.command(folder);
    command.env_remove("CONVOKE_STORE");
    command
}

#[track_caller]
fn refused(output: Output) -> String {
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

fn exported(command: &mut Command) -> Archive {
    let archive = Archive::new();
    said(command.args(["export", &archive.path()]));
    archive
}

#[test]
fn hundred_thousand_rows_round_trip_through_postgresql() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let alone = cluster.node_with(|command| command.env_remove("CONVOKE_STORE")).unwrap();
    for first in (0..ROWS).step_by(usize::try_from(AT_ONCE).unwrap()) {
        let args = json!({ "first": first, "count": AT_ONCE });
        let is_made = || alone.call("ledger/remark", &args, &[]).is_some_and(|reply| reply["status"] == "success");
        until("the remarks are made", is_made);
    }
    alone.value("ledger/post", &json!({ "mark": "posted before" }));
    let stamped = || alone.value("ledger/books", &json!({}))["stamps"] == json!(["mutation posted before"]);
    until("its job has run", stamped);
    let first = exported(&mut embedded(&cluster, &alone.folder));

    let folder = TempDir::new().unwrap();
    let imported = said(cluster.command(&folder).args(["import", &first.path()]));
    assert!(imported.contains(&format!("schema={}", cluster.schema())), "{imported}");
    let second = exported(&mut cluster.command(&folder));
    assert!(first.bytes() == second.bytes(), "the archives differ");
    assert_eq!(second.rows("remarks").len(), usize::try_from(ROWS).unwrap());
    let back = TempDir::new().unwrap();
    said(embedded(&cluster, &back).args(["import", &second.path()]));
    assert!(exported(&mut embedded(&cluster, &back)).bytes() == second.bytes(), "the archives differ");

    // An import never overwrites rows, and never runs while nodes serve the database.
    let mut again = cluster.command(&folder);
    let again = refused(again.args(["import", &first.path()]).output().unwrap());
    assert!(again.contains("--replace"), "{again}");
    let node = cluster.node();
    assert_eq!(node.value("ledger/books", &json!({}))["entries"], json!(["posted before"]));
    let served = refused(cluster.command(&folder).args(["import", "--replace", &first.path()]).output().unwrap());
    assert!(served.contains("stop"), "{served}");
}

/// Posts to a node until `ended`.
fn post(node: &Node, name: &str, posted: &AtomicUsize, ended: &AtomicBool) {
    let mut number = 0;
    while !ended.load(SeqCst) {
        number += 1;
        if node.call("ledger/post", &json!({ "mark": format!("{name} {number}") }), &[]).is_some() {
            posted.fetch_add(1, SeqCst);
        }
    }
}

#[test]
fn export_during_writes_is_one_snapshot() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let (one, other) = (cluster.node(), cluster.node());
    let (posted, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let archives: Vec<Archive> = std::thread::scope(|scope| {
        let clients = [(&one, "one"), (&one, "two"), (&other, "three"), (&other, "four")];
        for (node, name) in clients {
            let (posted, ended) = (&posted, &ended);
            scope.spawn(move || post(node, name, posted, ended));
        }
        let end = End(&ended);
        let elsewhere = TempDir::new().unwrap();
        // By a request to a node, and by a separate process.
        let archives = [&one.folder, &elsewhere, &one.folder].map(|folder| {
            let before = posted.load(SeqCst);
            until("they post", || posted.load(SeqCst) > before + 10);
            exported(&mut cluster.command(folder))
        });
        drop(end);
        archives.into()
    });
    let mut last = 0;
    for archive in archives {
        let (entries, totals) = (archive.rows("entries"), archive.rows("totals"));
        // Each posting adds an entry and increments the total.
        assert_eq!(totals[0]["entries"], json!(entries.len()));
        let (stamps, jobs) = (archive.rows("stamps").len(), archive.rows("_jobs").len());
        assert!(stamps <= entries.len() && stamps + jobs >= entries.len(), "{stamps} {jobs} {}", entries.len());
        assert!(entries.len() > last, "the later one has more");
        last = entries.len();
    }
}

/// Has the clients end, however a test does.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}
