//! Two releases at the same time: the older one keeps serving, and leaves the newer one's tables and jobs alone.

use serde_json::{Value, json};

use crate::node::{Cluster, Node, SERVER, said, sql, until};

const NEWER: &str = env!("CARGO_BIN_EXE_ledger_v2");

fn marked(mark: &str) -> Value {
    json!({ "mark": mark })
}

fn number(text: &str) -> i64 {
    text.trim().parse().unwrap()
}

/// Returns the recorded schema, and the existing tables and indexes.
fn schema(cluster: &Cluster) -> String {
    let name = cluster.schema();
    sql(&format!("SELECT version, changes FROM {name}._schema ORDER BY 1"))
        + &sql(&format!("SELECT indexname FROM pg_indexes WHERE schemaname = '{name}' ORDER BY 1"))
}

fn receipts(node: &Node, mark: &str) -> i64 {
    node.value("ledger/receipts", &marked(mark)).as_i64().unwrap()
}

#[test]
fn older_release_ignores_tables_jobs_and_crons_of_a_newer_one() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let older = cluster.node();
    older.value("ledger/post", &marked("before"));
    older.value("ledger/remark", &json!({ "first": 0, "count": 3 }));
    let newer = cluster.node_of(NEWER);
    // Both read and write the shared tables. A row of the older release has the default of the newer one.
    older.value("ledger/post", &marked("since"));
    newer.value("ledger/add", &marked("added"));
    for (mark, weight) in [("before", json!(1)), ("since", json!(1)), ("added", json!(2)), ("none", Value::Null)] {
        assert_eq!(newer.value("ledger/weight", &marked(mark)), weight, "{mark}");
    }
    let entries = || older.value("ledger/books", &json!({}))["entries"].clone();
    assert_eq!(entries(), json!(["before", "since", "added"]));

    // Only nodes of the newer release run its jobs and its cron.
    for _ in 0..20 {
        newer.value("ledger/want", &json!({ "mark": "now", "inSeconds": 0 }));
    }
    until("all receipts are written", || receipts(&newer, "now") == 20);
    until("the cron has run", || receipts(&newer, "tick") > 0);
    newer.value("ledger/want", &json!({ "mark": "later", "inSeconds": 2 }));
    drop(newer);
    let all = schema(&cluster);

    // A node of the older release starts while no node of the newer one runs. A silent node counts as gone after ten seconds.
    let second = cluster.node();
    assert_eq!(second.value("ledger/books", &json!({}))["entries"], entries());
    let name = cluster.schema();
    let due = format!(
        "SELECT count(*) FROM {name}.\"_jobs\" WHERE path = 'ledger/write' AND \"runAt\" < 1000 * extract(epoch FROM now())"
    );
    until("a job that both lack is due", || number(&sql(&due)) == 1);
    let alone = format!("SELECT count(*) FROM {name}._nodes WHERE seen_at > clock_timestamp() - interval '10 seconds'");
    until("the newer one is not heard of", || number(&sql(&alone)) == 2);
    drop((older, second));
    until("no node has a fresh heartbeat", || number(&sql(&alone)) == 0);
    let last = cluster.node();
    last.value("ledger/post", &marked("alone"));
    assert_eq!(schema(&cluster), all, "nothing was dropped or added");
    assert_eq!(number(&sql(&format!("SELECT count(*) FROM {name}.\"_jobs\" WHERE path = 'ledger/write'"))), 1);
    assert_eq!(number(&sql(&format!("SELECT count(*) FROM {name}.\"_crons\" WHERE path = 'ledger/tick'"))), 1);

    // The newer release finds all its rows.
    let newer = cluster.node_of(NEWER);
    until("the job is run", || receipts(&newer, "later") == 1);
    let ticks = receipts(&newer, "tick");
    until("the cron runs again", || receipts(&newer, "tick") > ticks);
    assert_eq!(newer.value("ledger/weight", &marked("alone")), json!(1));
    assert_eq!(number(&sql(&format!("SELECT count(*) FROM {name}.remarks"))), 3, "a table that it lacks is kept");
    assert_eq!(schema(&cluster), all, "nothing was dropped or added");
    drop(last);
}

#[test]
fn incompatible_older_release_does_not_serve() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let (older, newer) = (env!("CARGO_BIN_EXE_library_v1"), env!("CARGO_BIN_EXE_library_v2"));
    let folder = tempfile::tempdir().unwrap();
    let run = |program| {
        let mut command = cluster.command_of(program, &folder);
        command.env("CONVOKE_ENV", "development");
        command
    };
    said(run(older).args(["run", "library/addBooks", r#"{"count":10}"#]));
    said(run(newer).arg("migrate"));
    let shelves: Value = serde_json::from_str(&said(run(newer).args(["run", "library/shelves"]))).unwrap();
    assert_eq!(shelves[0]["books"], json!(4));
    let refused = run(older).args(["run", "library/addBooks", r#"{"count":10}"#]).output().unwrap();
    let dry: Value = serde_json::from_str(&said(run(older).args(["migrate", "--dry-run", "--json"]))).unwrap();
    let says = dry["difference"].to_string();
    assert!(says.contains("a newer release requires a value in field shelf"), "{says}");
    assert!(!refused.status.success());
    assert_eq!(serde_json::from_str::<Value>(&said(run(newer).args(["run", "library/shelves"]))).unwrap(), shelves);
}
