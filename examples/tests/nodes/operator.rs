//! What the operator is told of a database that several nodes serve.

use serde_json::Value;

use crate::node::{Cluster, SERVER, get, said, until};

/// What `doctor` says, by subject; the command may fail.
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
    assert!(finding(&doctor(&cluster, &elsewhere), "server").contains("ask one of them"));

    drop((one, other));
    until("no node is heard of", || doctor(&cluster, &elsewhere)["findings"].to_string().contains("no node serves it"));
}

#[test]
fn a_database_that_does_not_answer_is_told_as_that() {
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
fn backup_and_restore_say_what_to_use_instead() {
    let _shared = SERVER.read();
    let cluster = Cluster::new();
    let node = cluster.node();
    for args in [&["backup"][..], &["restore", "nothing.db"]] {
        let output = cluster.command(&node.folder).args(args).output().unwrap();
        let says = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && says.contains("pg_dump") && says.contains("PITR"), "{says}");
    }
    // As somebody with a key from elsewhere, or at the console.
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
