//! Several nodes on one database: what one commits the others see, follow, and do not undo.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use convoke_store::conformance::support::{Account, TestStore, balance, db, open, open_with, patient};
use convoke_store::{Access, Commit, Nodes, ReadSet, RecordingReader, Store, Table};

use crate::postgres;

/// Waits until `is_so`, for as long as a busy machine may take.
fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..12_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("not within a minute: {what}");
}

/// A second node on the database of the first one.
fn beside(first: &TestStore) -> Store {
    let engine = postgres();
    open_with(&engine, first.folder.path(), &patient(), &[Account::DEF]).unwrap()
}

/// Set when it falls, however that happens.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

fn read_balance(store: &Store, owner: &str) -> (Commit, Option<i64>, ReadSet) {
    let read = |reader: std::rc::Rc<dyn convoke_store::Reader>| {
        let commit = reader.pin().unwrap();
        let recorder = std::rc::Rc::new(RecordingReader::new(reader, 100));
        (commit, balance(&db(recorder.clone()), owner), recorder.take())
    };
    store.read_blocking(Access::Everyone, read).unwrap()
}

#[test]
fn what_one_node_commits_the_other_sees_at_once_and_is_told_of_row_by_row() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    // Both want to be told of rows.
    first.commits().watch("accounts");
    second.commits().watch("accounts");
    let (before, none, reads) = read_balance(&second, "ada");
    assert_eq!(none, None);
    first.mutate(|db| open(db, "bob", 1)).unwrap();
    first.mutate(|db| open(db, "ada", 7)).unwrap();
    assert_eq!(read_balance(&second, "ada").1, Some(7));
    until("the second node is told", || {
        second.commits().since(before).unwrap().iter().any(|committed| reads.is_touched_by(&committed.changes))
    });
    let since = second.commits().since(before).unwrap();
    assert!(
        since.iter().all(|committed| !committed.changes.everything && committed.changes.tables.is_empty()),
        "{since:?}"
    );
    // What it has read again is not touched by what it has seen.
    let (after, seen, reads) = read_balance(&second, "ada");
    assert_eq!(seen, Some(7));
    assert!(second.commits().since(after).unwrap().iter().all(|committed| !reads.is_touched_by(&committed.changes)));
}

#[test]
fn no_update_of_two_nodes_is_lost_and_what_is_told_is_never_older_than_what_is_seen() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    let id = first.mutate(|db| open(db, "ada", 0)).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let end = Done(&done);
        let watching = scope.spawn(|| {
            // A result that no commit touches is what a new run would tell.
            let mut runs = 0;
            let mut known = read_balance(&second, "ada");
            while !done.load(SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
                let since = second.commits().since(known.0).unwrap();
                if since.iter().any(|committed| known.2.is_touched_by(&committed.changes)) {
                    let now = read_balance(&second, "ada");
                    assert!(now.1 >= known.1, "{:?} after {:?}", now.1, known.1);
                    known = now;
                    runs += 1;
                }
            }
            runs
        });
        let writing: Vec<_> = (0..4)
            .map(|number| {
                let (first, second) = (&first, &second);
                scope.spawn(move || {
                    for _ in 0..25 {
                        let add = move |db: &mut convoke_store::DbMut| db.patch(id, |account| account.balance += 1);
                        match number % 2 {
                            0 => first.mutate(add).map(drop).unwrap(),
                            _ => on(second, first, add),
                        }
                    }
                })
            })
            .collect();
        writing.into_iter().for_each(|thread| thread.join().unwrap());
        until("the last commit is told", || read_balance(&second, "ada").1 == Some(100));
        std::thread::sleep(Duration::from_millis(50));
        drop(end);
        assert!(watching.join().unwrap() > 0);
    });
    assert_eq!(read_balance(&first.store, "ada").1, Some(100));
}

/// Runs a mutation on another node, with ids of its own.
fn on<R: Send + 'static>(
    store: &Store,
    ids: &TestStore,
    mut run: impl FnMut(&mut convoke_store::DbMut) -> Result<R, convoke_store::StoreError> + Send + 'static,
) {
    use convoke_store::conformance::support::{reads, start};
    let ids = ids.ids.clone();
    let now = convoke_core::clock::Millis(1_000);
    start(store, move |writer| run(&mut convoke_store::DbMut::new(writer, reads(), ids.clone(), now)).map(drop))
        .wait()
        .unwrap();
}

#[test]
fn nodes_know_each_other_until_one_leaves() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    let number = |store: &Store| match store.nodes() {
        Nodes::Many { own, .. } => own,
        Nodes::Alone => panic!("it is a node among others"),
    };
    let (one, other) = (number(&first), number(&second));
    assert_ne!(one, other);
    assert!(second.nodes().may_live(one), "who comes later knows who is there");
    until("the first node hears of the second one", || first.nodes().may_live(other));
    second.close();
    until("the first node hears that the second one has left", || !first.nodes().may_live(other));
    assert!(first.nodes().may_live(one));
}
