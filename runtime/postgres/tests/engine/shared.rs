//! State that nodes share besides rows of tables: leases, which any node renews, and turns, which one node has.

use std::time::Duration;

use convoke_store::conformance::support::{Account, TestStore};
use convoke_store::{LeaseRow, LeaseRows, NewLease, Opened, Renewal, Store, Table as _, TurnName, TurnRow, TurnRows};

use crate::nodes::beside;
use crate::{postgres, until};

const HOUR: Duration = Duration::from_secs(3_600);

fn leases(store: &Store) -> &dyn LeaseRows {
    store.leases().expect("several nodes may serve it")
}

fn turns(store: &Store) -> &dyn TurnRows {
    store.turns().expect("several nodes may serve it")
}

fn new<'a>(id: &'a str, owner: &'a str, lasts: Duration) -> NewLease<'a> {
    NewLease { kind: "test", id, owner, of_one_owner: 2, lasts, value: "0" }
}

fn open(store: &Store, id: &str, owner: &str) -> LeaseRow {
    match leases(store).open(&new(id, owner, HOUR)).unwrap() {
        Opened::There(lease) => lease,
        Opened::OwnerIsFull => panic!("{owner} has too many"),
    }
}

/// A renewal of a lease as it was read.
fn renewal(lease: &LeaseRow, age: Option<Duration>, value: &str) -> Renewal {
    Renewal { id: lease.id.clone(), number: lease.number, version: lease.version, age, value: value.to_owned() }
}

fn ids(leases: &[LeaseRow]) -> Vec<&str> {
    leases.iter().map(|lease| &*lease.id).collect()
}

#[test]
fn lease_is_renewable_at_other_nodes_and_keeps_one_write() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    let opened = open(&first, "a", "ada");
    assert_eq!(open(&second, "a", "ada"), opened, "it is the same one");
    assert_eq!(open(&second, "a", "bob"), opened, "the lease must not belong to another owner");
    let write = |store: &Store, value: &str| {
        leases(store).write("test", HOUR, &[renewal(&opened, Some(Duration::ZERO), value)]).unwrap()
    };
    assert_eq!(write(&second, "1"), ["a"]);
    assert_eq!(write(&first, "2"), [""; 0], "an earlier reader must get the change");
    let lease = leases(&first).get("test", "a").unwrap().unwrap();
    assert_eq!((&*lease.value, lease.version, lease.opened_at), ("1", 1, opened.opened_at));

    leases(&first).end("test", "bob", &["a".to_owned()]).unwrap();
    assert!(leases(&second).get("test", "a").unwrap().is_some(), "it is not bob's");
    leases(&first).end("test", "ada", &["a".to_owned()]).unwrap();
    assert_eq!(leases(&second).get("test", "a").unwrap(), None);
    let again = open(&second, "a", "bob");
    assert!(again.number > opened.number);
    assert_eq!(write(&first, "3"), [""; 0], "one that has ended is not renewed");
    assert_eq!(leases(&first).get("test", "a").unwrap(), Some(again));
}

#[test]
fn leases_are_bounded_across_nodes_and_expire_by_the_database_clock() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    let full = |store: &Store, id: &str| leases(store).open(&new(id, "ada", HOUR)).unwrap() == Opened::OwnerIsFull;
    let b = open(&first, "b", "ada");
    open(&second, "a", "ada");
    assert!(full(&first, "c") && full(&second, "c"));
    assert!(!full(&second, "b"), "what is there is not opened");
    open(&first, "c", "bob");
    assert_eq!(ids(&leases(&second).list("test", None).unwrap()), ["b", "a", "c"], "in the order of opening");
    assert_eq!(ids(&leases(&first).list("test", Some("ada")).unwrap()), ["b", "a"]);
    assert_eq!(leases(&first).list("else", None).unwrap(), []);
    let count = |more| leases(&second).count("test", more).unwrap();
    assert_eq!((count(Duration::ZERO), count(HOUR)), (3, 0));

    // One that was renewed long ago has ended; what is not renewed ends as it would.
    let half = HOUR / 2;
    assert_eq!(leases(&first).write("test", 2 * HOUR, &[renewal(&b, Some(half), "1")]).unwrap(), ["b"]);
    assert_eq!(count(HOUR), 1);
    let b = leases(&first).get("test", "b").unwrap().unwrap();
    assert_eq!(leases(&first).write("test", 4 * HOUR, &[renewal(&b, None, "2")]).unwrap(), ["b"]);
    assert_eq!(count(2 * HOUR), 0);

    let short = Duration::from_millis(1);
    let opened = leases(&first).open(&new("d", "eve", short)).unwrap();
    until("it has ended", || leases(&second).get("test", "d").unwrap().is_none());
    let Opened::There(anew) = leases(&second).open(&new("d", "bob", HOUR)).unwrap() else { panic!("bob has one") };
    assert!(opened != Opened::There(anew.clone()) && anew.owner == "bob", "an expired lease must not block a new one");
}

