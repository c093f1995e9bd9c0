//! Killed and stopped nodes, cut connections and a failing database server, under load: no acknowledged write is lost, no
//! effect occurs twice, and each job has its effect once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::sleep;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use serde_json::{Value, json};

use crate::node::{Cluster, Node, SERVER, call, restart_server, sql, until};

const CLIENTS: usize = 6;
/// A time after which the other nodes treat a silent node as gone.
const STANDSTILL: Duration = Duration::from_secs(12);
/// No failure of these tests lasts as long.
const POSTED_WITHIN: Duration = Duration::from_secs(120);

/// Returns the number of rows per text.
pub(crate) fn counted(texts: &Value) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for text in texts.as_array().unwrap() {
        *counts.entry(text.as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// Posts until `ended`, and retries each posting at the next node until it is acknowledged. Returns the texts.
///
/// # Panics
/// If a posting is not acknowledged within two minutes.
pub(crate) fn post(
    client: usize,
    nodes: &RwLock<Vec<String>>,
    acknowledged: &AtomicUsize,
    ended: &AtomicBool,
) -> Vec<String> {
    let mut marks = Vec::new();
    let mut turn = client;
    while !ended.load(SeqCst) {
        let mark = format!("{client}-{}", marks.len());
        // Each retry has the same key and returns the stored result.
        let key = format!("an-unguessable-key-of-{mark}");
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < POSTED_WITHIN, "the posting {mark} is not acknowledged within {POSTED_WITHIN:?}");
            let url = { nodes.read()[turn % 3].clone() };
            let reply = call(&url, "ledger/post", &json!({ "mark": mark }), &[("idempotency-key", &key)]);
            match reply {
                Some(reply) if reply["status"] == "success" => break,
                Some(reply) => {
                    let code = reply["errorData"]["code"].as_str().unwrap_or_default().to_owned();
                    let is_known =
                        ["UNAVAILABLE", "OVERLOADED", "NOT_READY", "COMMIT_UNKNOWN", "TIMEOUT"].contains(&&*code);
                    assert!(is_known, "{reply}");
                    sleep(Duration::from_millis(50));
                }
                None => {}
            }
            turn += 1;
        }
        acknowledged.fetch_add(1, SeqCst);
        marks.push(mark);
        turn += 1;
    }
    marks
}

/// Stops the clients at the end of a test, also after a failure.
pub(crate) struct End<'a>(pub(crate) &'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Terminates every connection of the nodes.
fn cut_all() {
    sql(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
    );
}

#[test]
fn acknowledged_calls_survive_failures_of_nodes_connections_and_the_server_once() {
    let _alone = SERVER.write();
    let cluster = Cluster::new();
    let mut running: Vec<Node> = (0..3).map(|_| cluster.node()).collect();
    let nodes = RwLock::new(running.iter().map(|node| node.url.clone()).collect::<Vec<_>>());
    let (acknowledged, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let begun = Instant::now();
    let marks: Vec<String> = std::thread::scope(|scope| {
        let end = End(&ended);
        let (nodes, acknowledged, ended) = (&nodes, &acknowledged, &ended);
        let clients: Vec<_> =
            (0..CLIENTS).map(|client| scope.spawn(move || post(client, nodes, acknowledged, ended))).collect();
        let more = |what: &str| {
            let before = acknowledged.load(SeqCst);
            until(what, || acknowledged.load(SeqCst) > before + 30);
        };
        more("all nodes serve");
        for number in 0..9 {
            running[number % 3].value("ledger/ask", &json!({ "mark": format!("delivery {number}") }));
        }
        // One node is killed, and another one replaces it.
        running[0] = {
            running[0].signal("KILL");
            cluster.node()
        };
        nodes.write()[0] = running[0].url.clone();
        more("after a kill");
        // One node is stopped, and meanwhile the connections of the others are cut.
        running[1].signal("STOP");
        let stopped = Instant::now();
        for _ in 0..3 {
            more("while a node stands still");
            cut_all();
        }
        sleep(STANDSTILL.saturating_sub(stopped.elapsed()));
        running[1].signal("CONT");
        more("after a standstill");
        restart_server();
        more("after the server's restart");
        drop(end);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let loaded = begun.elapsed();

    let books = || running.iter().find_map(|node| node.call("ledger/books", &json!({}), &[]));
    let is_through = |books: &Value| {
        let stamps = books["value"]["stamps"].as_array().map_or(0, |stamps| {
            stamps.iter().filter(|stamp| stamp.as_str().is_some_and(|text| text.starts_with("mutation "))).count()
        });
        stamps >= marks.len()
    };
    until("every job has run", || books().is_some_and(|books| is_through(&books)));
    // Duplicates would have arrived by now, because deliveries take three seconds.
    sleep(Duration::from_secs(4));
    let books = books().unwrap()["value"].clone();
    let (entries, stamps) = (counted(&books["entries"]), counted(&books["stamps"]));
    for mark in &marks {
        assert_eq!(entries.get(mark), Some(&1), "entries of {mark}");
        assert_eq!(stamps.get(&format!("mutation {mark}")), Some(&1), "stamps of {mark}");
    }
    assert_eq!(entries.len(), marks.len(), "every entry must have a posting");
    assert_eq!(books["total"], json!(marks.len()), "no update was lost");
    let deliveries = stamps.iter().filter(|(stamp, _)| stamp.contains("delivery"));
    let twice: Vec<_> = deliveries.filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "an action is started at most once: {twice:?}");
    eprintln!("{} postings in {loaded:.1?}, each once", marks.len());
}

#[test]
fn action_of_an_expired_node_cannot_write() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let node = cluster.node();
    node.value("ledger/ask", &json!({ "mark": "late" }));
    let stamps = |node: &Node| node.value("ledger/books", &json!({}))["stamps"].clone();
    until("the action has begun", || stamps(&node) == json!(["begun late"]));
    node.signal("STOP");
    let other = cluster.node();
    let failed = format!("SELECT count(*) FROM {}.\"_jobs\" WHERE state::text LIKE '%failed%'", cluster.schema());
    until("the other node counts it as interrupted", || sql(&failed).trim() == "1");
    // The node continues and does not know that it was stopped.
    node.signal("CONT");
    until("the action has ended", || node.has_said("counts as interrupted"));
    assert_eq!(stamps(&other), json!(["begun late"]));
    assert_eq!(stamps(&node), json!(["begun late"]));
}
