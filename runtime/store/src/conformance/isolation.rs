//! Failures of one mutation or read do not affect others, and concurrent calls are isolated.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use super::support::{
    Account, ByBalance, ByOwner, Factory, Pending, TestStore, balance, db, field, key, open, reads, start, together,
};
use convoke_core::clock::Millis;

use crate::{
    Access, Condition, Db, DbMut, Doc, IndexDef, Literal, Plan, StoreError, Table, TableDef, Transaction, Value,
    WriteJob,
};

fn tables() -> Vec<&'static TableDef> {
    vec![Account::DEF]
}

/// Runs three mutations in one batch, of which the middle one is `bad`; the others must be stored.
fn between_neighbours<R: Send + 'static>(
    store: &TestStore,
    bad: impl FnMut(&mut DbMut) -> Result<R, StoreError> + Send + 'static,
) -> Result<R, StoreError> {
    let (before, bad, after) = together(store, || {
        (store.start(|db| open(db, "before", 1)), store.start(bad), store.start(|db| open(db, "after", 1)))
    });
    before.wait().unwrap();
    after.wait().unwrap();
    let stored = store.read(|db| (balance(db, "before"), balance(db, "bad"), balance(db, "after")));
    assert_eq!(stored, (Some(1), None, Some(1)));
    bad.wait()
}

pub fn query_reads_one_snapshot_during_writes(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    let id = store.mutate(|db| open(db, "ada", 1)).unwrap();
    store.read(|db| {
        assert_eq!(balance(db, "ada"), Some(1));
        store.mutate(move |db| db.patch(id, |account| account.balance = 2)).unwrap();
        assert_eq!(balance(db, "ada"), Some(1));
    });
    assert_eq!(store.read(|db| balance(db, "ada")), Some(2));
}

pub fn query_sees_every_mutation_acknowledged_before_it(engine: &Factory) {
    let store = TestStore::with(engine, &tables(), |limits| limits.readers = 2);
    let id = store.mutate(|db| open(db, "ada", 0)).unwrap();
    let answered = AtomicI64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while answered.load(Relaxed) < 300 {
                    let before = answered.load(Relaxed);
                    let seen = store.read(|db| db.get(id).unwrap().unwrap().balance);
                    assert!(seen >= before, "{seen} after {before} was answered");
                }
            });
        }
        for balance in 1..=300 {
            store.mutate(move |db| db.patch(id, |account| account.balance = balance)).unwrap();
            answered.store(balance, Relaxed);
        }
    });
}

pub fn row_is_equal_by_id_by_unique_key_and_by_scan_during_writes(engine: &Factory) {
    const OWNERS: [&str; 4] = ["ada", "bob", "cid", "dan"];
    let find = |db: &Db, owner: &str| db.query(ByOwner).eq(owner).unique().unwrap();
    let plain = |row: &Doc<Account>| (row.id(), Account::clone(row));
    let store = TestStore::with(engine, &tables(), |limits| limits.readers = 3);
    store.mutate(|db| OWNERS.iter().try_for_each(|owner| open(db, owner, 1_000).map(drop))).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    store.read(|db| {
                        let rows = db.query(ByBalance).take(OWNERS.len()).unwrap();
                        for row in rows.iter().chain(&rows) {
                            assert_eq!(db.get(row.id()).unwrap().as_ref().map(plain), Some(plain(row)));
                            assert_eq!(find(db, &row.owner).as_ref().map(plain), Some(plain(row)));
                        }
                        assert_eq!(rows.iter().map(|row| row.balance).sum::<i64>(), 4_000);
                    });
                }
            });
        }
        for turn in 0..400 {
            let (from, to) = (OWNERS[turn % 4], OWNERS[(turn / 4 + turn + 1) % 4]);
            let moved = store.mutate(move |db| {
                let (Some(from), Some(to)) = (find(db, from), find(db, to)) else {
                    return Err(StoreError::Engine("no reader is missing after a mutation".to_owned()));
                };
                if from.id() == to.id() {
                    return Ok(());
                }
                db.patch(to.id(), |account| account.balance += 7)?;
                match turn % 5 {
                    // From now on the owner has another row.
                    0 => {
                        db.delete(from.id())?;
                        open(db, &from.owner, from.balance - 7)?;
                    }
                    1 => return Err(StoreError::Engine("refused".to_owned())),
                    _ => drop(db.patch(from.id(), |account| account.balance -= 7)?),
                }
                Ok(())
            });
            assert!(moved.is_ok() || turn % 5 == 1, "{moved:?}");
        }
        is_over.store(true, Relaxed);
    });
}