fn name(id: &str) -> TurnName {
    TurnName { kind: "test", id: id.to_owned() }
}

fn take(store: &Store, id: &str) -> Option<TurnRow> {
    turns(store).take(&name(id)).unwrap()
}

/// Returns true if a mutation of a node finds the turn its own.
fn has(store: &TestStore, id: &str, number: i64) -> bool {
    let name = name(id);
    store.mutate(move |db| db.reader().has_turn(&name, number)).unwrap()
}

#[test]
fn turn_passes_its_result_to_the_next_node() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    let taken = take(&first, "a").unwrap();
    assert_eq!((&taken.left, taken.is_interrupted), (&None, false));
    assert_eq!(take(&second, "a"), None);
    assert!(take(&second, "b").is_some(), "another turn must be free");
    turns(&first).leave(&name("a"), taken.number, Some("done")).unwrap();
    let next = take(&second, "a").unwrap();
    assert_eq!((next.left.as_deref(), next.is_interrupted), (Some("done"), false));
    assert!(next.number > taken.number);
    // Who has left it cannot leave it once more.
    turns(&first).leave(&name("a"), taken.number, Some("again")).unwrap();
    assert_eq!(take(&first, "a"), None);
    assert!(has(&first, "a", next.number) && !has(&first, "a", taken.number));
}

#[test]
fn concurrent_requests_give_one_node_the_turn() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    for round in 0..20 {
        let id = format!("{round}");
        let taken = std::thread::scope(|scope| {
            let other = scope.spawn(|| take(&second, &id).is_some());
            [take(&first, &id).is_some(), other.join().unwrap()]
        });
        assert!(taken[0] != taken[1], "{taken:?}");
    }
}

#[test]
fn turn_of_a_lost_node_is_taken_as_interrupted() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    let taken = take(&second, "a").unwrap();
    turns(&second).leave(&name("a"), taken.number, Some("done")).unwrap();
    let lost = take(&second, "a").unwrap();
    assert!(has(&first, "a", lost.number));
    assert_eq!(take(&first, "a"), None);
    second.close();
    let taken = take(&first, "a").unwrap();
    assert_eq!((taken.left.as_deref(), taken.is_interrupted), (Some("done"), true));
    assert!(!has(&first, "a", lost.number), "what it still wants to write is refused");
}

#[test]
fn uncertain_turn_is_released_only_by_its_node() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    let taken = take(&first, "a").unwrap();
    turns(&second).give_up(&name("a")).unwrap();
    assert_eq!(take(&second, "a"), None, "it is not the second one's to give up");
    turns(&first).give_up(&name("a")).unwrap();
    let next = take(&second, "a").unwrap();
    assert!(next.number > taken.number && next.is_interrupted, "the turn must count as interrupted");
}

#[test]
fn turn_request_does_not_wait_for_an_open_mutation() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    let taken = take(&first, "a").unwrap();
    let ((rests, is_resting), (go_on, goes_on)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel());
    std::thread::scope(|scope| {
        let name = name("a");
        let mutation = scope.spawn(|| {
            first.mutate(move |db| {
                let has = db.reader().has_turn(&name, taken.number);
                // Tried again, it is not waited for.
                let _ = rests.send(());
                let _ = goes_on.recv_timeout(Duration::from_secs(60));
                has
            })
        });
        is_resting.recv().unwrap();
        assert_eq!(take(&second, "a"), None);
        go_on.send(()).unwrap();
        assert!(mutation.join().unwrap().unwrap());
    });
}
