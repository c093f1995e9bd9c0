//! One writer and its batches: what is run again, what waits, what is cut.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use convoke_sqlite::Sqlite;
use convoke_store::conformance::support::{
    Account, ByOwner, Pending, TestStore, balance, db, open, start, start_named, together,
};
use convoke_store::table::Bytes;
use convoke_store::{
    Access, Db, DbMut, Flow, Id, LatencyClass, Reader, State, Store, StoreError, Table as _, Transaction, Value,
};

use super::{Blob, blob, made, sqlite, tables};

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
fn mutation_that_ignores_a_full_disk_rolls_back_alone() {
    let store = TestStore::with(&made(Sqlite { pages_max: Some(60), ..Sqlite::default() }), &tables(), |_| {});
    let answer = between_neighbours(&store, |db| {
        open(db, "bad", 1)?;
        while blob(db, 10_000).is_ok() {}
        // Whatever it goes on to do stays without effect.
        let _ = open(db, "bad", 2);
        Ok(())
    });
    assert!(matches!(answer, Err(StoreError::NoRoom(_))), "{answer:?}");
    assert_eq!(store.read(|db| db.scan::<Blob>().count().unwrap()), 0);
    assert_eq!(store.state(), State::Open);
}

#[test]
fn aborted_batch_is_rerun_one_by_one() {
    let store = TestStore::with(&made(Sqlite { pages_max: Some(60), ..Sqlite::default() }), &tables(), |_| {});
    // One value larger than all free pages: no statement journal saves the transaction then.
    let answer = between_neighbours(&store, |db| {
        open(db, "bad", 1)?;
        let _ = blob(db, 1_000_000);
        Ok(())
    });
    assert!(matches!(answer, Err(StoreError::NoRoom(_))), "{answer:?}");
    assert_eq!(store.stats().replays, 1);
}

#[test]
fn oversized_mutation_of_a_batch_fails_alone() {
    let store = TestStore::with(&made(Sqlite { pages_max: Some(60), ..Sqlite::default() }), &tables(), |_| {});
    let [before, bad, after] = [(); 3].map(|()| store.mutate(|db| blob(db, 10)).unwrap());
    let fill = |id: Id<Blob>, bytes: usize| {
        store.start(move |db: &mut DbMut| db.patch(id, |blob| blob.bytes = Bytes(vec![1; bytes])).map(drop))
    };
    let (before, bad, after) = together(&store, || (fill(before, 11), fill(bad, 100_000), fill(after, 12)));
    before.wait().unwrap();
    after.wait().unwrap();
    let answer = bad.wait();
    assert!(matches!(answer, Err(StoreError::NoRoom(_))), "{answer:?}");
    assert_eq!(store.stats().replays, 1);
    let sizes = |db: &Db| db.scan::<Blob>().take(9).unwrap().iter().map(|blob| blob.bytes.0.len()).collect::<Vec<_>>();
    assert_eq!(store.read(sizes), [11, 10, 12]);
    assert_eq!(store.state(), State::Open);
}

#[test]
fn rejected_mutation_leaves_no_row() {
    let store = TestStore::new(&sqlite(), &tables());
    let refused = store.mutate(|db| {
        let id = blob(db, 1)?;
        db.patch(id, |blob| blob.bytes.0.push(1))?;
        db.patch(id, |blob| blob.bytes.0.push(2))?;
        // It is not yet known outside.
        Err::<(), _>(StoreError::Engine(id.to_string()))
    });
    let Err(StoreError::Engine(id)) = refused else { panic!("{refused:?}") };
    let id: Id<Blob> = id.parse().unwrap();
    assert!(store.mutate(move |db| db.get(id)).unwrap().is_none());
}

#[test]
fn endless_mutation_is_interrupted_on_cached_rows() {
    let store = TestStore::with(&sqlite(), &tables(), |limits| limits.mutation_timeout = Duration::from_secs(2));
    let id = store.mutate(|db| blob(db, 1)).unwrap();
    let endless = store.mutate(move |db| -> Result<(), StoreError> {
        loop {
            db.patch(id, |blob| blob.bytes.0[0] = blob.bytes.0[0].wrapping_add(1))?;
        }
    });
    assert!(matches!(endless, Err(StoreError::Deadline { .. })), "{endless:?}");
    assert_eq!(store.mutate(move |db| db.get(id)).unwrap().unwrap().bytes.0, [7]);
}

#[test]
fn row_has_the_last_successful_write_of_a_batch() {
    let store = TestStore::new(&sqlite(), &tables());
    let id = store.mutate(|db| blob(db, 0)).unwrap();
    let longer = |refuses: bool| {
        store.start(move |db: &mut DbMut| {
            let blob = db.patch(id, |blob| blob.bytes.0.push(7))?;
            if refuses { Err(StoreError::BadCursor) } else { Ok(blob.bytes.0.len()) }
        })
    };
    for _ in 0..2 {
        let lengths: Vec<_> = together(&store, || (0..20).map(|number| longer(number % 3 == 1)).collect());
        lengths.into_iter().for_each(|length| drop(length.wait()));
    }
    assert_eq!(store.read(|db| db.get(id).unwrap().unwrap().bytes.0.len()), 2 * 13);
}

