//! Acknowledged writes exist: after a restart, in a copy, and in a database that was built offline.

use convoke_core::clock::Millis;
use convoke_core::id::IdGenerator;
use convoke_core::limits::Limits;

use super::support::{Account, Factory, TestStore, balance, clock, db, open, open_with, start};
use crate::offline::count;
use crate::{Access, Db, DbMut, OpenError, State, StoreError, Table, Thoroughness, Value};

pub fn acknowledged_writes_survive_a_reopen(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    let kept = store.mutate(|db| open(db, "kept", 1)).unwrap();
    let gone = store.mutate(|db| open(db, "gone", 2)).unwrap();
    store.mutate(move |db| db.delete(gone)).unwrap();
    store.mutate(move |db| db.patch(kept, |account| account.balance = 3)).unwrap();
    let refused = store.mutate(|db| {
        open(db, "refused", 4)?;
        Err::<(), _>(StoreError::BadCursor)
    });
    assert!(refused.is_err());
    let store = store.reopened(&[Account::DEF]);
    store.read(|db| {
        let stored = db.get(kept).unwrap().unwrap();
        assert_eq!((stored.creation_time(), stored.balance), (Millis(1_000), 3));
        assert_eq!((balance(db, "gone"), balance(db, "refused")), (None, None));
        assert_eq!(db.scan::<Account>().count().unwrap(), 1);
    });
    // Its indexes are there too.
    let again = store.mutate(|db| open(db, "kept", 5));
    assert!(matches!(again, Err(StoreError::UniqueViolation { index: "by_owner", .. })), "{again:?}");
}

pub fn ids_continue_after_the_greatest_stored_id(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    let far = IdGenerator::after(0).next(Millis(Millis::MAX.0 / 100));
    start(&store, move |transaction| {
        transaction.insert(Account::DEF, far, 1, &[Value::Text("far".to_owned()), Value::Integer(1)])
    })
    .wait()
    .unwrap();
    let store = store.reopened(&[Account::DEF]);
    assert_eq!(store.greatest_id(), far);
    let id = store.mutate(|db| open(db, "next", 1)).unwrap();
    assert!(id.bits() > far);
}

pub fn close_completes_queued_calls_and_rejects_new_ones(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    let pending: Vec<_> = (0..100).map(|n| store.start(move |db| open(db, &n.to_string(), 1))).collect();
    store.close();
    pending.into_iter().for_each(|pending| assert!(pending.wait().is_ok()));
    assert!(matches!(store.mutate(|db| open(db, "late", 1)), Err(StoreError::Closed(_))));
    assert!(matches!(store.store.read_blocking(Access::Everyone, |_| ()), Err(StoreError::Closed(_))));
    assert_eq!(store.state(), State::Closed { reason: "it is shutting down".to_owned() });
    let store = store.reopened(&[Account::DEF]);
    assert_eq!(store.read(|db| db.scan::<Account>().count().unwrap()), 100);
}

pub fn served_installation_rejects_offline_work(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    let refused = engine.lock(store.folder.path(), clock()).err();
    assert!(matches!(refused, Some(OpenError::Locked { .. })), "{refused:?}");
    let TestStore { store, folder, .. } = store;
    store.close();
    drop(store);
    engine.lock(folder.path(), clock()).unwrap();
}

/// Every account has a partner with the opposite balance, so that a copy torn between two commits is detected.
fn pair(n: i64) -> impl Fn(&mut DbMut) -> Result<(), StoreError> + Send + 'static {
    move |db| {
        open(db, &format!("{n} gives"), -n)?;
        open(db, &format!("{n} takes"), n).map(drop)
    }
}

pub fn copy_is_a_snapshot_of_one_commit_during_writes(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    (1..=100).for_each(|n| store.mutate(pair(n)).unwrap());
    let copy = store.snapshot(|_| {}).unwrap();
    (101..=200).for_each(|n| store.mutate(pair(n)).unwrap());
    let torn = std::thread::scope(|scope| {
        let writing = scope.spawn(|| (201..=400).for_each(|n| store.mutate(pair(n)).unwrap()));
        let torn = store.snapshot(|_| {}).unwrap();
        let sums = sums(&*torn);
        writing.join().unwrap();
        sums
    });
    assert_eq!((torn.0, torn.1 % 2), (0, 0), "{torn:?}");
    assert!(torn.1 >= 400, "{torn:?}");
    assert_eq!(sums(&*copy), (0, 200));
    assert_eq!(copy.check(Thoroughness::Full).unwrap(), Vec::<String>::new());
    assert_eq!(store.read(|db| db.scan::<Account>().count().unwrap()), 800);
}

/// Returns the sum of all balances and their number.
fn sums(copy: &dyn crate::OfflineDatabase) -> (i64, u64) {
    let mut sum = 0;
    let visit = &mut |row: &dyn crate::Row| {
        if let Value::Integer(balance) = row.value(1)?.to_value() {
            sum += balance;
        }
        Ok(std::ops::ControlFlow::Continue(()))
    };
    copy.reader().select(&crate::offline::everything(Account::DEF), visit).unwrap();
    (sum, count(copy.reader(), Account::DEF).unwrap())
}

pub fn built_database_replaces_the_former_one(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    store.mutate(|db| open(db, "former", 1)).unwrap();
    let TestStore { store, folder, .. } = store;
    store.close();
    drop(store);
    let row = |owner: &str| [Value::Text(owner.to_owned()), Value::Integer(7)];
    let installation = engine.lock(folder.path(), clock()).unwrap();
    let former = installation.database().unwrap().expect("it has a row");
    assert_eq!(count(former.reader(), Account::DEF).unwrap(), 1);
    drop(former);
    // An abandoned build changes nothing.
    let given_up = installation.build(&[Account::DEF]).unwrap();
    given_up.insert(Account::DEF, 1, 1, &row("given up")).unwrap();
    drop(given_up);
    let builder = installation.build(&[Account::DEF]).unwrap();
    builder.insert(Account::DEF, 8, 9, &row("new")).unwrap();
    let twice = builder.insert(Account::DEF, 8, 9, &row("other"));
    assert!(matches!(twice, Err(StoreError::UniqueViolation { index: "_id", .. })), "{twice:?}");
    let taken = builder.insert(Account::DEF, 10, 9, &row("new"));
    assert!(matches!(taken, Err(StoreError::UniqueViolation { index: "by_owner", .. })), "{taken:?}");
    builder.finish(&[(Account::DEF, 1)]).unwrap();
    assert!(installation.replace().unwrap().is_some(), "the former one is kept");
    drop(installation);
    let store = open_with(engine, folder.path(), &Limits::default(), &[Account::DEF]).unwrap();
    assert_eq!(store.greatest_id(), 8);
    let read =
        |read: fn(&Db) -> Option<i64>| store.read_blocking(Access::Everyone, |reader| read(&db(reader))).unwrap();
    assert_eq!(read(|db| balance(db, "new")), Some(7));
    assert_eq!(read(|db| balance(db, "former")), None);
}

pub fn built_database_with_a_wrong_row_count_is_rejected(engine: &Factory) {
    let folder = tempfile::tempdir().unwrap();
    let installation = engine.lock(folder.path(), clock()).unwrap();
    let builder = installation.build(&[Account::DEF]).unwrap();
    let refused = builder.finish(&[(Account::DEF, 1)]).unwrap_err().to_string();
    assert!(refused.ends_with("accounts has 0 rows, not 1"), "{refused}");
}
