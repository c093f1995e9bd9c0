//! Databases that lose commits under running nodes: what was read of those is read again, and commits under the same numbers
//! are not missed.

use convoke_store::Table as _;
use convoke_store::conformance::support::Account;

use crate::cluster::Cluster;
use crate::{deposit, is_touched, node, read_balance, until};

#[test]
fn file_restore_is_detected_despite_reused_transaction_numbers() {
    let server = Cluster::new();
    let store = node(&server.url());
    deposit(&store, "ada", 1).unwrap();
    server.stop("fast");
    let copy = server.copy();
    server.start();
    until("the node serves again", || store.ready().is_ok() && store.commits().history() == 1);
    until("a commit succeeds", || deposit(&store, "bob", 2).is_ok());
    let lost = read_balance(&store, "bob").unwrap();
    let none = read_balance(&store, "carl").unwrap();
    assert_eq!((lost.1, none.1), (Some(2), None));
    assert!(!is_touched(&store, &lost));

    server.stop("immediate");
    server.put_back(&copy);
    let elsewhere = server.start_elsewhere();
    let other = node(&elsewhere);
    for (owner, amount) in [("carl", 3), ("dora", 4), ("emil", 5), ("fay", 6)] {
        deposit(&other, owner, amount).unwrap();
    }
    other.close();
    server.stop("fast");
    server.start();
    until("what was lost is read again", || is_touched(&store, &lost) && store.commits().history() == 2);
    until("what came under its number is read", || is_touched(&store, &none));
    assert_eq!(read_balance(&store, "bob").unwrap().1, None);
    assert_eq!(read_balance(&store, "carl").unwrap().1, Some(3));
    until("the node serves again", || store.ready().is_ok());
    deposit(&store, "bob", 7).unwrap();
}

#[test]
fn dump_restore_is_detected_on_open_connections() {
    let server = Cluster::new();
    let store = node(&server.url());
    deposit(&store, "ada", 1).unwrap();
    store.close();
    let dump = server.dump();
    // A node that the dump does not know.
    let store = store.reopened(&[Account::DEF]);
    deposit(&store, "bob", 2).unwrap();
    let lost = read_balance(&store, "bob").unwrap();
    assert_eq!(lost.1, Some(2));
    server.sql("DROP SCHEMA convoke CASCADE");
    server.run_file(&dump);
    until("what was lost is read again", || is_touched(&store, &lost) && store.commits().history() > 0);
    until("the node serves again", || store.ready().is_ok());
    assert_eq!(read_balance(&store, "bob").unwrap().1, None);
    deposit(&store, "bob", 3).unwrap();
    assert_eq!(read_balance(&store, "bob").unwrap().1, Some(3));
}

#[test]
fn node_is_not_ready_while_commits_of_others_cannot_be_followed() {
    let server = Cluster::new();
    let store = node(&server.url());
    store.ready().unwrap();
    server.sql("ALTER TABLE convoke._commits RENAME TO hidden");
    until("the node is not ready", || store.ready().is_err());
    assert!(store.ready().unwrap_err().contains("commits of other nodes cannot be followed"));
    server.sql("ALTER TABLE convoke.hidden RENAME TO _commits");
    until("the node is ready", || store.ready().is_ok());
}
