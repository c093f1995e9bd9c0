//! The data folder over the store's life: made, locked, copied, closed, opened again.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use convoke_core::limits::Limits;
use convoke_store::conformance::support::{Account, ByOwner, TestStore, balance, db, open, open_with};
use convoke_store::{Db, OpenError, State, Store, StoreError, Table};

use super::sqlite;

fn open_in(folder: &Path) -> Result<Store, OpenError> {
    open_with(&sqlite(), folder, &Limits::default(), &[Account::DEF])
}

#[test]
fn folder_and_files_are_private_to_their_owner() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("a/b");
    let store = open_in(&folder).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    drop(store);
}

#[test]
fn oversized_key_of_an_older_release_is_served_and_replaceable() {
    let store = TestStore::new(&sqlite(), &[Account::DEF]);
    let id = store.mutate(|db| open(db, "ada", 1)).unwrap();
    store.close();
    let long = "a".repeat(2_001);
    let file = rusqlite::Connection::open(store.folder.path().join("convoke.db")).unwrap();
    assert_eq!(file.execute("UPDATE accounts SET owner = ?1", [&long]).unwrap(), 1);
    drop(file);
    let store = store.reopened(&[Account::DEF]);
    assert_eq!(store.read(|db| balance(db, &long)), Some(1));
    store.mutate(move |db| db.patch(id, |account| account.balance = 2)).unwrap();
    let longer = store.mutate(move |db| db.patch(id, |account| account.owner.push('a')));
    assert!(matches!(longer, Err(StoreError::Unstorable { field: "owner", .. })), "{longer:?}");
    store.mutate(move |db| db.patch(id, |account| account.owner.truncate(2_000))).unwrap();
    assert_eq!(store.read(|db| balance(db, &long[..2_000])), Some(2));
}

#[test]
fn renumbered_rows_are_found_by_id() {
    let store = TestStore::new(&sqlite(), &[Account::DEF]);
    let ids = store.mutate(|db| ["ada", "bob", "cy"].map(|owner| open(db, owner, 1)).into_iter().collect());
    let [ada, bob, cy] = <[_; 3]>::try_from(Result::<Vec<_>, StoreError>::unwrap(ids)).unwrap();
    store.mutate(move |db| db.delete(ada).map(drop)).unwrap();
    // The writer knows both now, with the numbers 2 and 3.
    store.mutate(move |db| [bob, cy].iter().try_for_each(|id| db.get(*id).map(drop))).unwrap();
    let file = rusqlite::Connection::open(store.folder.path().join("convoke.db")).unwrap();
    // Each gets the number that the other one had.
    let exchange = "UPDATE accounts SET rowid = -rowid; UPDATE accounts SET rowid = 5 + rowid";
    file.execute_batch(exchange).unwrap();
    drop(file);
    store.mutate(move |db| db.patch(bob, |account| account.balance = 20)).unwrap();
    store.mutate(move |db| db.patch(cy, |account| account.balance = 30)).unwrap();
    assert_eq!(["bob", "cy"].map(|owner| store.read(|db| balance(db, owner))), [Some(20), Some(30)]);
    store.mutate(move |db| db.patch(cy, |account| account.owner.push('n'))).unwrap();
    assert_eq!(store.read(|db| balance(db, "cyn")), Some(30));
}

#[test]
fn second_open_is_rejected_with_the_folder_name() {
    let store = TestStore::new(&sqlite(), &[Account::DEF]);
    let again = || open_in(store.folder.path());
    let error = again().err().unwrap();
    assert!(matches!(error, OpenError::Locked { .. }));
    let (folder, process) = (store.folder.path().display(), std::process::id());
    assert_eq!(error.to_string(), format!("the data folder {folder} is served by another process (id {process})"));
    let TestStore { store, folder, .. } = store;
    drop(store);
    open_in(folder.path()).unwrap();
}

#[test]
fn close_answers_queued_work_and_leaves_one_file() {
    let store = TestStore::new(&sqlite(), &[Account::DEF]);
    let pending: Vec<_> = (0..100).map(|n| store.start(move |db| open(db, &n.to_string(), 1))).collect();
    store.close();
    pending.into_iter().for_each(|pending| assert!(pending.wait().is_ok()));
    assert!(matches!(store.mutate(|db| open(db, "late", 1)), Err(StoreError::Closed(_))));
    assert_eq!(store.state(), State::Closed { reason: "it is shutting down".to_owned() });
    let log = std::fs::metadata(store.folder.path().join("convoke.db-wal"));
    assert!(log.map_or(0, |log| log.len()) == 0);
    let store = store.reopened(&[Account::DEF]);
    assert_eq!(store.read(|db| db.scan::<Account>().count().unwrap()), 100);
}

/// Every account has a partner of the opposite balance: a copy torn between two commits would show.
fn sum(db: &Db) -> (i64, u64) {
    let rows = db.scan::<Account>().take(1_000_000).unwrap();
    (rows.iter().map(|account| account.balance).sum(), rows.len() as u64)
}

#[test]
fn backup_under_load_is_one_snapshot() {
    let store = TestStore::new(&sqlite(), &[Account::DEF]);
    let pair = |n: u64| {
        move |db: &mut convoke_store::DbMut| {
            open(db, &format!("{n:0200} gives"), -(n as i64))?;
            open(db, &format!("{n:0200} takes"), n as i64).map(|_| ())
        }
    };
    for n in 0..5_000 {
        drop(store.start(pair(n)));
        if n % 500 == 0 {
            store.mutate(|_| Ok(())).unwrap();
        }
    }
    store.mutate(|_| Ok(())).unwrap();
    let stop = AtomicBool::new(false);
    let to = store.folder.path().join("copy.db");
    let steps = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 5_000.. {
                if stop.load(SeqCst) {
                    return;
                }
                store.mutate(pair(n)).unwrap();
            }
        });
        let counted = steps.clone();
        let progress = move |progress: convoke_store::Progress| {
            assert!(progress.done <= progress.total);
            counted.fetch_add(1, SeqCst);
        };
        let seal = |whole: &Path| Ok((whole.exists(), to.exists()));
        assert_eq!(store.backup(&to, progress, seal).unwrap(), (true, false), "it has its name before it is sealed");
        stop.store(true, SeqCst);
    });
    assert!(steps.load(SeqCst) > 1, "the copy was made in one step");
    assert!(!store.folder.path().join("copy.db.partial").exists());
    let restored = tempfile::tempdir().unwrap();
    std::fs::copy(&to, restored.path().join("convoke.db")).unwrap();
    let copy = open_in(restored.path()).unwrap();
    let (sum, rows) = copy.read_blocking(convoke_store::Access::Everyone, |transaction| sum(&db(transaction))).unwrap();
    assert_eq!(sum, 0);
    assert!(rows >= 10_000 && rows % 2 == 0, "{rows}");
}

#[test]
fn writes_survive_a_restart_with_few_statements() {
    let store = TestStore::new(&sqlite(), &[Account::DEF]);
    let ids = store.mutate(|db| (0..50).map(|n| open(db, &n.to_string(), n)).collect::<Result<Vec<_>, _>>()).unwrap();
    let store = store.reopened(&[Account::DEF]);
    store.read(|db| {
        assert_eq!(balance(db, "49"), Some(49));
        let before = db.reader().statements();
        assert_eq!(db.get_many(&ids).unwrap().into_iter().flatten().count(), 50);
        db.query(ByOwner).any(["1", "2", "x"]).take(9).unwrap();
        assert_eq!(db.reader().statements() - before, 2);
    });
}
