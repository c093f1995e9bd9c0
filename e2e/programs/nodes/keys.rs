//! Deploy keys: a change at one node is effective at all nodes.

use serde_json::{Value, json};

use crate::node::{Cluster, Node, SERVER, said, until};

fn with_key(node: &Node, key: &str) -> Value {
    let header = format!("Convoke {key}");
    node.call("ledger/books", &json!({}), &[("authorization", &header)]).unwrap()
}

fn is_accepted(node: &Node, key: &str) -> bool {
    with_key(node, key)["status"] == "success"
}

#[test]
fn deploy_key_changes_reach_other_nodes() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let (one, other) = (cluster.node(), cluster.node());
    let keys =
        |args: &[&str]| said(cluster.command(&one.folder).arg("deploy-key").args(args).args(["--env", "development"]));
    let key = keys(&["create", "ci", "--scope", "functions"]);
    assert!(is_accepted(&one, &key), "{}", with_key(&one, &key));
    until("the other node accepts the new key", || is_accepted(&other, &key));

    let next = keys(&["rotate", "ci", "--overlap", "0s"]);
    assert!(!is_accepted(&one, &key) && is_accepted(&one, &next));
    until("the other node refuses the former secret", || !is_accepted(&other, &key));
    assert!(is_accepted(&other, &next), "{}", with_key(&other, &next));

    keys(&["revoke", "ci"]);
    assert!(!is_accepted(&one, &next));
    let took = until("the other node refuses the revoked key", || !is_accepted(&other, &next));
    let refused = with_key(&other, &next)["errorMessage"].as_str().unwrap().to_owned();
    assert!(refused.contains("revoked"), "{refused}");
    eprintln!("a revocation was known to the other node after {took:?}");
}
