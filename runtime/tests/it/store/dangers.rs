//! What happens to the others when one mutation or reader goes wrong.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Barrier, mpsc};
use std::time::Duration;

use convoke::Id;
use convoke::store::table::{Bytes, decode_field};
use convoke::store::{
    Access, Column, DbMut, FunctionPace, Plan, Row, State, Store, StoreError, Table, TableDef, Value,
};

use super::support::{Account, Pending, TestStore, balance, db, field, open, start, start_named, together};

/// Something of any size.
#[derive(Clone, Debug, serde::Serialize)]
struct Blob {
    bytes: Bytes,
}

impl Table for Blob {
    const NAME: &'static str = "blobs";
    const PREFIX: &'static str = "blob";
    const DEF: &'static TableDef = &TableDef {
        name: "blobs",
        prefix: "blob",
        fields: &[field::<Bytes>("bytes")],
        indexes: &[],
        file: file!(),
        line: line!(),
    };

    fn encode(&self) -> Vec<Value> {
        vec![self.bytes.to_value()]
    }

    fn decode(row: &dyn Row) -> Result<Self, StoreError> {
        Ok(Self { bytes: decode_field(row, Self::DEF, 0)? })
    }
}

fn blob(db: &mut DbMut, size: usize) -> Result<Id<Blob>, StoreError> {
    db.insert(Blob { bytes: Bytes(vec![7; size]) })
}

fn tables() -> Vec<&'static TableDef> {
    vec![Account::DEF, Blob::DEF]
}

/// Three mutations in one batch, the middle one `bad`; the others must be stored.
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

#[test]
fn a_mutation_that_swallows_a_full_disk_is_not_stored_and_its_neighbours_are() {
    let store = TestStore::with(&tables(), |options| options.pages_max = Some(60), |_| {});
    let answer = between_neighbours(&store, |db| {
        open(db, "bad", 1)?;
        while blob(db, 10_000).is_ok() {}
        // Whatever it goes on to do stays without effect.
        let _ = open(db, "bad", 2);
        Ok(())
    });
    assert!(matches!(answer, Err(StoreError::TransactionLost(_))), "{answer:?}");
    assert_eq!(store.read(|db| db.scan::<Blob>().count().unwrap()), 0);
    assert_eq!(store.state(), State::Open);
}

#[test]
fn a_transaction_that_sqlite_gives_up_is_run_again_one_by_one() {
    let store = TestStore::with(&tables(), |options| options.pages_max = Some(60), |_| {});
    // One value larger than all free pages: no statement journal saves the transaction then.
    let answer = between_neighbours(&store, |db| {
        open(db, "bad", 1)?;
        let _ = blob(db, 1_000_000);
        Ok(())
    });
    assert!(matches!(answer, Err(StoreError::TransactionLost(_))), "{answer:?}");
    assert_eq!(store.figures().replays, 1);
}

#[test]
fn a_panic_in_a_batch_rolls_back_alone_and_says_what_it_was() {
    let store = TestStore::new(&tables());
    let answer = between_neighbours(&store, |db| {
        open(db, "bad", 1)?;
        if balance(db, "bad") == Some(1) {
            panic!("on purpose: {}", 7);
        }
        Ok(())
    });
    assert!(matches!(answer, Err(StoreError::Panicked(ref said)) if said == "on purpose: 7"), "{answer:?}");
}

#[test]
fn a_mutation_past_its_deadline_rolls_back_alone_whatever_it_returns() {
    let store = TestStore::with(&tables(), |_| {}, |limits| limits.mutation_timeout = Duration::from_millis(30));
    let answer = between_neighbours(&store, |db| {
        open(db, "bad", 1)?;
        std::thread::sleep(Duration::from_millis(60));
        assert!(matches!(open(db, "worse", 1), Err(StoreError::Deadline { limit_ms: 30 })));
        assert!(matches!(db.scan::<Account>().count(), Err(StoreError::Deadline { .. })));
        Ok(())
    });
    assert!(matches!(answer, Err(StoreError::Deadline { limit_ms: 30 })), "{answer:?}");
}

