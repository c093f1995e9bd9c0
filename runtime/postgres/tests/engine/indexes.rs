//! Indexes that a new release adds to a table with rows: built while others write, and built again where that was broken off.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use convoke_core::error::{Code, Error};
use convoke_store::conformance::support::{
    Account, Factory, Pending, TestStore, balance, field, key, open, open_with, patient,
};
use convoke_store::{Access, FieldDef, IndexDef, KeyDef, OpenError, Plan, State, Store, Table as _, TableDef, Value};

use crate::{named, quoted_schema_of, until};

fn index(name: &'static str, keys: Vec<KeyDef>, unique: bool) -> IndexDef {
    IndexDef { name, keys: keys.leak(), unique, when: None }
}

/// The accounts with these fields and indexes more.
fn accounts(fields: Vec<FieldDef>, indexes: Vec<IndexDef>) -> &'static TableDef {
    let before = Account::DEF;
    let all_fields: Vec<_> = before.fields.iter().map(|field| FieldDef { ..*field }).chain(fields).collect();
    let all_indexes: Vec<_> = before.indexes.iter().map(|index| IndexDef { ..*index }).chain(indexes).collect();
    Box::leak(Box::new(TableDef { fields: all_fields.leak(), indexes: all_indexes.leak(), ..*before }))
}

/// The accounts of a later release, which finds them by their balance in one more order.
fn later() -> &'static TableDef {
    let by_owners = index("by_owners", vec![key(1), key(0)], false);
    accounts(Vec::new(), vec![by_owners, index("by_both", vec![key(0), key(1)], true)])
}

