//! All nodes accept what one node signs, and a node with another key does not start.

use serde_json::json;

use crate::node::{Cluster, SERVER, said};

#[test]
fn token_of_one_node_is_valid_at_another() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let (one, other) = (cluster.node(), cluster.node());
    let mark = json!({ "mark": "a" });
    assert_eq!(one.value("ledger/seal", &mark), other.value("ledger/seal", &mark));
    assert_ne!(one.value("ledger/seal", &mark), other.value("ledger/seal", &json!({ "mark": "b" })));

    let token = said(cluster.command(&one.folder).args(["token", "--subject", "ada", "--env", "development"]));
    let look = |token: &str| {
        let header = format!("Bearer {token}");
        other.call("ledger/look", &json!({}), &[("authorization", &header)]).unwrap()
    };
    assert_eq!(look(&token)["status"], "success", "{}", look(&token));
    let end = token.len() - 5;
    let forged = format!("{}AAAAA", &token[..end]);
    assert_eq!(look(&forged)["errorData"]["code"], "INVALID_CREDENTIALS");
    assert!(!one.folder.path().join("development-issuer.key").exists(), "no key of its own");
}

#[test]
fn node_with_a_missing_or_different_key_does_not_start() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let without = cluster.node_with(|command| command.env_remove("CONVOKE_SECRET_STORE_KEY")).err().unwrap();
    assert!(without.contains("set CONVOKE_SECRET_STORE_KEY") && without.contains("openssl rand"), "{without}");
    let short = cluster.node_with(|command| command.env("CONVOKE_SECRET_STORE_KEY", "short")).err().unwrap();
    assert!(short.contains("has fewer than 32 characters"), "{short}");

    let node = cluster.node();
    let other_key = "another key, which is of a length that is accepted";
    let start = || cluster.node_with(|command| command.env("CONVOKE_SECRET_STORE_KEY", other_key));
    let refused = start().err().unwrap();
    assert!(refused.contains("with another STORE_KEY"), "{refused}");
    // The key can change after all nodes have stopped.
    node.signal("TERM");
    let begun = std::time::Instant::now();
    while let Err(refused) = start() {
        assert!(begun.elapsed().as_secs() < 60, "{refused}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}
