//! A database put in the place of another: what is kept, what is refused.

use std::path::Path;
use std::sync::Arc;

use convoke::{OpenError, Store, StoreOptions, Table as _, TableDef, Thoroughness, table};
use convoke_core::clock::{Clock, SystemClock};
use convoke_core::limits::Limits;
use convoke_sqlite::Sqlite;
use convoke_store::{EngineFactory as _, Installation};
use tempfile::TempDir;

#[table(name = "boxes", prefix = "box")]
#[index(by_name(name), unique)]
pub(crate) struct Crate {
    pub name: String,
}

const TABLES: &[&TableDef] = &[Crate::DEF];

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::new())
}

fn lock(folder: &Path) -> Result<Box<dyn Installation>, OpenError> {
    Sqlite::default().lock(folder, clock())
}

/// Makes the folder's database again, with one row.
fn named(folder: &Path, name: &str) {
    let installation = lock(folder).unwrap();
    let builder = installation.build(TABLES).unwrap();
    builder.insert(Crate::DEF, 1, 1, &Crate { name: name.to_owned() }.encode()).unwrap();
    builder.finish(&[(Crate::DEF, 1)]).unwrap();
    installation.replace().unwrap();
}

fn open(folder: &Path) -> Store {
    let (options, limits) = (StoreOptions::new(folder), Limits::default());
    Store::open(Arc::new(Sqlite::default()), options, &limits, clock(), TABLES.to_vec()).unwrap()
}

#[test]
fn database_in_use_is_not_replaced() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path());
    let refused = lock(folder.path()).err().expect("it is served");
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused}");
    drop(store);
    lock(folder.path()).unwrap();
}

#[test]
fn each_former_database_has_a_unique_name_and_opens() {
    let folder = TempDir::new().unwrap();
    for name in ["first", "second", "third"] {
        named(folder.path(), name);
    }
    let mut former: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("convoke.db.before-"))
        .collect();
    former.sort();
    assert_eq!(former.len(), 2, "{former:?}");
    assert_eq!(Sqlite::default().files(folder.path()).former, former);
    let elsewhere = TempDir::new().unwrap();
    let installation = lock(elsewhere.path()).unwrap();
    for path in former {
        let file = installation.take_in(&path, &mut |_| {}).unwrap();
        file.require_whole(Thoroughness::Full).unwrap();
        assert_eq!(convoke::offline::count(file.reader(), TABLES[0]).unwrap(), 1);
    }
}

#[test]
fn start_removes_leftovers_of_killed_work() {
    let folder = TempDir::new().unwrap();
    named(folder.path(), "a");
    std::fs::create_dir(folder.path().join("tmp")).unwrap();
    std::fs::write(folder.path().join("tmp/replacement.db"), "half").unwrap();
    open(folder.path()).close();
    assert!(!folder.path().join("tmp").exists());
}

#[test]
fn uncheckpointed_log_is_imported_with_its_database() {
    let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    named(from.path(), "in the log");
    let store = open(from.path());
    // As after a kill: the database and its log, copied while they are in use and nothing is written.
    for name in ["convoke.db", "convoke.db-wal"] {
        std::fs::copy(from.path().join(name), from.path().join(name.replace("convoke", "killed"))).unwrap();
    }
    store.close();
    let installation = lock(to.path()).unwrap();
    let file = installation.take_in(&from.path().join("killed.db"), &mut |_| {}).unwrap();
    file.require_whole(Thoroughness::Full).unwrap();
    drop(file);
    installation.replace().unwrap();
    drop(installation);
    assert!(!to.path().join("convoke.db-wal").exists());
    open(to.path()).close();
}

#[test]
fn foreign_database_file_is_rejected() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("x.db");
    std::fs::write(&file, "not a database, whatever it is called".repeat(100)).unwrap();
    let installation = lock(&folder.path().join("data")).unwrap();
    let refused = installation.take_in(&file, &mut |_| {}).err().expect("it is no database").to_string();
    assert!(refused.ends_with("is not a database of Convoke"), "{refused}");
}
