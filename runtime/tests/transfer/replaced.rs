//! A database put in the place of another: what is kept, what is refused.

use convoke::limits::Limits;
use convoke::store::{DatabaseFile, Installation, OpenError, Store, StoreOptions, Thoroughness};
use tempfile::TempDir;

use super::support::{Colour, Crate, TABLES, add, clock, fill};

fn named(folder: &std::path::Path, name: &str) {
    fill(folder, TABLES, |draft| {
        add(draft, 1, 1, &Crate { name: name.to_owned(), colour: Colour::Red, weight: None });
    });
}

fn open(folder: &std::path::Path) -> Store {
    Store::open(StoreOptions::new(folder), &Limits::default(), clock(), TABLES.to_vec()).unwrap()
}

#[test]
fn nothing_is_replaced_while_somebody_serves() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path());
    let refused = Installation::lock(folder.path(), clock()).err().expect("it is served");
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused}");
    drop(store);
    Installation::lock(folder.path(), clock()).unwrap();
}

#[test]
fn each_former_database_keeps_a_name_of_its_own_and_opens() {
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
    for path in former {
        let file = DatabaseFile::open(&path, clock()).unwrap();
        file.require_whole(Thoroughness::Full).unwrap();
        assert_eq!(convoke::store::offline::count(file.transaction(), TABLES[0]).unwrap(), 1);
    }
}

#[test]
fn what_killed_work_left_behind_is_gone_at_the_next_start() {
    let folder = TempDir::new().unwrap();
    named(folder.path(), "a");
    std::fs::create_dir(folder.path().join("tmp")).unwrap();
    std::fs::write(folder.path().join("tmp/replacement.db"), "half").unwrap();
    open(folder.path()).close();
    assert!(!folder.path().join("tmp").exists());
}

#[test]
fn a_log_that_was_never_copied_back_is_taken_in_and_belongs_to_the_database() {
    let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    named(from.path(), "in the log");
    let store = open(from.path());
    // As after a kill: the database and its log, copied while they are in use and nothing is written.
    for name in ["convoke.db", "convoke.db-wal"] {
        std::fs::copy(from.path().join(name), from.path().join(name.replace("convoke", "killed"))).unwrap();
    }
    store.close();
    let installation = Installation::lock(to.path(), clock()).unwrap();
    let file = installation.take_in(&from.path().join("killed.db"), |_| {}).unwrap();
    file.require_whole(Thoroughness::Full).unwrap();
    drop(file);
    installation.replace().unwrap();
    drop(installation);
    assert!(!to.path().join("convoke.db-wal").exists());
    open(to.path()).close();
}

#[test]
fn a_file_that_is_no_database_of_ours_is_not_taken_in() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("x.db");
    std::fs::write(&file, "not a database, whatever it is called".repeat(100)).unwrap();
    let installation = Installation::lock(&folder.path().join("data"), clock()).unwrap();
    let refused = installation.take_in(&file, |_| {}).err().expect("it is no database").to_string();
    assert!(refused.ends_with("is not a database of Convoke"), "{refused}");
}
