//! Exclusive work: one node runs it while others wait, also if that node ends or is stopped.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::node::{Cluster, Node, SERVER, until};

fn stamps(node: &Node) -> Vec<String> {
    serde_json::from_value(node.value("ledger/books", &json!({}))["stamps"].clone()).unwrap()
}

fn count(node: &Node, stamp: &str) -> usize {
    stamps(node).iter().filter(|one| *one == stamp).count()
}

/// Starts an audit at a node. It waits for an entry if one is named.
fn audit(node: &Node, awaits: Option<&str>) -> Value {
    let args = match awaits {
        Some(awaits) => json!({"mark": "a", "awaits": awaits}),
        None => json!({"mark": "a"}),
    };
    node.call("ledger/audit", &args, &[]).unwrap()
}

fn post(node: &Node, mark: &str) {
    node.value("ledger/post", &json!({ "mark": mark }));
}

#[test]
fn concurrent_turns_at_three_nodes_run_once() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let nodes = [cluster.node(), cluster.node(), cluster.node()];
    let worked: Vec<bool> = thread::scope(|scope| {
        let first = scope.spawn(|| audit(&nodes[0], Some("go")));
        until("the first one is at work", || count(&nodes[1], "audit a") == 1);
        let others = [&nodes[1], &nodes[2]].map(|node| scope.spawn(|| audit(node, None)));
        until("all are asked", || count(&nodes[1], "asked a") == 3);
        // Next, they wait for the turn. A busy machine needs time for that.
        thread::sleep(Duration::from_secs(3));
        post(&nodes[1], "go");
        let asked = [first].into_iter().chain(others);
        asked.map(|one| one.join().unwrap()["value"].as_bool().unwrap()).collect()
    });
    assert_eq!(worked, [true, false, false]);
    assert_eq!((count(&nodes[0], "audit a"), count(&nodes[0], "audited a")), (1, 1));
    assert_eq!(audit(&nodes[2], None)["value"], true, "a caller that does not wait must start a new run");
}

#[test]
fn another_node_takes_over_the_turn_of_a_killed_node() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let (first, second) = (cluster.node(), cluster.node());
    thread::scope(|scope| {
        // The call ends with its node, without a response.
        scope.spawn(|| first.call("ledger/audit", &json!({"mark": "a", "awaits": "never"}), &[]));
        until("the first one is at work", || count(&second, "audit a") == 1);
        first.signal("KILL");
        assert_eq!(audit(&second, None)["value"], true, "it was not done");
    });
    assert_eq!((count(&second, "audit a"), count(&second, "audited a")), (2, 1));
}

#[test]
fn stopped_node_cannot_write_under_a_lost_turn() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let (first, second) = (cluster.node(), cluster.node());
    thread::scope(|scope| {
        let still = scope.spawn(|| audit(&first, Some("go")));
        until("the first one is at work", || count(&second, "audit a") == 1);
        first.signal("STOP");
        assert_eq!(audit(&second, None)["value"], true, "the first one was given up");
        post(&second, "go");
        first.signal("CONT");
        let reply = still.join().unwrap();
        // If the node was stopped during a query or mutation, the deadline of that call has passed.
        let code = reply["errorData"]["code"].as_str();
        assert!(matches!(code, Some("CONFLICT" | "TIMEOUT")), "{reply}");
    });
    assert_eq!((count(&second, "audit a"), count(&second, "audited a")), (2, 1));
}
