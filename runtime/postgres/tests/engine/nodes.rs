//! Several nodes on one database: what one commits the others see, follow, and do not undo.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use convoke_core::clock::{Clock, Millis, SystemClock};
use convoke_store::conformance::support::{Account, TestStore, balance, db, field, open, open_with, patient, start};
use convoke_store::{
    Access, Commit, Draw, FieldDef, HeldDisk, NamedStat, Nodes, Plan, ReadSet, Reader as _, RecordingReader, Store,
    StoreOptions, Table, TableDef, Value,
};

use crate::{postgres, until};

/// A second node on the database of the first one.
pub(crate) fn beside(first: &TestStore) -> Store {
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
fn commit_is_visible_at_other_nodes_with_row_changes() {
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
    until("the second node gets the commit", || {
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
fn updates_of_two_nodes_are_not_lost_and_notifications_are_not_stale() {
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
        until("the last commit is visible", || read_balance(&second, "ada").1 == Some(100));
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
    let now = Millis(1_000);
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

#[test]
fn node_answers_requests_and_missing_node_is_reported() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    let Nodes::Many { own, .. } = second.nodes() else { panic!("it is a node among others") };
    until("the first node hears of the second one", || first.nodes().may_live(own));
    second.answer_by(Box::new(|request| format!("{request}? yes")));
    let answers: Vec<_> = std::thread::scope(|scope| {
        let asking: Vec<_> = ["one", "two", "three"].map(|what| scope.spawn(|| first.ask(own, what).unwrap())).into();
        asking.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(answers, ["one? yes", "two? yes", "three? yes"].map(|answer| Some(answer.to_owned())));
    second.close();
    until("the first node hears that the second one has left", || !first.nodes().may_live(own));
    assert_eq!(first.ask(own, "still there").unwrap(), None);
}

/// The machine's clock, and how far it is set wrong.
struct Wrong(SystemClock, AtomicI64);

impl Clock for Wrong {
    fn now(&self) -> Millis {
        Millis(self.0.now().0 + self.1.load(SeqCst))
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }
}

#[test]
fn node_with_a_wrong_clock_is_not_ready() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let clock = Arc::new(Wrong(SystemClock::new(), AtomicI64::new(-60_000)));
    let options = StoreOptions { disk: Arc::new(HeldDisk::default()), ..StoreOptions::new(first.folder.path()) };
    let second = Store::open(postgres(), options, &patient(), clock.clone(), vec![Account::DEF]).unwrap();
    let refused = second.ready().unwrap_err();
    assert!(refused.contains("ms behind the database's, more than 500 ms"), "{refused}");
    assert!(NamedStat::find(&second.own_stats(), "clock_deviation_ms").unwrap() > 50_000);
    clock.1.store(0, SeqCst);
    until("the second node is ready once its clock is right", || second.ready().is_ok());
    clock.1.store(60_000, SeqCst);
    until("the second node is not ready once its clock has jumped", || second.ready().is_err());
    assert!(second.ready().unwrap_err().contains("ahead of"));
    assert!(first.ready().is_ok(), "whose clock is right is not concerned");
}

#[test]
fn sequential_writes_of_two_nodes_keep_their_order_despite_a_wrong_clock() {
    use convoke_core::id::IdGenerator;
    use convoke_store::conformance::support::{reads, start};
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    for wrong in [-300, 300] {
        let clock = Arc::new(Wrong(SystemClock::new(), AtomicI64::new(wrong)));
        let options = StoreOptions { disk: Arc::new(HeldDisk::default()), ..StoreOptions::new(first.folder.path()) };
        let second = Store::open(postgres(), options, &patient(), clock, vec![Account::DEF]).unwrap();
        second.ready().unwrap();
        let clocks = [&first.store, &second].map(|store| store.clock().unwrap());
        until("the wrong clock is corrected", || (clocks[0].now().0 - clocks[1].now().0).abs() <= 20);
        let ids = [(); 2].map(|()| Arc::new(IdGenerator::after(0)));
        let mut written = Vec::new();
        for number in 0..10 {
            let (store, node) = ([&first.store, &second][number % 2], number % 2);
            let (ids, now, owner) = (ids[node].clone(), clocks[node].now(), format!("{wrong} {number}"));
            let insert = move |writer| {
                let mut db = convoke_store::DbMut::new(writer, reads(), ids.clone(), now);
                let id = open(&mut db, &owner, 1)?;
                Ok(db.get(id)?.map(|row| (row.creation_time(), id)))
            };
            written.push(start(store, insert).wait().unwrap().unwrap());
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(written.is_sorted(), "{written:?}");
    }
}

/// A draw of so many from a bucket of a hundred, of which one comes a second, in blocks of five.
fn draw(cost: f64, now: i64) -> Draw {
    Draw { bucket: 7, full: 100.0, per_second: 1.0, needed: cost.min(100.0), cost, block: 5.0, now: Millis(now) }
}

#[test]
fn shared_bucket_is_bounded_and_refills_evenly() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    let taken = |store: &Store, cost, now| {
        let drawn = store.draw(&draw(cost, now)).unwrap();
        (drawn.taken, drawn.left)
    };
    // A block where that is more than it costs, what it costs otherwise.
    assert_eq!(taken(&first, 1.0, 1_000_000), (5.0, 95.0));
    assert_eq!(taken(&second, 90.0, 1_000_000), (90.0, 5.0));
    assert_eq!(taken(&first, 6.0, 1_000_000), (0.0, 5.0), "nothing is taken where it does not suffice");
    assert_eq!(taken(&first, 3.0, 1_000_000), (5.0, 0.0));
    assert_eq!(taken(&first, 1.0, 1_000_999), (0.0, 0.999));
    assert_eq!(taken(&second, 1.0, 1_002_500), (2.5, 0.0), "what is there, where a block is not");
    // The clock of another node is a little behind: what has come does not come again.
    assert_eq!(taken(&first, 1.0, 1_002_100), (0.0, 0.0));
    assert_eq!(taken(&second, 1.0, 1_002_500), (0.0, 0.0));
    // From a clock that was an hour wrong it goes back.
    assert_eq!(taken(&first, 200.0, 4_602_500), (200.0, -100.0), "what costs more than it holds takes a full one");
    assert_eq!(taken(&second, 1.0, 1_003_500), (0.0, -100.0));
    assert_eq!(taken(&second, 1.0, 1_105_000), (1.5, 0.0));
}

#[test]
fn concurrent_draws_take_different_tokens() {
    let first = TestStore::new(&postgres(), &[Account::DEF]);
    let second = beside(&first);
    let taken: f64 = std::thread::scope(|scope| {
        let drawing: Vec<_> = (0..8)
            .map(|number| {
                let store: &Store = if number % 2 == 0 { &first } else { &second };
                scope.spawn(move || (0..10).map(|_| store.draw(&draw(1.0, 1_000_000)).unwrap().taken).sum::<f64>())
            })
            .collect();
        drawing.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(taken, 100.0);
}

/// The classic of snapshots: who reads the end of a day between two mutations, and not what one of them still adds to it.
#[test]
fn unserializable_query_is_rerun() {
    const FIELDS: &[FieldDef] = &[field::<i64>("day")];
    const fn table(name: &'static str, prefix: &'static str) -> TableDef {
        TableDef { name, prefix, fields: FIELDS, indexes: &[], file: file!(), line: line!() }
    }
    static ENDS: TableDef = table("ends", "end");
    static RECEIPTS: TableDef = table("receipts", "receipt");
    let store = TestStore::new(&postgres(), &[&ENDS, &RECEIPTS]);
    let other = open_with(&postgres(), store.folder.path(), &patient(), &[&ENDS, &RECEIPTS]).unwrap();

    // A receipt is made for the day that it began in …
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let receipt = start(&store, move |writer| {
        let ends = writer.count(&Plan::new(&ENDS, None))?;
        begun.send(ends).unwrap();
        may_go_on.recv_timeout(Duration::from_secs(60)).unwrap();
        writer.insert(&RECEIPTS, 2, 1, &[Value::Integer(1)])
    });
    assert_eq!(has_begun.recv().unwrap(), 0);
    // … while the day is ended …
    start(&other, |writer| writer.insert(&ENDS, 1, 1, &[Value::Integer(1)])).wait().unwrap();
    // … and a person sees that it is, and adds up what it brought.
    let runs = AtomicUsize::new(0);
    let receipt = std::cell::Cell::new(Some(receipt));
    let seen = other.read_blocking(Access::Everyone, |reader| {
        let ends = reader.count(&Plan::new(&ENDS, None))?;
        if runs.fetch_add(1, SeqCst) == 0 {
            go_on.send(()).unwrap();
            receipt.take().unwrap().wait().unwrap();
        }
        Ok::<_, convoke_store::StoreError>((ends, reader.count(&Plan::new(&RECEIPTS, None))?))
    });
    assert_eq!(seen.unwrap().unwrap(), (1, 1), "the receipt came first");
    assert_eq!(runs.load(SeqCst), 2);
    assert_eq!(NamedStat::find(&other.own_stats(), "conflicts_total"), Some(1));
}

/// The server of the tests looks for such pairs only after minutes.
#[test]
fn deadlocked_mutations_are_resolved_by_the_node() {
    let store = TestStore::new(&postgres(), &[Account::DEF]);
    let other = beside(&store);
    let [ada, bob] = ["ada", "bob"].map(|owner| store.mutate(|db| open(db, owner, 0)).unwrap().bits());
    // Each has changed one row before it goes on to the one that the other has changed.
    let both = Arc::new(Barrier::new(2));
    let pay = |store: &Store, [one, next]: [u128; 2]| {
        let (both, runs) = (both.clone(), AtomicUsize::new(0));
        start(store, move |writer| {
            let add = |id| {
                let mut balance = Value::Null;
                writer.get(Account::DEF, id, &mut |row| {
                    balance = row.value(1)?.to_value();
                    Ok(ControlFlow::Continue(()))
                })?;
                let Value::Integer(balance) = balance else { panic!("{balance:?}") };
                writer.update(Account::DEF, id, &[], &[(1, Value::Integer(balance + 1))])?;
                // What waits is sent before a read that could see it.
                writer.count(&Plan::new(Account::DEF, None))
            };
            add(one)?;
            if runs.fetch_add(1, SeqCst) == 0 {
                both.wait();
            }
            add(next).map(drop)
        })
    };
    let paid = [pay(&store, [ada, bob]), pay(&other, [bob, ada])];
    paid.into_iter().for_each(|one| one.wait().unwrap());
    assert_eq!((read_balance(&other, "ada").1, read_balance(&other, "bob").1), (Some(2), Some(2)));
}
