//! A server that accepts no writes.

use convoke_core::error::{Code, Error};
use convoke_store::conformance::support::Account;
use convoke_store::conformance::support::{open_with, patient};
use convoke_store::{Access, Plan, StoreError, Table as _};

use crate::cluster::Cluster;
use crate::{deposit, engine, node, read_balance, until};

/// Checks that a failure is `UNAVAILABLE` with this reason.
#[track_caller]
fn assert_unavailable<T: std::fmt::Debug>(outcome: Result<T, StoreError>, reason: &str) {
    let error = outcome.unwrap_err();
    assert!(matches!(error, StoreError::NotWritable(_)), "{error}");
    let error = Error::from(error);
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.message().contains(reason), "{}", error.message());
}

/// Returns the error of a start at this server.
fn refused(server: &Cluster) -> String {
    let folder = tempfile::tempdir().unwrap();
    let opened = open_with(&engine(&server.url()), folder.path(), &patient(), &[Account::DEF]);
    opened.err().unwrap().to_string()
}

#[test]
fn read_only_database_is_unavailable_to_mutations() {
    let server = Cluster::new();
    let store = node(&server.url());
    deposit(&store, "ada", 1).unwrap();
    let set = |value: &str| {
        server.sql(&format!("ALTER SYSTEM SET default_transaction_read_only = {value}"));
        server.sql("SELECT pg_reload_conf()");
    };
    set("on");
    until("the node is not ready", || store.ready().is_err());
    assert!(store.ready().unwrap_err().contains("read-only"));
    assert_unavailable(deposit(&store, "bob", 2), "default_transaction_read_only");
    assert_eq!(read_balance(&store, "ada").unwrap().1, Some(1));
    assert!(refused(&server).contains("default_transaction_read_only is on"));
    set("off");
    until("the node is ready", || store.ready().is_ok());
    deposit(&store, "bob", 2).unwrap();
}

#[test]
fn standby_is_unavailable_until_promoted_and_a_start_names_the_setting() {
    let server = Cluster::new();
    let store = node(&server.url());
    deposit(&store, "ada", 1).unwrap();
    let seen = read_balance(&store, "ada").unwrap();
    server.stop("fast");
    server.demote();
    server.start();
    until("the node says that it is a standby", || store.ready().is_err_and(|reason| reason.contains("standby")));
    assert_unavailable(deposit(&store, "bob", 2), "it is a standby");
    let counted = store.read_blocking(Access::Everyone, |reader| reader.count(&Plan::new(Account::DEF, None)));
    assert_unavailable(counted.flatten(), "it is a standby");
    let said = refused(&server);
    assert!(said.contains("target_session_attrs=read-write"), "{said}");
    server.promote();
    until("the node is ready", || store.ready().is_ok());
    deposit(&store, "bob", 2).unwrap();
    until("everything is read again", || crate::is_touched(&store, &seen));
}