/// Asks the server from outside.
fn ask(statement: &str) -> String {
    let url = std::env::var("CONVOKE_TEST_POSTGRES").unwrap();
    let output = Command::new("psql").args([&*url, "-v", "ON_ERROR_STOP=1", "-Atqc", statement]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The indexes that are there, `!` behind those that are not valid.
fn indexes(folder: &Path) -> String {
    ask(&format!(
        "SELECT string_agg(relname || CASE WHEN indisvalid THEN '' ELSE '!' END, ' ' ORDER BY relname) FROM pg_index \
         JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = '{}'::regnamespace AND relname !~ '^_'",
        quoted_schema_of(folder)
    ))
}

/// Those of the later release.
const ALL: &str =
    "accounts._id accounts.by_balance accounts.by_both accounts.by_hundred accounts.by_owner accounts.by_owners";

/// A node whose accounts are those of the former release, with rows.
fn former(engine: &Factory) -> TestStore {
    let store = TestStore::new(engine, &[Account::DEF]);
    for (owner, balance) in [("ada", 1), ("bob", 2), ("cy", 3)] {
        store.mutate(move |db| open(db, owner, balance)).unwrap();
    }
    store
}

fn start(engine: &Factory, folder: &Path) -> Result<Store, OpenError> {
    open_with(engine, folder, &patient(), &[later()])
}

/// A mutation that has read and written rows and returns only on a signal.
fn stand_still(store: &TestStore) -> (mpsc::Sender<()>, Pending<()>) {
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let mut waited = false;
    let pending = store.start(move |db| {
        open(db, "slow", 4)?;
        // The read opens the snapshot for which the server waits before it completes an index.
        assert_eq!(balance(db, "ada"), Some(1));
        if !std::mem::replace(&mut waited, true) {
            begun.send(()).unwrap();
            may_go_on.recv_timeout(Duration::from_secs(120)).unwrap();
        }
        Ok(())
    });
    has_begun.recv_timeout(Duration::from_secs(60)).unwrap();
    (go_on, pending)
}

/// Returns the activity of the server for connections with this name that build an index.
fn builds(application: &str) -> String {
    format!(
        "FROM pg_stat_activity WHERE application_name = '{application}' AND state = 'active' \
         AND query LIKE 'CREATE%INDEX CONCURRENTLY%'"
    )
}

/// Returns the number of rows with this value in an index of two keys.
fn count(store: &Store, table: &'static TableDef, name: &str, value: i64) -> usize {
    let mut plan = Plan::new(table, table.indexes.iter().find(|index| index.name == name));
    plan.eq = vec![Value::Integer(value)];
    let count = |reader: std::rc::Rc<dyn convoke_store::Reader>| {
        let mut count = 0;
        let mut next = |_: &dyn convoke_store::Row| {
            count += 1;
            Ok(ControlFlow::Continue(()))
        };
        reader.select(&plan, &mut next).unwrap();
        count
    };
    store.read_blocking(Access::Everyone, count).unwrap()
}

#[test]
fn index_builds_do_not_block_writes_of_other_nodes() {
    let engine = named("convoke-builds");
    let first = former(&engine);
    let (go_on, slow) = stand_still(&first);
    std::thread::scope(|scope| {
        let starting = scope.spawn(|| start(&engine, first.folder.path()).unwrap());
        let building = format!("SELECT count(*) {}", builds("convoke-builds"));
        until("the build waits for the mutation that is open", || ask(&building) == "1");
        for owner in ["dan", "eve", "fay"] {
            first.mutate(move |db| open(db, owner, 5)).unwrap();
        }
        assert!(!starting.is_finished() && indexes(first.folder.path()).contains('!'), "it is still being built");
        go_on.send(()).unwrap();
        slow.wait().unwrap();
        let second = starting.join().unwrap();
        assert_eq!((second.state(), count(&second, later(), "by_owners", 5)), (State::Open, 3));
    });
    assert_eq!(indexes(first.folder.path()), ALL);
    first.mutate(|db| open(db, "gus", 6)).unwrap();
}

#[test]
fn interrupted_index_build_is_repeated() {
    let engine = named("convoke-breaks");
    let first = former(&engine);
    let folder = first.folder.path();
    let (go_on, slow) = stand_still(&first);
    std::thread::scope(|scope| {
        let starting = scope.spawn(|| start(&engine, folder).map(drop));
        let end = format!("SELECT count(pg_terminate_backend(pid)) {}", builds("convoke-breaks"));
        until("a build is cut", || ask(&end) == "1");
        starting.join().unwrap().unwrap_err();
    });
    let schema = quoted_schema_of(folder);
    assert!(indexes(folder).contains('!'), "{}", indexes(folder));
    go_on.send(()).unwrap();
    slow.wait().unwrap();
    // A whole one that the schema does not have, and a lease of a person who is not heard of.
    ask(&format!("CREATE INDEX \"~0\" ON {schema}.accounts (balance)"));
    ask(&format!("UPDATE {schema}._leases SET holder = gen_random_uuid() WHERE name = 'indexes'"));
    let left = indexes(folder);
    assert!(left.contains("~0 ") && left.contains('!'), "{left}");
    let second = start(&engine, folder).unwrap();
    assert_eq!((second.state(), count(&second, later(), "by_owners", 4)), (State::Open, 1));
    assert_eq!(indexes(folder), ALL);
    drop(second);
    assert_eq!(ask(&format!("SELECT count(*) FROM {schema}._leases WHERE holder IS NOT NULL")), "0");
}

#[test]
fn index_of_a_new_field_contains_the_default_of_existing_rows() {
    let engine = named("convoke-adds");
    let first = former(&engine);
    let weight = FieldDef { default: Some(|| Value::Integer(7)), ..field::<i64>("weight") };
    let table = accounts(vec![weight], vec![index("by_weight", vec![key(2), key(1)], false)]);
    // A change that was broken off has left its field.
    ask(&format!("ALTER TABLE {}.accounts ADD COLUMN weight text", quoted_schema_of(first.folder.path())));
    let second = open_with(&engine, first.folder.path(), &patient(), &[table]).unwrap();
    first.mutate(|db| open(db, "dan", 4)).unwrap();
    assert_eq!((second.state(), count(&second, table, "by_weight", 7)), (State::Open, 4));
}

#[test]
fn colliding_rows_of_a_unique_index_are_reported_without_leftovers() {
    let engine = named("convoke-collides");
    let first = TestStore::new(&engine, &[Account::DEF]);
    for owner in ["ada", "bob"] {
        first.mutate(move |db| open(db, owner, 5)).unwrap();
    }
    let by_owner_too = index("by_owner_too", vec![key(0), key(1)], true);
    let by_sum = index("by_sum", vec![key(1)], true);
    let table = accounts(Vec::new(), vec![by_owner_too, by_sum]);
    let before = indexes(first.folder.path());
    let second = open_with(&engine, first.folder.path(), &patient(), &[table]).unwrap();
    let says = second.difference().unwrap();
    assert!(says.contains("index by_sum added, but rows collide in it"), "{says}");
    assert_eq!(indexes(first.folder.path()), before);
    drop(second);
    first.mutate(|db| open(db, "cy", 5)).unwrap();
}

#[test]
fn older_release_violating_a_newer_unique_index_is_overloaded() {
    let engine = named("convoke-older");
    // Long enough for a mutation that nothing stands in the way of, on any machine.
    let older = TestStore::with(&engine, &[Account::DEF], |limits| limits.mutation_timeout = Duration::from_secs(5));
    let ada = older.mutate(|db| open(db, "ada", 1)).unwrap();
    let by_sum = index("by_sum", vec![key(1)], true);
    let newer = open_with(&engine, older.folder.path(), &patient(), &[accounts(Vec::new(), vec![by_sum])]).unwrap();
    assert_eq!(newer.state(), State::Open);
    let bob = older.mutate(|db| open(db, "bob", 2)).unwrap();

    let inserted = older.start(|db| open(db, "cy", 1).map(drop));
    let updated = older.start(move |db| db.patch(bob, |account| account.balance = 1).map(drop));
    for pending in [inserted, updated] {
        let error = pending.wait().unwrap_err();
        assert_eq!(Error::from(error).code(), Code::Overloaded);
    }
    let balances = ["ada", "bob", "cy"].map(|owner| older.read(|db| balance(db, owner)));
    assert_eq!(balances, [Some(1), Some(2), None]);
    // It serves on: what is free is written, also what was taken before.
    older.mutate(move |db| db.patch(ada, |account| account.balance = 3).map(drop)).unwrap();
    older.mutate(|db| open(db, "cy", 1)).unwrap();
}

#[test]
fn table_removed_by_another_program_is_reported_as_the_fault_that_it_is() {
    let store = TestStore::with(&named("convoke-removed"), &[Account::DEF], |limits| {
        limits.mutation_timeout = Duration::from_secs(5);
    });
    store.mutate(|db| open(db, "ada", 1)).unwrap();
    let schema = quoted_schema_of(store.folder.path());
    ask(&format!("ALTER TABLE {schema}.accounts RENAME TO elsewhere"));
    let written = store.mutate(|db| open(db, "bob", 2)).unwrap_err();
    let read = store
        .read_blocking(Access::Everyone, |reader| convoke_store::offline::count(&*reader, Account::DEF))
        .and_then(|counted| counted)
        .unwrap_err();
    for error in [written, read] {
        let told = error.to_string();
        assert!(told.contains("does not have the schema of this program"), "{told}");
        assert_eq!(Error::from(error).code(), Code::Internal);
    }
    ask(&format!("ALTER TABLE {schema}.elsewhere RENAME TO accounts"));
    store.mutate(|db| open(db, "bob", 2)).unwrap();
    assert_eq!(store.read(|db| balance(db, "bob")), Some(2));
}
