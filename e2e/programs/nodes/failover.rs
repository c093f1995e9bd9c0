//! A cluster of database servers whose primary fails, under load. `e2e/failover.sh` starts it.
//!
//! No acknowledged write is lost or doubled. No read returns less than what was acknowledged before it started, so no node
//! answers from a former primary. Live queries continue without their clients.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::thread::sleep;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use serde_json::{Value, json};

use crate::faults::{End, counted, post};
use crate::node::{Cluster, call, said, until};

const CLIENTS: usize = 6;
const NODES: usize = 3;
/// Runs an action of `e2e/failover/cluster.sh`. Returns its output, or `None` if it failed.
fn control(words: &[&str]) -> Option<String> {
    let script = std::env::var("CONVOKE_TEST_CLUSTER").expect("e2e/failover.sh names it");
    let output = Command::new(script).args(words).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

fn act(action: &str, server: &str) {
    control(&[action, server]).unwrap_or_else(|| panic!("{action} {server}"));
}

/// Ways in which a primary fails, and how its server comes back.
fn failures() -> Vec<(&'static str, Option<&'static str>)> {
    let mut failures = vec![("kill", Some("begin")), ("freeze", Some("thaw")), ("switch", None)];
    if std::env::var_os("CONVOKE_TEST_CLUSTER_CUTS").is_some() {
        failures.push(("cut", Some("mend")));
    }
    failures
}

/// Rounds of all failures.
fn rounds() -> usize {
    std::env::var("FAILOVER_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1)
}

/// Reads until `ended`, and requires of each read what was acknowledged before it.
fn read(client: usize, nodes: &RwLock<Vec<String>>, acknowledged: &AtomicUsize, ended: &AtomicBool) -> usize {
    let mut reads = 0;
    for turn in client.. {
        if ended.load(SeqCst) {
            break;
        }
        let least = i64::try_from(acknowledged.load(SeqCst)).unwrap();
        let url = { nodes.read()[turn % NODES].clone() };
        let reply = call(&url, "ledger/total", &json!({}), &[]);
        if let Some(total) = reply.as_ref().and_then(|reply| reply["value"].as_i64()) {
            assert!(total >= least, "a read returned {total} after {least} postings were acknowledged");
            reads += 1;
        } else {
            sleep(Duration::from_millis(50));
        }
    }
    reads
}

/// Follows the total at a node until the stream ends, and keeps the newest one. Returns false once the node has ended.
fn follow(url: &str, newest: &AtomicI64) -> bool {
    let Ok(mut stream) = TcpStream::connect(url.strip_prefix("http://").unwrap()) else { return false };
    let asked = stream.write_all(b"GET /api/live?path=ledger/total&args=%7B%7D HTTP/1.1\r\nhost: localhost\r\n\r\n");
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let event = line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok());
        if let Some(total) = event.and_then(|event| event["results"][0]["value"].as_i64()) {
            newest.store(total, SeqCst);
        }
    }
    asked.is_ok()
}

#[test]
#[ignore = "needs the cluster that e2e/failover.sh starts"]
fn acknowledged_writes_survive_each_failure_of_the_primary() {
    let cluster = Cluster::new();
    let proxy = format!("{}&schema={}", std::env::var("CONVOKE_TEST_POSTGRES_PROXY").unwrap(), cluster.schema());
    // Two nodes know all servers, and one knows a proxy that finds the primary.
    let running = [
        cluster.node(),
        cluster.node(),
        cluster.node_with(|command| command.env("CONVOKE_STORE", proxy)).unwrap_or_else(|said| panic!("{said}")),
    ];
    let doctor = said(cluster.command(&running[0].folder).args(["doctor", "--env", "development", "--json"]));
    assert!(doctor.contains("synchronous standbys: "), "{doctor}");
    let nodes = RwLock::new(running.iter().map(|node| node.url.clone()).collect::<Vec<_>>());
    let (acknowledged, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let seen = running.each_ref().map(|node| {
        let (seen, url) = (Arc::new(AtomicI64::new(-1)), node.url.clone());
        let newest = seen.clone();
        // It ends with its node.
        std::thread::spawn(move || while follow(&url, &newest) {});
        seen
    });
    let mut outages: HashMap<&str, Vec<Duration>> = HashMap::new();
    let reads = Mutex::new(0);
    let marks: Vec<String> = std::thread::scope(|scope| {
        let end = End(&ended);
        let (nodes, acknowledged, ended, reads) = (&nodes, &acknowledged, &ended, &reads);
        let clients: Vec<_> =
            (0..CLIENTS).map(|client| scope.spawn(move || post(client, nodes, acknowledged, ended))).collect();
        for client in 0..2 {
            scope.spawn(move || *reads.lock() += read(client, nodes, acknowledged, ended));
        }
        let more = || {
            let (before, start) = (acknowledged.load(SeqCst), Instant::now());
            until("writes are acknowledged", || acknowledged.load(SeqCst) > before + 2 * CLIENTS);
            start.elapsed()
        };
        for round in 0..rounds() {
            for (failure, repair) in failures() {
                until("the cluster is whole", || control(&["is_whole"]).is_some());
                more();
                // A server of a busy machine may not respond within the second that the script waits.
                let mut leader = None;
                until("a server is the primary", || {
                    leader = control(&["leader"]);
                    leader.is_some()
                });
                let primary = leader.unwrap();
                act(failure, &primary);
                let outage = more();
                eprintln!("round {round}: {failure} of server {primary}: no write for at most {outage:.1?}");
                outages.entry(failure).or_default().push(outage);
                if let Some(repair) = repair {
                    until("another server is the primary", || control(&["leader"]).is_some_and(|now| now != primary));
                    // The former primary comes back while the others serve.
                    act(repair, &primary);
                    more();
                }
            }
        }
        until("the cluster is whole", || control(&["is_whole"]).is_some());
        drop(end);
        let marks: Vec<String> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        let last = i64::try_from(marks.len()).unwrap();
        until("every live query has the last write", || seen.iter().all(|seen| seen.load(SeqCst) == last));
        marks
    });

    let books = running[0].value("ledger/books", &json!({}));
    let entries = counted(&books["entries"]);
    for mark in &marks {
        assert_eq!(entries.get(mark), Some(&1), "entries of {mark}");
    }
    assert_eq!(entries.len(), marks.len(), "every entry must have a posting");
    assert_eq!(books["total"], json!(marks.len()), "no update was lost");
    for (failure, mut outages) in outages {
        outages.sort_unstable();
        // On a quiet machine the median is Patroni's `ttl`, 10 s, and at most 5 s more.
        eprintln!("{failure}: median {:.1?} of {outages:.1?}", outages[outages.len() / 2]);
    }
    eprintln!("{} postings, each once; {} reads, none of them stale", marks.len(), reads.into_inner());
}
