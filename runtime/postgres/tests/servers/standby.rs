//! A synchronous standby that does not confirm commits.

use convoke_store::StoreError;
use convoke_store::conformance::support::{balance, open, reads, start};

use crate::cluster::Cluster;
use crate::{beside, deposit, is_touched, node, read_balance, until};

/// Both servers; the one that accepts writes is used.
fn either(one: &Cluster, other: &Cluster) -> String {
    let (one, other) = (one.port, other.port);
    format!("postgres://convoke@127.0.0.1:{one},127.0.0.1:{other}/postgres?target_session_attrs=read-write")
}

#[test]
fn failover_loses_no_acknowledged_commit() {
    let primary = Cluster::new();
    let standby = primary.synchronous_standby();
    let store = node(&either(&primary, &standby));
    deposit(&store, "ada", 1).unwrap();
    let seen = read_balance(&store, "ada").unwrap();

    primary.signal_senders("STOP");
    let lost = deposit(&store, "bob", 2);
    assert!(matches!(lost, Err(StoreError::CommitUnknown(_))), "{lost:?}");
    // Mutations are refused meanwhile: none of them can be acknowledged. Queries go on.
    let refused = deposit(&store, "carl", 3);
    assert!(matches!(refused, Err(StoreError::NotWritable(_))), "{refused:?}");
    assert!(store.ready().unwrap_err().contains("synchronous standbys"));
    assert_eq!(read_balance(&store, "ada").unwrap().1, Some(1));

    primary.stop("immediate");
    standby.promote();
    until("the node serves from the former standby", || store.ready().is_ok() && store.commits().history() == 1);
    assert_eq!(read_balance(&store, "ada").unwrap().1, Some(1), "what was acknowledged is there");
    assert_eq!(read_balance(&store, "bob").unwrap().1, None);
    until("everything is read again", || is_touched(&store, &seen));
    // The call is made again, and counts once.
    deposit(&store, "bob", 4).unwrap();
    assert_eq!(read_balance(&store, "bob").unwrap().1, Some(4));
}

#[test]
fn waiting_commit_is_acknowledged_after_the_standby_has_it() {
    let primary = Cluster::new();
    let _standby = primary.synchronous_standby();
    let store = node(&primary.url());
    deposit(&store, "ada", 1).unwrap();
    primary.signal_senders("STOP");
    let pending = store.start(|db| open(db, "bob", 2));
    until("the commit waits", || primary.waiting() > 0);
    // Past the time in which commits are answered.
    until("mutations are refused", || store.ready().is_err());
    assert!(primary.waiting() > 0, "it still waits");
    primary.signal_senders("CONT");
    pending.wait().unwrap();
    until("mutations are accepted again", || store.ready().is_ok());
    assert_eq!(read_balance(&store, "bob").unwrap().1, Some(2));
    deposit(&store, "carl", 3).unwrap();
}

#[test]
fn cancelled_wait_does_not_acknowledge_and_the_retry_waits() {
    let primary = Cluster::new();
    let _standby = primary.synchronous_standby();
    let store = node(&primary.url());
    let other = beside(&store, &primary.url());
    deposit(&store, "ada", 1).unwrap();
    primary.signal_senders("STOP");
    let pending = store.start(|db| open(db, "bob", 2));
    until("the commit waits", || primary.waiting() > 0);
    let before = read_balance(&store, "bob").unwrap();
    assert_eq!(before.1, None);
    primary.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    let unknown = pending.wait();
    assert!(matches!(unknown, Err(StoreError::CommitUnknown(_))), "{unknown:?}");
    // The primary shows it, and the standby does not have it.
    assert_eq!(read_balance(&other, "bob").unwrap().1, Some(2));
    assert!(is_touched(&store, &before), "what was read before is read again");

    // A repeated call finds that all is done, and changes nothing. It is not acknowledged either.
    let (ids, now) = (store.ids.clone(), convoke_core::clock::Millis(1_000));
    let repeated = move || {
        let ids = ids.clone();
        start(&other, move |writer| {
            let db = convoke_store::DbMut::new(writer, reads(), ids.clone(), now);
            Ok(balance(&db, "bob"))
        })
        .wait()
    };
    let refused = repeated();
    assert!(matches!(refused, Err(StoreError::NotWritable(_) | StoreError::Unreachable(_))), "{refused:?}");
    primary.signal_senders("CONT");
    until("a repeated call is acknowledged", || matches!(repeated(), Ok(Some(2))));
    until("mutations are accepted again", || store.ready().is_ok());
    deposit(&store, "carl", 3).unwrap();
}

#[test]
fn late_commit_with_an_unknown_outcome_is_followed() {
    let primary = Cluster::new();
    let _standby = primary.synchronous_standby();
    let store = node(&primary.url());
    deposit(&store, "ada", 1).unwrap();
    primary.signal_senders("STOP");
    let unknown = deposit(&store, "bob", 2);
    assert!(matches!(unknown, Err(StoreError::CommitUnknown(_))), "{unknown:?}");
    let before = read_balance(&store, "bob").unwrap();
    assert_eq!(before.1, None, "it still waits");
    assert!(!is_touched(&store, &before));
    primary.signal_senders("CONT");
    until("the node follows its own commit", || is_touched(&store, &before));
    assert_eq!(read_balance(&store, "bob").unwrap().1, Some(2));
}