pub fn panic_in_a_batch_rolls_back_alone_and_keeps_its_message(engine: &Factory) {
    let store = TestStore::new(engine, &tables());
    let answer = between_neighbours(&store, |db| {
        open(db, "bad", 1)?;
        if balance(db, "bad") == Some(1) {
            panic!("on purpose: {}", 7);
        }
        Ok(())
    });
    assert!(matches!(answer, Err(StoreError::Panicked(ref said)) if said == "on purpose: 7"), "{answer:?}");
}

pub fn mutation_past_its_deadline_rolls_back_alone(engine: &Factory) {
    // Its neighbours need far less, also on a busy machine.
    let store = TestStore::with(engine, &tables(), |limits| limits.mutation_timeout = Duration::from_secs(2));
    let answer = between_neighbours(&store, |db| {
        open(db, "bad", 1)?;
        std::thread::sleep(Duration::from_millis(2_100));
        assert!(matches!(open(db, "worse", 1), Err(StoreError::Deadline { limit_ms: 2_000 })));
        assert!(matches!(db.scan::<Account>().count(), Err(StoreError::Deadline { .. })));
        Ok(())
    });
    assert!(matches!(answer, Err(StoreError::Deadline { limit_ms: 2_000 })), "{answer:?}");
}

pub fn query_past_its_deadline_is_cancelled(engine: &Factory) {
    let store = TestStore::with(engine, &tables(), |limits| limits.query_timeout = Duration::from_secs(2));
    store.mutate(|db| (0..2_000).try_for_each(|n| open(db, &n.to_string(), 1).map(|_| ()))).unwrap();
    let read = store.store.read_blocking(Access::Everyone, |transaction| {
        let db = db(transaction);
        loop {
            if let Err(error) = db.scan::<Account>().count() {
                assert!(matches!(error, StoreError::Deadline { limit_ms: 2_000 }), "{error:?}");
                break;
            }
        }
    });
    // Independent of the function's reaction.
    assert!(matches!(read, Err(StoreError::Deadline { limit_ms: 2_000 })), "{read:?}");
    assert_eq!(store.read(|db| db.scan::<Account>().count().unwrap()), 2_000);
}

pub fn unstorable_value_is_rejected_by_name_and_the_mutation_can_continue(engine: &Factory) {
    static TABLE: TableDef = TableDef {
        name: "things",
        prefix: "thing",
        fields: &[field::<String>("label"), field::<f64>("score")],
        indexes: &[],
        file: file!(),
        line: line!(),
    };
    let store = TestStore::new(engine, &[&TABLE]);
    let row = |label: &str, score| [Value::Text(label.to_owned()), Value::Float(score)];
    start(&store, move |transaction| {
        let error = transaction.insert(&TABLE, 1, 1, &row("a\0b", 1.0)).unwrap_err();
        assert_eq!(error.to_string(), "things.label must not contain U+0000");
        assert_eq!(crate::Error::from(error).field(), Some("label"));
        let error = transaction.insert(&TABLE, 1, 1, &row("a", f64::NAN)).unwrap_err();
        assert_eq!(error.to_string(), "things.score must be a number");
        transaction.insert(&TABLE, 1, 1, &row("a", f64::INFINITY))?;
        transaction.insert(&TABLE, 2, 1, &row("a", -0.0))?;
        assert!(transaction.update(&TABLE, 1, &[], &[(0, Value::Text("\0".into()))]).is_err());
        Ok(())
    })
    .wait()
    .unwrap();
    let scores = store.read(|db| {
        let mut scores = Vec::new();
        let visit = &mut |row: &dyn crate::Row| {
            scores.push(row.value(1)?.to_value());
            Ok(std::ops::ControlFlow::Continue(()))
        };
        db.reader().select(&Plan::new(&TABLE, None), visit).unwrap();
        scores
    });
    // Both zeros are one number with one sign.
    assert!(
        matches!(&scores[..], [Value::Float(f64::INFINITY), Value::Float(zero)] if zero.to_bits() == 0),
        "{scores:?}"
    );
}

