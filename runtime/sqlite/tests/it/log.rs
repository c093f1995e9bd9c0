//! The write-ahead log: it stays small, also while others read.

use std::sync::{Barrier, mpsc};
use std::time::Duration;

use convoke_sqlite::Sqlite;
use convoke_store::conformance::support::{Account, TestStore, open};
use convoke_store::{StoreError, Table};

use super::{blob, made, own, sqlite, tables};

#[test]
fn checkpoint_runs_when_writes_stop() {
    let store = TestStore::new(&sqlite(), &[Account::DEF]);
    // The opening has a checkpoint of its own.
    for number in 0..3 {
        let is_copied_back = (0..6_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            own(&store, "checkpoints_total") > number && own(&store, "wal_bytes") == 0
        });
        assert!(is_copied_back, "after {number} mutations: {:?}", store.stats());
        assert_eq!(own(&store, "checkpoints_total"), number + 1, "none without a write");
        store.mutate(move |db| open(db, &format!("ada {number}"), 1)).unwrap();
    }
}

#[test]
fn long_reader_is_interrupted_before_the_log_exceeds_its_limit() {
    const BOUND: u64 = 2 << 20;
    let store =
        TestStore::with(&made(Sqlite { checkpoint_bytes: 256 << 10, ..Sqlite::default() }), &tables(), |limits| {
            limits.wal_bytes_interrupt = BOUND
        });
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
    assert!(own(&store, "readers_stopped_total") >= 1);
    // 20 MB were written and no one reads: the log is within its bound again.
    assert!(own(&store, "wal_bytes") <= BOUND);
}

#[test]
fn single_large_transaction_interrupts_no_reader() {
    const BOUND: u64 = 1 << 20;
    let store =
        TestStore::with(&made(Sqlite { checkpoint_bytes: 256 << 10, ..Sqlite::default() }), &tables(), |limits| {
            limits.wal_bytes_interrupt = BOUND
        });
    store.mutate(|db| open(db, "ada", 1)).unwrap();
    std::thread::scope(|scope| {
        let (opened, is_open) = mpsc::channel();
        let (leave, may_leave) = mpsc::channel::<()>();
        let reader = scope.spawn(|| {
            let (opened, may_leave) = (opened, may_leave);
            store.read(|db| {
                db.scan::<Account>().count().unwrap();
                opened.send(()).unwrap();
                may_leave.recv().unwrap_err();
                db.scan::<Account>().count()
            })
        });
        is_open.recv().unwrap();
        store.mutate(|db| (0..60).try_for_each(|_| blob(db, 100_000).map(|_| ()))).unwrap();
        // The mutation is answered first, and the log is looked at then.
        let looked_at = (0..6_000).find(|_| {
            std::thread::sleep(Duration::from_millis(10));
            own(&store, "wal_bytes") > BOUND
        });
        assert!(looked_at.is_some(), "{:?}", store.stats());
        // What is written behind it counts, and is less than the bound.
        for _ in 0..20 {
            store.mutate(|db| blob(db, 10_000)).unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(leave);
        assert_eq!(reader.join().unwrap().unwrap(), 1);
    });
    assert_eq!(own(&store, "readers_stopped_total"), 0);
}

#[test]
fn unused_snapshots_do_not_block_the_log_reset() {
    const READERS: usize = 3;
    const CHECKPOINT: u64 = 256 << 10;
    let store =
        TestStore::with(&made(Sqlite { checkpoint_bytes: CHECKPOINT, ..Sqlite::default() }), &tables(), |limits| {
            limits.readers = READERS
        });
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
        assert!(std::fs::metadata(&log).unwrap().len() < 4 * CHECKPOINT, "{:?}", store.stats());
    }
    assert_eq!(own(&store, "readers_stopped_total"), 0);
}

#[test]
fn writes_wait_for_an_uninterruptible_reader() {
    let store =
        TestStore::with(&made(Sqlite { checkpoint_bytes: 128 << 10, ..Sqlite::default() }), &tables(), |limits| {
            limits.wal_bytes_interrupt = 512 << 10;
            limits.wal_bytes_max = 1 << 20;
        });
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
    for _ in 0..1_200 {
        if store.mutate(|db| blob(db, 1)).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("writes stayed refused: {:?}", store.stats());
}