#[test]
fn a_reading_statement_is_cut_at_the_deadline_and_a_writing_one_never() {
    let store = TestStore::with(&tables(), |_| {}, |limits| limits.mutation_timeout = Duration::from_millis(40));
    for part in 0..40 {
        store.mutate(move |db| (0..250).try_for_each(|n| open(db, &format!("{part} {n}"), 1).map(|_| ()))).unwrap();
    }
    let read = between_neighbours(&store, |db| {
        open(db, "bad", 1)?;
        // Far more steps than 40 ms allow, in one statement after another; the first one past the deadline is cut.
        while db.scan::<Account>().count().is_ok() {}
        Ok(())
    });
    assert!(matches!(read, Err(StoreError::Deadline { .. })), "{read:?}");
    store
        .mutate(|db| {
            db.query(super::support::ByOwner)
                .any(["before", "after"])
                .take(9)?
                .into_iter()
                .try_for_each(|row| db.delete(row.id()).map(|_| ()))
        })
        .unwrap();
    let written = between_neighbours(&store, |db| {
        open(db, "bad", 1)?;
        blob(db, 200_000_000)?;
        let late = open(db, "late", 1);
        assert!(matches!(late, Err(StoreError::Deadline { .. })), "{late:?}");
        Ok(())
    });
    assert!(matches!(written, Err(StoreError::Deadline { .. })), "{written:?}");
    assert_eq!(store.figures().replays, 0);
}

#[test]
fn a_transaction_that_is_kept_beyond_its_function_does_nothing_more() {
    let store = TestStore::new(&tables());
    thread_local!(static KEPT: std::cell::RefCell<Option<std::rc::Rc<dyn convoke::store::Transaction>>> = const { std::cell::RefCell::new(None) });
    start(&store, |transaction| {
        KEPT.set(Some(transaction));
        Ok(())
    })
    .wait()
    .unwrap();
    let late = start(&store, |_| {
        let kept = KEPT.take().expect("both run on the writer's thread");
        Ok(kept.insert(Account::DEF, 1, 1, &[Value::Text("late".into()), Value::Integer(1)]).is_err())
    });
    assert!(late.wait().unwrap());
    assert_eq!(store.read(|db| balance(db, "late")), None);
}

#[test]
fn a_reader_that_stays_open_is_stopped_before_the_log_outgrows_its_bound() {
    const BOUND: u64 = 2 << 20;
    let store = TestStore::with(
        &tables(),
        |options| options.checkpoint_bytes = 256 << 10,
        |limits| limits.wal_bytes_interrupt = BOUND,
    );
    store.mutate(|db| open(db, "ada", 1)).unwrap();
    let log = store.folder.path().join("convoke.db-wal");
    std::thread::scope(|scope| {
        let (opened, is_open) = mpsc::channel();
        let reader = scope.spawn(|| {
            let opened = opened;
            store.read(|db| {
                loop {
                    match db.scan::<Account>().count() {
                        Ok(_) => opened.send(()).unwrap_or_default(),
                        Err(error) => return error,
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            })
        });
        is_open.recv().unwrap();
        drop(is_open);
        for _ in 0..200 {
            store.mutate(|db| blob(db, 100_000)).unwrap();
            assert!(std::fs::metadata(&log).unwrap().len() < 4 * BOUND);
        }
        assert!(matches!(reader.join().unwrap(), StoreError::Interrupted));
    });
    assert!(store.figures().readers_stopped >= 1);
    // 20 MB were written and nobody reads: the log is within its bound again.
    assert!(store.figures().wal_bytes <= BOUND);
}

#[test]
fn snapshots_that_nobody_uses_do_not_keep_the_log_from_starting_anew() {
    const READERS: usize = 3;
    const CHECKPOINT: u64 = 256 << 10;
    let store =
        TestStore::with(&tables(), |options| options.checkpoint_bytes = CHECKPOINT, |limits| limits.readers = READERS);
    store.mutate(|db| open(db, "ada", 1)).unwrap();
    // Each reader has a snapshot of this moment, and is idle then.
    let together = Barrier::new(READERS);
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                store.read(|db| {
                    assert_eq!(db.scan::<Account>().count().unwrap(), 1);
                    together.wait();
                });
            });
        }
    });
    let log = store.folder.path().join("convoke.db-wal");
    for _ in 0..100 {
        store.mutate(|db| blob(db, 100_000)).unwrap();
        assert!(std::fs::metadata(&log).unwrap().len() < 4 * CHECKPOINT, "{:?}", store.figures());
    }
    assert_eq!(store.figures().readers_stopped, 0);
}