pub fn index_keys_have_a_size_limit_that_every_engine_supports(engine: &Factory) {
    static TABLE: TableDef = TableDef {
        name: "things",
        prefix: "thing",
        fields: &[field::<String>("label"), field::<String>("kind"), field::<String>("note")],
        indexes: &[
            IndexDef { name: "by_label_and_kind", keys: &[key(0), key(1)], unique: true, when: None },
            IndexDef {
                name: "by_note",
                keys: &[key(2)],
                unique: false,
                when: Some(Condition::Equals("kind", Literal::Text("noted"))),
            },
        ],
        file: file!(),
        line: line!(),
    };
    let store = TestStore::new(engine, &[&TABLE]);
    // Text that an engine cannot compress.
    let text = |bytes: u32| {
        let letter = |n: u32| char::from(b'!' + (n.wrapping_mul(2_654_435_761) >> 24) as u8 % 90);
        Value::Text((0..bytes).map(letter).collect())
    };
    let row = move |bytes: [u32; 3]| bytes.map(text);
    start(&store, move |transaction| {
        transaction.insert(&TABLE, 1, 1, &row([1_990, 10, 5_000]))?;
        let error = transaction.insert(&TABLE, 2, 1, &row([1_990, 11, 0])).unwrap_err();
        let expected = "things.label must have at most 2,000 bytes, together with the other keys of its index";
        assert_eq!(error.to_string(), expected);
        assert_eq!(crate::Error::from(error).field(), Some("label"));
        let before = row([1_990, 10, 5_000]);
        let changed = transaction.update(&TABLE, 1, &before, &[(1, Value::Text("x".repeat(11)))]).unwrap_err();
        assert_eq!(changed.to_string(), expected);
        let noted = [text(1), Value::Text("noted".to_owned()), text(2_001)];
        let error = transaction.insert(&TABLE, 3, 1, &noted).unwrap_err();
        assert!(error.to_string().starts_with("things.note must"), "{error}");
        // A conditional index has only the keys of rows that fulfil its condition, also from the moment they do.
        let entering = transaction.update(&TABLE, 1, &before, &[(1, Value::Text("noted".to_owned()))]).unwrap_err();
        assert!(entering.to_string().starts_with("things.note must"), "{entering}");
        assert!(transaction.update(&TABLE, 1, &before, &[(2, text(4_000))])?);
        // The keys do not matter for a change that does not affect the index.
        assert!(transaction.update(&TABLE, 1, &before, &[(0, Value::Text("short".into()))])?);
        transaction.insert(&TABLE, 4, 1, &row([1_990, 10, 0]))
    })
    .wait()
    .unwrap();
    assert_eq!(store.read(|db| db.reader().count(&Plan::new(&TABLE, None)).unwrap()), 2);
}

pub fn concurrent_leaves_keep_at_least_one_host(engine: &Factory) {
    for _ in 0..20 {
        let store = TestStore::new(engine, &tables());
        store.mutate(|db| ["ada", "bob"].into_iter().try_for_each(|host| open(db, host, 1).map(|_| ()))).unwrap();
        std::thread::scope(|scope| {
            for host in ["ada", "bob"] {
                let store = &store;
                scope.spawn(move || {
                    store.mutate(move |db| {
                        if db.query(ByBalance).eq(1).count()? < 2 {
                            return Ok(());
                        }
                        let row = db.query(ByOwner).eq(host).unique()?.unwrap();
                        db.patch(row.id(), |account| account.balance = 0).map(|_| ())
                    })
                });
            }
        });
        assert_eq!(store.read(|db| db.query(ByBalance).eq(1).count().unwrap()), 1);
    }
}

