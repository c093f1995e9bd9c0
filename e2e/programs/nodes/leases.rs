//! Leases on several nodes: any node renews them, and all nodes count and end them.

use serde_json::{Value, json};

use crate::node::{Cluster, Node, SERVER, until};

fn visit(node: &Node, owner: &str, id: &str) -> Value {
    node.value("ledger/visit", &json!({"owner": owner, "id": id}))
}

fn visitors(node: &Node) -> Value {
    node.value("ledger/visitors", &json!({}))
}

#[test]
fn lease_is_renewable_and_visible_at_every_node() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let nodes = [cluster.node(), cluster.node(), cluster.node()];
    assert_eq!(visit(&nodes[0], "ada", "a"), "1");
    // The other nodes learn of a visit within a second, and each visit counts.
    for node in &nodes {
        visit(node, "ada", "a");
    }
    for node in &nodes {
        until("all tell of four visits", || visitors(node) == json!(["ada a 4", "1"]));
    }
    assert_eq!(visit(&nodes[1], "bob", "a"), "OfAnother");
    assert_eq!(visit(&nodes[1], "ada", "b"), "1");
    assert_eq!(visit(&nodes[2], "ada", "c"), "1");
    assert_eq!(visit(&nodes[0], "ada", "d"), "OwnerIsFull");
    assert_eq!(visit(&nodes[0], "bob", "d"), "1");
    let all = json!(["ada a 4", "ada b 1", "ada c 1", "bob d 1", "4"]);
    for node in &nodes {
        until("all tell the same", || visitors(node) == all);
    }
    nodes[2].value("ledger/leave", &json!({"owner": "ada", "id": "b"}));
    until("it has ended everywhere", || visit(&nodes[0], "bob", "b") == "1");

    // The owner of a lease on a lost node continues at another node.
    let [gone, one, _other] = nodes;
    drop(gone);
    assert_eq!(visit(&one, "ada", "a"), "5");
}
