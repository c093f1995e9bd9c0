//! Runs of workflows on several nodes, some of which are killed: each mutation step has its effect once and in order, and
//! the attempts of an action step have one key.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::faults::counted;
use crate::node::{Cluster, Node, SERVER, sql, until};

const RUNS: usize = 20;
const ROUNDS: usize = 5;
const KILLS: usize = 3;
/// A time after which the runs of a killed node must have continued elsewhere, with room for a busy machine.
const CONTINUED: Duration = Duration::from_secs(60);

#[test]
fn runs_of_killed_nodes_continue_elsewhere_with_each_effect_once() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let mut nodes: Vec<Node> = (0..2).map(|_| cluster.node()).collect();
    for number in 0..RUNS {
        nodes[number % 2].value("ledger/setOut", &json!({ "mark": format!("mark {number}") }));
    }
    for kill in 0..KILLS {
        sleep(Duration::from_millis(400));
        nodes[kill % 2].signal("KILL");
        nodes[kill % 2] = cluster.node();
    }
    let ended = format!("SELECT count(*) FROM {}.\"_runs\" WHERE state::text LIKE '%completed%'", cluster.schema());
    let took = until("every run has ended", || sql(&ended).trim() == RUNS.to_string());
    assert!(took < CONTINUED, "{took:?}");
    let stamps = counted(&nodes[0].value("ledger/books", &json!({}))["stamps"]);
    let of = |what: &str| stamps.iter().filter(|(stamp, _)| stamp.starts_with(what)).collect::<HashMap<_, _>>();
    let (rounds, visits) = (of("round "), of("visit "));
    assert_eq!((rounds.len(), visits.len()), (RUNS * ROUNDS, RUNS * ROUNDS), "one key for all attempts of a step");
    assert!(rounds.values().all(|count| **count == 1), "an effect is repeated: {rounds:?}");
    eprintln!("{RUNS} runs over {KILLS} kills ended within {took:.1?}");
}