pub fn one_of_many_concurrent_first_inserts_wins(engine: &Factory) {
    let store = TestStore::new(engine, &tables());
    let wins: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    (0..50)
                        .filter(|n| {
                            let owner = n.to_string();
                            store.mutate(move |db| open(db, &owner, 1)).is_ok()
                        })
                        .count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(wins, 50);
    assert_eq!(store.read(|db| db.scan::<Account>().count().unwrap()), 50);
}

pub fn reader_kept_after_its_function_cannot_read(engine: &Factory) {
    let store = TestStore::new(engine, &tables());
    store.mutate(|db| open(db, "ada", 1)).unwrap();
    let kept = store.store.read_blocking(Access::Everyone, |reader| reader).unwrap();
    let late = kept.count(&Plan::new(Account::DEF, None));
    assert!(matches!(late, Err(StoreError::TransactionLost(_))), "{late:?}");
}

pub fn mutations_beyond_the_queue_limit_are_rejected_immediately(engine: &Factory) {
    let store = TestStore::with(engine, &tables(), |limits| limits.writer_queue_max = 3);
    let pending: Vec<Pending<_>> =
        together(&store, || (0..100).map(|n| store.start(move |db| open(db, &n.to_string(), 1))).collect());
    let answers: Vec<_> = pending.into_iter().map(Pending::wait).collect();
    let stored = answers.iter().filter(|answer| answer.is_ok()).count();
    let refused = answers.iter().filter(|answer| matches!(answer, Err(StoreError::QueueFull("writer")))).count();
    assert_eq!(stored + refused, 100, "{answers:?}");
    assert!(stored > 0 && refused > 0, "{stored} were stored and {refused} refused");
    assert_eq!(store.read(|db| db.scan::<Account>().count().unwrap()), stored as u64);
}

/// Writes a row, and then fails.
struct Refuses(mpsc::Sender<Result<(), StoreError>>);

impl WriteJob for Refuses {
    fn run(&mut self, writer: Rc<Transaction>) -> Result<(), Option<StoreError>> {
        writer.insert(Account::DEF, 1, 1, &[Value::Text("refused".to_owned()), Value::Integer(1)])?;
        Err(None)
    }

    fn finish(self: Box<Self>, outcome: Result<(), StoreError>) {
        let _ = self.0.send(outcome);
    }

    fn name(&self) -> &str {
        "refuses"
    }
}

pub fn rejection_by_a_function_rolls_back_and_is_not_a_store_failure(engine: &Factory) {
    let store = TestStore::new(engine, &tables());
    let (answer, answered) = mpsc::channel();
    assert!(store.write(Box::new(Refuses(answer))).is_ok());
    assert!(matches!(answered.recv_timeout(Duration::from_secs(60)).unwrap(), Ok(())));
    assert_eq!(store.read(|db| balance(db, "refused")), None);
}

pub fn partly_undone_writes_are_published_and_stored_once(engine: &Factory) {
    for (reads_first, inserts_outside) in [(false, false), (false, true), (true, false), (true, true)] {
        let store = TestStore::new(engine, &tables());
        store.mutate(|db| open(db, "taken", 1)).unwrap();
        let (ids, reads) = (store.ids.clone(), reads());
        let runs = std::sync::Arc::new(AtomicI64::new(0));
        let counted = runs.clone();
        let written = start(&store, move |writer: Rc<Transaction>| {
            counted.fetch_add(1, Relaxed);
            let mut db = DbMut::new(writer.clone(), reads, ids.clone(), Millis(1_000));
            let account = db.query(ByOwner).eq("taken").unique()?.unwrap();
            db.patch(account.id(), |account| account.balance += 1)?;
            if inserts_outside {
                open(&mut db, "beside", 1)?;
            }
            writer.savepoint()?;
            if reads_first {
                balance(&db, "beside");
            }
            let inserted = open(&mut db, "taken", 5);
            writer.rollback()?;
            Ok(matches!(inserted, Err(StoreError::UniqueViolation { .. })))
        });
        assert!(written.wait().unwrap(), "the insertion that was undone had met another row");
        let beside = inserts_outside.then_some(1);
        let stored = store.read(|db| (balance(db, "taken"), balance(db, "beside")));
        assert_eq!(stored, (Some(2), beside), "reads first: {reads_first}, after {} runs", runs.load(Relaxed));
    }
}