#[test]
fn a_query_sees_every_mutation_that_was_answered_before_it() {
    let store = TestStore::with(&tables(), |_| {}, |limits| limits.readers = 2);
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

#[test]
fn a_reader_that_cannot_be_stopped_makes_writes_wait_outside_until_it_returns() {
    let store = TestStore::with(
        &tables(),
        |options| options.checkpoint_bytes = 128 << 10,
        |limits| {
            limits.wal_bytes_interrupt = 512 << 10;
            limits.wal_bytes_max = 1 << 20;
        },
    );
    store.mutate(|db| open(db, "ada", 1)).unwrap();
    std::thread::scope(|scope| {
        let (opened, is_open) = mpsc::channel();
        let (leave, may_leave) = mpsc::channel::<()>();
        scope.spawn(|| {
            let (opened, may_leave) = (opened, may_leave);
            store.read(|db| {
                db.scan::<Account>().count().unwrap();
                opened.send(()).unwrap();
                may_leave.recv().unwrap_err();
            });
        });
        is_open.recv().unwrap();
        let refused = (0..100).find_map(|_| store.mutate(|db| blob(db, 100_000)).err());
        assert!(matches!(refused, Some(StoreError::QueueFull("writer"))), "{refused:?}");
        drop(leave);
    });
    for _ in 0..100 {
        if store.mutate(|db| blob(db, 1)).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("writes stayed refused: {:?}", store.figures());
}

#[test]
fn a_query_past_its_deadline_is_cut() {
    let store = TestStore::with(&tables(), |_| {}, |limits| limits.query_timeout = Duration::from_millis(30));
    store.mutate(|db| (0..2_000).try_for_each(|n| open(db, &n.to_string(), 1).map(|_| ()))).unwrap();
    let read = store.store.read_blocking(Access::Everyone, |transaction| {
        let db = db(transaction);
        loop {
            if let Err(error) = db.scan::<Account>().count() {
                assert!(matches!(error, StoreError::Deadline { limit_ms: 30 }), "{error:?}");
                break;
            }
        }
    });
    // Whatever the function makes of it.
    assert!(matches!(read, Err(StoreError::Deadline { limit_ms: 30 })), "{read:?}");
    assert_eq!(store.read(|db| db.scan::<Account>().count().unwrap()), 2_000);
}

#[test]
fn what_no_engine_stores_is_refused_by_name_and_the_mutation_may_go_on() {
    static TABLE: TableDef = TableDef {
        name: "things",
        prefix: "thing",
        fields: &[field::<String>("label"), field::<f64>("score")],
        indexes: &[],
        file: file!(),
        line: line!(),
    };
    let store = TestStore::new(&[&TABLE]);
    let row = |label: &str, score| [Value::Text(label.to_owned()), Value::Float(score)];
    start(&store, move |transaction| {
        let error = transaction.insert(&TABLE, 1, 1, &row("a\0b", 1.0)).unwrap_err();
        assert_eq!(error.to_string(), "things.label must not contain U+0000");
        assert_eq!(convoke::Error::from(error).field(), Some("label"));
        let error = transaction.insert(&TABLE, 1, 1, &row("a", f64::NAN)).unwrap_err();
        assert_eq!(error.to_string(), "things.score must be a number");
        transaction.insert(&TABLE, 1, 1, &row("a", f64::INFINITY))?;
        assert!(transaction.update(&TABLE, 1, &[(0, Value::Text("\0".into()))]).is_err());
        Ok(())
    })
    .wait()
    .unwrap();
    assert_eq!(store.read(|db| db.transaction().count(&Plan::new(&TABLE, None)).unwrap()), 1);
}

#[test]
fn more_mutations_than_may_wait_are_refused_at_once() {
    let store = TestStore::with(&tables(), |_| {}, |limits| limits.writer_queue_max = 3);
    let (waiting, refused) = together(&store, || {
        let waiting: Vec<Pending<_>> = (0..3).map(|n| store.start(move |db| open(db, &n.to_string(), 1))).collect();
        (waiting, store.mutate(|db| open(db, "refused", 1)))
    });
    assert!(matches!(refused, Err(StoreError::QueueFull("writer"))));
    waiting.into_iter().for_each(|pending| assert!(pending.wait().is_ok()));
}

#[tokio::test(flavor = "multi_thread")]
async fn more_queries_than_may_wait_are_refused_at_once() {
    let store = TestStore::with(
        &tables(),
        |_| {},
        |limits| {
            limits.readers = 1;
            limits.reader_queue_max = 1;
        },
    );
    let (opened, mut is_open) = tokio::sync::mpsc::channel(1);
    let (leave, may_leave) = mpsc::channel::<()>();
    let read = |read: Box<dyn FnOnce() + Send>| {
        let store = store.store.clone();
        tokio::spawn(async move { store.read(Access::Everyone, &FunctionPace::unknown(), move |_| read()).await })
    };
    let first = read(Box::new(move || {
        opened.blocking_send(()).unwrap();
        may_leave.recv().unwrap_err();
    }));
    is_open.recv().await.unwrap();
    let second = read(Box::new(|| {}));
    while store.figures().reader_queue == 0 {
        tokio::task::yield_now().await;
    }
    let third = read(Box::new(|| {})).await.unwrap();
    assert!(matches!(third, Err(StoreError::QueueFull("reader"))));
    drop(leave);
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    assert_eq!((store.figures().reader_queue, store.figures().readers_busy), (0, 0));
}

#[test]
fn the_batch_is_committed_before_a_slow_mutation_and_after_it() {
    let store = TestStore::new(&tables());
    let seen = |store: &Store| {
        let store = store.clone();
        move |_| {
            let quick = store.read_blocking(Access::Everyone, |transaction| balance(&db(transaction), "quick"))?;
            Ok(quick.is_some())
        }
    };
    let (quick, slow) =
        together(&store, || (store.start(|db| open(db, "quick", 1)), start_named(&store, "slow", true, seen(&store))));
    quick.wait().unwrap();
    assert!(slow.wait().unwrap(), "the quick one was not committed when the slow one ran");
}

#[test]
fn a_mutation_that_does_not_return_is_named_and_the_store_says_it_is_not_ready() {
    let store = TestStore::with(&tables(), |_| {}, |limits| limits.mutation_timeout = Duration::from_millis(20));
    let (leave, may_leave) = mpsc::channel::<()>();
    let stuck = start_named(&store, "meetings/forever", false, move |_| {
        may_leave.recv().unwrap_err();
        Ok(())
    });
    let reason = loop {
        if let Err(reason) = store.ready() {
            break reason;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(reason.starts_with("the mutation meetings/forever has been running for "), "{reason}");
    drop(leave);
    // Too late is too late, also for one that asked nothing of the store since.
    assert!(matches!(stuck.wait(), Err(StoreError::Deadline { .. })));
    store.ready().unwrap();
}

#[test]
fn at_least_one_host_stays_when_both_leave_at_once() {
    for _ in 0..20 {
        let store = TestStore::new(&tables());
        store.mutate(|db| ["ada", "bob"].into_iter().try_for_each(|host| open(db, host, 1).map(|_| ()))).unwrap();
        std::thread::scope(|scope| {
            for host in ["ada", "bob"] {
                let store = &store;
                scope.spawn(move || {
                    store.mutate(move |db| {
                        if db.query(super::support::ByBalance).eq(1).count()? < 2 {
                            return Ok(());
                        }
                        let row = db.query(super::support::ByOwner).eq(host).unique()?.unwrap();
                        db.patch(row.id(), |account| account.balance = 0).map(|_| ())
                    })
                });
            }
        });
        assert_eq!(store.read(|db| db.query(super::support::ByBalance).eq(1).count().unwrap()), 1);
    }
}

#[test]
fn of_many_first_insertions_one_wins() {
    let store = TestStore::new(&tables());
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