#[test]
fn only_reading_statements_are_interrupted_at_the_deadline() {
    // Each other mutation here needs far less, also on a busy machine.
    const LIMIT: Duration = Duration::from_secs(3);
    let store = TestStore::with(&sqlite(), &tables(), |limits| limits.mutation_timeout = LIMIT);
    for part in 0..40 {
        store.mutate(move |db| (0..250).try_for_each(|n| open(db, &format!("{part} {n}"), 1).map(|_| ()))).unwrap();
    }
    let read = between_neighbours(&store, |db| {
        open(db, "bad", 1)?;
        // One statement after another; the first one past the deadline is cut.
        while db.scan::<Account>().count().is_ok() {}
        Ok(())
    });
    assert!(matches!(read, Err(StoreError::Deadline { .. })), "{read:?}");
    store
        .mutate(|db| {
            db.query(ByOwner)
                .any(["before", "after"])
                .take(9)?
                .into_iter()
                .try_for_each(|row| db.delete(row.id()).map(|_| ()))
        })
        .unwrap();
    let written = between_neighbours(&store, |db| {
        open(db, "bad", 1)?;
        // The large write begins just before the deadline and ends after it.
        std::thread::sleep(LIMIT - Duration::from_millis(40));
        blob(db, 200_000_000)?;
        let late = open(db, "late", 1);
        assert!(matches!(late, Err(StoreError::Deadline { .. })), "{late:?}");
        Ok(())
    });
    assert!(matches!(written, Err(StoreError::Deadline { .. })), "{written:?}");
    assert_eq!(store.stats().replays, 0);
}

#[test]
fn transaction_is_unusable_after_its_function() {
    let store = TestStore::new(&sqlite(), &tables());
    thread_local!(static KEPT: RefCell<Option<Rc<Transaction>>> = const { RefCell::new(None) });
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
fn full_mutation_queue_rejects_immediately() {
    let store = TestStore::with(&sqlite(), &tables(), |limits| limits.writer_queue_max = 3);
    let (waiting, refused) = together(&store, || {
        let waiting: Vec<Pending<_>> = (0..3).map(|n| store.start(move |db| open(db, &n.to_string(), 1))).collect();
        (waiting, store.mutate(|db| open(db, "refused", 1)))
    });
    assert!(matches!(refused, Err(StoreError::QueueFull("writer"))));
    waiting.into_iter().for_each(|pending| assert!(pending.wait().is_ok()));
}

#[tokio::test(flavor = "multi_thread")]
async fn full_query_queue_rejects_immediately() {
    let store = TestStore::with(&sqlite(), &tables(), |limits| {
        limits.readers = 1;
        limits.reader_queue_max = 1;
    });
    let (opened, mut is_open) = tokio::sync::mpsc::channel(1);
    let (leave, may_leave) = mpsc::channel::<()>();
    let read = |read: Box<dyn Fn() + Send>| {
        let store = store.store.clone();
        tokio::spawn(async move {
            store.read(Access::Everyone, Flow::SYSTEM, &LatencyClass::unknown(), move |_| read()).await
        })
    };
    let first = read(Box::new(move || {
        opened.blocking_send(()).unwrap();
        may_leave.recv().unwrap_err();
    }));
    is_open.recv().await.unwrap();
    let second = read(Box::new(|| {}));
    while store.stats().reader_queue == 0 {
        tokio::task::yield_now().await;
    }
    let third = read(Box::new(|| {})).await.unwrap();
    assert!(matches!(third, Err(StoreError::QueueFull("reader"))));
    drop(leave);
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    assert_eq!((store.stats().reader_queue, store.stats().readers_busy), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn short_query_runs_on_the_calling_thread() {
    let store = TestStore::new(&sqlite(), &[Account::DEF]);
    let pace = LatencyClass::unknown();
    let here = std::thread::current().id();
    let thread = |_: Rc<dyn Reader>| std::thread::current().id();
    assert_ne!(store.store.read(Access::Everyone, Flow::SYSTEM, &pace, thread).await.unwrap(), here);
    pace.record(Duration::from_micros(1), None);
    while !pace.is_quick() {
        pace.record(Duration::from_micros(1), None);
    }
    assert_eq!(store.store.read(Access::Everyone, Flow::SYSTEM, &pace, thread).await.unwrap(), here);
}

#[test]
fn slow_mutation_gets_a_separate_commit() {
    let store = TestStore::new(&sqlite(), &tables());
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
fn stuck_mutation_is_named_and_the_store_is_not_ready() {
    let store = TestStore::with(&sqlite(), &tables(), |limits| limits.mutation_timeout = Duration::from_millis(20));
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
fn concurrent_mutations_share_commits_and_run_once() {
    let store = TestStore::new(&sqlite(), &tables());
    let before = store.stats();
    let pending =
        together(&store, || (0..20).map(|n| store.start(move |db| open(db, &n.to_string(), 1))).collect::<Vec<_>>());
    pending.into_iter().for_each(|pending| assert!(pending.wait().is_ok()));
    let after = store.stats();
    assert_eq!((after.batched - before.batched, after.replays), (21, 0));
    assert!(after.batch_largest > 1 && after.batches - before.batches < 21, "nothing was batched: {after:?}");
}
