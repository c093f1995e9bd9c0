//! The engine beside other servers than one primary: a synchronous standby that goes away, a failover, a restore under running
//! nodes, a server that only reads, a connection pooler. Each test starts servers of its own.
//!
//! `e2e/postgres.sh servers` names the programs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cluster;
mod history;
mod pooler;
mod read_only;
mod standby;

use std::sync::Arc;
use std::time::Duration;

use convoke_postgres::Postgres;
use convoke_store::conformance::support::{Account, Factory, TestStore, balance, open, open_with, patient};
use convoke_store::{Access, Commit, ReadSet, RecordingReader, Store, StoreError, Table as _};

/// Engines at an address.
fn engine(url: &str) -> Factory {
    Arc::new(Postgres::at(url, None).unwrap())
}

/// A node at an address.
fn node(url: &str) -> TestStore {
    TestStore::new(&engine(url), &[Account::DEF])
}

/// One more node beside `first`, at an address.
fn beside(first: &TestStore, url: &str) -> Store {
    open_with(&engine(url), first.folder.path(), &patient(), &[Account::DEF]).unwrap()
}

/// Opens an account by a mutation.
fn deposit(store: &TestStore, owner: &'static str, amount: i64) -> Result<(), StoreError> {
    store.mutate(move |db| open(db, owner, amount)).map(drop)
}

/// A read of a balance, with the commit that it shows and what it read.
fn read_balance(store: &Store, owner: &'static str) -> Result<(Commit, Option<i64>, ReadSet), StoreError> {
    store.read_blocking(Access::Everyone, move |reader| {
        let commit = reader.pin().unwrap();
        let recorder = std::rc::Rc::new(RecordingReader::new(reader, 100));
        let db = convoke_store::conformance::support::db(recorder.clone());
        (commit, balance(&db, owner), recorder.take())
    })
}

/// Returns true if a result of this read would be made again.
fn is_touched(store: &Store, (commit, _, reads): &(Commit, Option<i64>, ReadSet)) -> bool {
    let since = store.commits().since(*commit);
    since.is_none_or(|since| since.iter().any(|committed| reads.is_touched_by(&committed.changes)))
}

/// Waits until `is_so`, for as long as a busy machine may take.
fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("not within two minutes: {what}");
}
