//! Rate limits and byte quotas: the limit of an identity at all nodes together equals the limit at one node.

use std::time::Instant;

use serde_json::{Value, json};

use crate::node::{Cluster, Node, SERVER, said};

/// Returns the authorization header of a user. One node signed the token, and all nodes accept it.
fn user(cluster: &Cluster, node: &Node, subject: &str) -> String {
    let token = said(cluster.command(&node.folder).args(["token", "--subject", subject, "--env", "development"]));
    format!("Bearer {token}")
}

fn call(node: &Node, path: &str, args: &Value, user: &str) -> Value {
    node.call(path, args, &[("authorization", user)]).unwrap()
}

#[test]
fn call_rate_is_shared_by_three_nodes() {
    const LIMIT: u32 = 40;
    let _shared = SERVER.read();
    let cluster = Cluster::configured(&format!("[rates]\nread = {LIMIT}\n"));
    let nodes = [cluster.node(), cluster.node(), cluster.node()];
    let ada = user(&cluster, &nodes[0], "ada");
    let begun = Instant::now();
    let served: u32 = std::thread::scope(|scope| {
        let calling = nodes.each_ref().map(|node| {
            let ada = &ada;
            scope.spawn(move || {
                let replies = (0..LIMIT).map(|_| call(node, "ledger/look", &json!({}), ada));
                replies
                    .map(|reply| match &reply["status"] {
                        status if status == "success" => 1,
                        _ => {
                            assert_eq!(reply["errorData"]["code"], "RATE_LIMITED", "{reply}");
                            assert!(reply["errorData"]["retryAfterMs"].as_u64().unwrap() > 0, "{reply}");
                            0
                        }
                    })
                    .sum::<u32>()
            })
        });
        calling.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    // Tokens that accrue during the calls count too. Each other node may still hold a block of two.
    let come = (begun.elapsed().as_secs_f64() * f64::from(LIMIT) / 60.0).ceil() as u32;
    assert!(served <= LIMIT + come && served >= LIMIT - 4, "{served} of {LIMIT}, and {come} that came meanwhile");
    assert_eq!(call(&nodes[1], "ledger/look", &json!({}), &user(&cluster, &nodes[0], "bob"))["status"], "success");
}

#[test]
fn byte_quota_is_shared_by_three_nodes() {
    let _shared = SERVER.read();
    let limits = "[limits]\nuser_bytes_written_burst = 40000\nuser_bytes_written_per_hour = 40000\n";
    let cluster = Cluster::configured(limits);
    let nodes = [cluster.node(), cluster.node(), cluster.node()];
    // The number of accepted postings at these nodes, in turn.
    let posted = |name: &str, nodes: &[&Node]| {
        let user = user(&cluster, nodes[0], name);
        let mut refused = 0;
        let mut posted = 0_usize;
        for node in nodes.iter().cycle().take(200) {
            let mark = format!("{name} {:01000}", posted);
            let reply = call(node, "ledger/post", &json!({ "mark": mark }), &user);
            if reply["status"] == "success" {
                (posted, refused) = (posted + 1, 0);
            } else {
                assert_eq!(reply["errorData"]["code"], "RATE_LIMITED", "{reply}");
                refused += 1;
            }
            // Every node has rejected the call.
            if refused == nodes.len() {
                return posted;
            }
        }
        panic!("{posted} postings without a rejection");
    };
    let one = posted("ada", &[&nodes[0]]);
    let three = posted("bob", &[&nodes[0], &nodes[1], &nodes[2]]);
    assert!(one > 5 && three.abs_diff(one) <= 1 + one / 5, "{three} at three nodes, {one} at one");
}
