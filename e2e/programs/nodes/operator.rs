//! The operator's view of a database with several nodes.

use std::io::{BufReader, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::node::{Cluster, Node, SERVER, get, said, until};

/// Returns the results of `doctor` by subject. The command may fail.
fn doctor(cluster: &Cluster, folder: &tempfile::TempDir) -> Value {
    let output = cluster.command(folder).args(["doctor", "--json", "--env", "development"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn finding(found: &Value, subject: &str) -> String {
    let all = found["findings"].as_array().unwrap();
    let one = all.iter().find(|one| one["subject"] == subject);
    one.unwrap_or_else(|| panic!("{subject} is in {found}"))["says"].as_str().unwrap().to_owned()
}

#[test]
fn doctor_and_metrics_name_the_engine_and_its_nodes() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let (one, elsewhere) = (cluster.node(), tempfile::tempdir().unwrap());
    let metric = |name: &str| {
        let page = get(&one.url, "/metrics").unwrap();
        page.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned)).unwrap_or_default()
    };
    assert_eq!(metric("convoke_store_engine_info"), "{engine=\"PostgreSQL\"} 1");
    let other = cluster.node();
    until("the first node knows the other one", || metric("convoke_store_nodes") == " 2");

    let found = doctor(&cluster, &one.folder);
    assert_eq!(found["state"], "ok", "{found}");
    let engine = finding(&found, "engine");
    let schema = format!("schema {}", cluster.schema());
    assert!(engine.starts_with("PostgreSQL 1") && engine.contains(&schema), "{engine}");
    assert_eq!(engine.matches(" on ").count(), 2, "both nodes: {engine}");
    assert!(finding(&found, "integrity").contains("pg_amcheck"));
    assert!(finding(&found, "disk").ends_with("the database is elsewhere"));
    assert!(finding(&doctor(&cluster, &elsewhere), "server").contains("on one of them"));

    drop((one, other));
    until("no node is heard of", || doctor(&cluster, &elsewhere)["findings"].to_string().contains("no node serves it"));
}

#[test]
fn unresponsive_database_is_reported() {
    let cluster = Cluster::new();
    let folder = tempfile::tempdir().unwrap();
    let mut command = cluster.command(&folder);
    command.env("CONVOKE_STORE", "postgres://convoke@127.0.0.1:1/convoke");
    let output = command.args(["doctor", "--env", "development"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("the database does not answer") && text.contains("whether the database server runs"),
        "{text}"
    );
}

#[test]
fn backup_and_restore_name_the_alternative() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let node = cluster.node();
    for args in [&["backup"][..], &["restore", "nothing.db"]] {
        let output = cluster.command(&node.folder).args(args).output().unwrap();
        let says = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && says.contains("pg_dump") && says.contains("PITR"), "{says}");
    }
    // With a deploy key over the network, or at the console.
    let key = said(cluster.command(&node.folder).args([
        "deploy-key",
        "create",
        "ops",
        "--scope",
        "backup",
        "--env",
        "development",
    ]));
    let mut command = cluster.command(&node.folder);
    let output = command.args(["backup", "--url", &node.url]).env("CONVOKE_DEPLOY_KEY", key).output().unwrap();
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.contains("pg_dump") && !says.contains("database failed"), "{says}");
}

/// Subscribes to a query at a node and waits for its first result, as lines of server-sent events.
fn watch(node: &Node) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(node.url.strip_prefix("http://").unwrap()).unwrap();
    let ask = "GET /api/live?path=ledger/books&args=%7B%7D HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(ask.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream);
    read_to(&mut lines, "event: results");
    lines
}

fn read_to(lines: &mut impl std::io::BufRead, wanted: &str) {
    let mut line = String::new();
    while !line.contains(wanted) {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the answer has ended before {wanted}");
    }
}

#[test]
fn output_names_its_node_and_any_node_ends_a_live_connection() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let (one, other) = (cluster.node(), cluster.node());
    let command = |node: &Node, args: &[&str]| {
        let mut command = cluster.command(&node.folder);
        command.args(args).args(["--env", "development"]);
        let output = command.output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap(), output.status.success())
    };
    let live = |node: &Node| -> Value { serde_json::from_str(&command(node, &["live", "--json"]).0).unwrap() };
    until("both know each other", || [&one, &other].iter().all(|node| live(node)["node"]["others"] == 1));

    let mut stream = watch(&other);
    assert_eq!(live(&one)["connections"], json!([]), "it is another node's");
    let listed = live(&other);
    let (node, connection) = (listed["node"]["id"].as_str().unwrap(), &listed["connections"][0]);
    let id = connection["id"].as_str().unwrap().to_owned();
    assert_eq!(id, format!("{node}-{}", connection["number"]));
    let (table, says, _) = command(&other, &["live"]);
    assert!(table.contains(&id) && says.contains(&format!("connections of node {node} (")), "{table}{says}");
    assert!(says.contains("; 1 other node serves"), "{says}");

    let (_, says, is_done) = command(&one, &["live", "end", &id]);
    assert!(is_done && says.contains(&format!("the connection {id} was ended")), "{says}");
    read_to(&mut stream, "event: end");
    until("it is gone", || live(&other)["connections"] == json!([]));
    for asked in [&one, &other] {
        let (_, says, is_done) = command(asked, &["live", "end", &id]);
        assert!(!is_done && says.contains("No live connection of any node has this id"), "{says}");
    }

    one.value("ledger/books", &json!({}));
    let (lines, says, _) = command(&one, &["logs", "--json", "--function", "ledger/books"]);
    let call: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let shown = live(&one)["node"]["id"].clone();
    assert_eq!((&call["function"], &call["node"]), (&json!("ledger/books"), &shown));
    assert!(says.contains(&format!("calls of node {} (", shown.as_str().unwrap())), "{says}");

    // A stopped node does not respond, and a node that has ended has no connections.
    let _stream = watch(&other);
    let id = live(&other)["connections"][0]["id"].as_str().unwrap().to_owned();
    other.signal("STOP");
    let (_, says, is_done) = command(&one, &["live", "end", &id]);
    assert!(!is_done && says.contains("The node of this connection is unreachable"), "{says}");
    other.signal("CONT");
    drop(other);
    until("the other node is not heard of", || live(&one)["node"]["others"] == 0);
    let (_, says, is_done) = command(&one, &["live", "end", &id]);
    assert!(!is_done && says.contains("or its node has"), "{says}");
}
