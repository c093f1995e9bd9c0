//! A mutation reads its own writes over the stored rows, in every order, and its writes are stored as it left them.

use std::ops::{Bound, ControlFlow};
use std::rc::Rc;

use super::support::{
    Account, ByBalance, ByHundred, ByOwner, Factory, TestStore, balance, field, key, open, start, together,
};
use crate::overlay::PENDING_BYTES_MAX;
use crate::query::Order;
use crate::{
    Db, DbMut, IndexDef, Inserted, Plan, Reader, Row, StoreError, Table, TableDef, Transaction, Value, ValueRef,
};

type Result<T> = std::result::Result<T, StoreError>;

/// A store with accounts: the first letter is the owner, and the number is the balance.
fn with(engine: &Factory, accounts: &'static [(&'static str, i64)]) -> TestStore {
    let store = TestStore::new(engine, &[Account::DEF, &BODIES]);
    store.mutate(|db| accounts.iter().try_for_each(|(owner, balance)| open(db, owner, *balance).map(drop))).unwrap();
    store
}

/// Changes the account of an owner.
fn change(db: &mut DbMut, owner: &str, change: impl FnOnce(&mut Account)) -> Result<()> {
    let account = db.query(ByOwner).eq(owner).unique()?.unwrap();
    db.patch(account.id(), change).map(drop)
}

fn rename(db: &mut DbMut, owner: &str, new: &str) -> Result<()> {
    change(db, owner, |account| account.owner = new.to_owned())
}

fn close(db: &mut DbMut, owner: &str) -> Result<()> {
    let account = db.query(ByOwner).eq(owner).unique()?.unwrap();
    assert!(db.delete(account.id())?);
    Ok(())
}

/// Returns the owners that a plan finds, in order.
fn owners(db: &Db, plan: &Plan) -> String {
    let mut owners = String::new();
    let visited = db.reader().select(plan, &mut |row| {
        let ValueRef::Text(owner) = row.value(0)? else { panic!("an account without an owner") };
        owners.push_str(owner);
        Ok(ControlFlow::Continue(()))
    });
    visited.unwrap();
    assert_eq!(db.reader().count(plan).unwrap(), owners.len() as u64, "{plan:?}");
    owners
}

/// Returns the owners by balance, read in pages.
fn paged(db: &Db, order: Order, size: usize) -> String {
    let (mut owners, mut cursor) = (String::new(), None);
    loop {
        let page = db.query(ByBalance).order(order).page(cursor.as_ref(), size).unwrap();
        page.items.iter().for_each(|account| owners.push_str(&account.owner));
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => return owners,
        }
    }
}

/// Checks every order of accounts whose owners have these balances.
fn check(db: &Db, ascending: &str, from_6_to_50: &str) {
    let reversed = |text: &str| text.chars().rev().collect::<String>();
    let by_balance = Account::DEF.indexes.iter().find(|index| index.name == "by_balance");
    let all = Plan::new(Account::DEF, by_balance);
    let range = Some((Bound::Included(Value::Integer(6)), Bound::Included(Value::Integer(50))));
    let range = Plan { range, ..all.clone() };
    for (plan, expected) in [(all, ascending), (range, from_6_to_50)] {
        for limit in (0..=expected.len()).map(|limit| Some(limit as u64)).chain([None]) {
            let first = |text: &str| text[..limit.map_or(text.len(), |limit| limit as usize)].to_owned();
            assert_eq!(owners(db, &Plan { limit, ..plan.clone() }), first(expected));
            assert_eq!(owners(db, &Plan { limit, reverse: true, ..plan.clone() }), first(&reversed(expected)));
        }
    }
    for size in 1..=ascending.len() {
        assert_eq!(paged(db, Order::Asc, size), ascending, "{size} per page");
        assert_eq!(paged(db, Order::Desc, size), reversed(ascending), "{size} per page");
    }
    let mut sorted: Vec<char> = ascending.chars().collect();
    sorted.sort_unstable();
    let by_owner = Account::DEF.indexes.iter().find(|index| index.name == "by_owner");
    assert_eq!(owners(db, &Plan::new(Account::DEF, by_owner)), sorted.into_iter().collect::<String>());
}

pub fn pending_writes_appear_in_every_order(engine: &Factory) {
    let store = with(engine, &[("a", 10), ("b", 20), ("c", 30), ("d", 40), ("e", 50)]);
    let written = store.mutate(|db| {
        check(db, "abcde", "abcde");
        open(db, "f", 25)?;
        open(db, "g", 6)?;
        close(db, "b")?;
        change(db, "c", |account| account.balance = 5)?;
        change(db, "d", |account| account.balance = 60)?;
        check(db, "cgafed", "gafe");
        close(db, "f")?;
        change(db, "g", |account| account.balance = 55)?;
        check(db, "caegd", "ae");
        Ok(())
    });
    written.unwrap();
    store.read(|db| check(db, "caegd", "ae"));
}

pub fn rows_exchange_unique_keys_in_one_mutation(engine: &Factory) {
    let store = with(engine, &[("a", 1), ("b", 2), ("c", 3), ("d", 4), ("h", 100)]);
    let exchanged = store.mutate(|db| {
        // a, b and c pass their names on in a circle.
        rename(db, "a", "x")?;
        rename(db, "c", "a")?;
        rename(db, "b", "c")?;
        rename(db, "x", "b")?;
        // A new row takes over the name of a deleted one.
        close(db, "d")?;
        open(db, "d", 40)?;
        // Another row takes over the only entry of a conditional index.
        change(db, "h", |account| account.balance = 99)?;
        change(db, "d", |account| account.balance = 100)
    });
    exchanged.unwrap();
    let balances = |db: &Db| ["a", "b", "c", "d", "h"].map(|owner| balance(db, owner).unwrap());
    assert_eq!(store.read(balances), [3, 1, 2, 100, 99]);
    let owner = |db: &Db| db.query(ByHundred).eq(100).unique().unwrap().unwrap().owner.clone();
    assert_eq!(store.read(owner), "d");
}

pub fn row_is_replaced_under_its_id(engine: &Factory) {
    let store = with(engine, &[]);
    let row = |owner: &str, balance| [Value::Text(owner.to_owned()), Value::Integer(balance)];
    start(&store, move |transaction| transaction.insert(Account::DEF, 7, 1, &row("a", 1))).wait().unwrap();
    let replaced = move |transaction: Rc<Transaction>| {
        let taken = transaction.insert(Account::DEF, 7, 2, &row("b", 2));
        assert!(matches!(taken, Err(StoreError::UniqueViolation { index: "_id", .. })), "{taken:?}");
        assert!(transaction.delete(Account::DEF, 7)?);
        transaction.insert(Account::DEF, 7, 2, &row("b", 2))?;
        assert!(transaction.update(Account::DEF, 7, &[], &[(1, Value::Integer(3))])?);
        transaction.insert(Account::DEF, 8, 2, &row("a", 4))
    };
    start(&store, replaced).wait().unwrap();
    store.read(|db| {
        assert_eq!((balance(db, "a"), balance(db, "b")), (Some(4), Some(3)));
        assert_eq!(db.query(ByOwner).eq("b").unique().unwrap().unwrap().creation_time().0, 2);
    });
}

pub fn unique_keys_are_checked_against_pending_and_stored_rows(engine: &Factory) {
    let store = with(engine, &[("a", 1), ("b", 100)]);
    let is_rejected = |result: Result<()>, name: &str| {
        assert!(matches!(result, Err(StoreError::UniqueViolation { index, .. }) if index == name), "{result:?}");
    };
    let checked = store.mutate(move |db| {
        is_rejected(open(db, "a", 2).map(drop), "by_owner");
        is_rejected(rename(db, "b", "a"), "by_owner");
        is_rejected(open(db, "c", 100).map(drop), "by_hundred");
        rename(db, "a", "c")?;
        is_rejected(open(db, "c", 2).map(drop), "by_owner");
        let account = |owner: &str| Account { owner: owner.to_owned(), balance: 3 };
        assert!(matches!(db.insert_unique(ByOwner, account("a"))?, Inserted::New(_)));
        assert!(matches!(db.insert_unique(ByOwner, account("a"))?, Inserted::Existing(_)));
        assert!(matches!(db.insert_unique(ByOwner, account("c"))?, Inserted::Existing(_)));
        is_rejected(rename(db, "c", "a"), "by_owner");
        db.writer().savepoint()?;
        close(db, "b")?;
        open(db, "d", 100)?;
        db.writer().rollback()?;
        is_rejected(open(db, "d", 100).map(drop), "by_hundred");
        change(db, "b", |account| account.balance = 99)?;
        change(db, "c", |account| account.balance = 100)
    });
    checked.unwrap();
    let balances = |db: &Db| ["a", "b", "c", "d"].map(|owner| balance(db, owner));
    assert_eq!(store.read(balances), [Some(3), Some(99), Some(100), None]);
}

pub fn nested_savepoints_undo_only_their_own_writes(engine: &Factory) {
    let store = with(engine, &[("a", 10), ("b", 20), ("c", 30)]);
    let nested = store.mutate(|db| {
        change(db, "a", |account| account.balance = 11)?;
        db.writer().savepoint()?;
        close(db, "b")?;
        db.writer().savepoint()?;
        change(db, "a", |account| account.balance = 45)?;
        open(db, "d", 5)?;
        db.writer().savepoint()?;
        close(db, "a")?;
        open(db, "b", 1)?;
        check(db, "bdc", "c");
        db.writer().rollback()?;
        check(db, "dca", "ca");
        db.writer().rollback()?;
        check(db, "ac", "ac");
        open(db, "e", 12)?;
        db.writer().release()?;
        check(db, "aec", "aec");
        Ok(())
    });
    nested.unwrap();
    store.read(|db| check(db, "aec", "aec"));
}

pub fn panic_inside_nested_savepoints_leaves_nothing(engine: &Factory) {
    let store = with(engine, &[("a", 10), ("b", 20)]);
    let pending = together(&store, || {
        let add = |owner: &'static str, balance| store.start(move |db| open(db, owner, balance).map(drop));
        let first = add("c", 30);
        let panics = store.start(|db| {
            rename(db, "a", "x")?;
            db.writer().savepoint()?;
            close(db, "b")?;
            db.writer().savepoint()?;
            open(db, "e", 7)?;
            std::panic::resume_unwind(Box::new("on purpose"))
        });
        [first, panics, add("d", 40)]
    });
    let [first, panicked, last] = pending.map(super::support::Pending::wait);
    assert!(matches!(&panicked, Err(StoreError::Panicked(text)) if text == "on purpose"), "{panicked:?}");
    first.unwrap();
    last.unwrap();
    store.read(|db| check(db, "abcd", "abcd"));
}

pub fn row_written_several_times_is_published_once(engine: &Factory) {
    let store = with(engine, &[("a", 1), ("b", 2), ("c", 3)]);
    store.commits().watch("accounts");
    let before = store.commits().newest();
    let written = store.mutate(|db| {
        (10..20).try_for_each(|balance| change(db, "a", |account| account.balance = balance))?;
        // These rows end as they were.
        open(db, "d", 4)?;
        close(db, "d")?;
        change(db, "b", |account| account.balance = 7)?;
        change(db, "b", |account| account.balance = 2)?;
        db.writer().savepoint()?;
        close(db, "c")?;
        db.writer().rollback()
    });
    written.unwrap();
    let since = store.commits().since(before).unwrap();
    let rows: Vec<_> = since.iter().flat_map(|committed| &committed.changes.rows).collect();
    let [row] = rows[..] else { panic!("one row has changed, not {rows:?}") };
    // The positions before and after in by_balance; one position in by_owner.
    assert_eq!((row.table, row.places.len()), ("accounts", 3));
}

/// Rows of any size.
static BODIES: TableDef = TableDef {
    name: "bodies",
    prefix: "body",
    fields: &[field::<i64>("name"), field::<String>("body")],
    indexes: &[IndexDef { name: "by_name", keys: &[key(0)], unique: true, when: None }],
    file: file!(),
    line: line!(),
};

fn name(row: &dyn Row) -> Result<i64> {
    let ValueRef::Integer(name) = row.value(0)? else { panic!("a body without a name") };
    Ok(name)
}

pub fn mutation_above_the_memory_limit_keeps_its_savepoints(engine: &Factory) {
    const BODY: usize = 1_024 * 1_024;
    const COUNT: i64 = 2 + (PENDING_BYTES_MAX / BODY) as i64;
    let store = with(engine, &[("a", 1)]);
    let large = |transaction: &Transaction, names: std::ops::Range<i64>| {
        let body = |name| [Value::Integer(name), Value::Text("x".repeat(BODY))];
        names.into_iter().try_for_each(|name| transaction.insert(&BODIES, name.unsigned_abs().into(), 1, &body(name)))
    };
    let names = |reader: &dyn Reader| {
        let (mut names, mut plan) = (Vec::new(), Plan::new(&BODIES, Some(&BODIES.indexes[0])));
        plan.keys_only = true;
        let visited = reader.select(&plan, &mut |row| {
            names.push(name(row)?);
            Ok(ControlFlow::Continue(()))
        });
        visited.unwrap();
        names
    };
    let written = start(&store, move |transaction: Rc<Transaction>| {
        large(&transaction, 1..COUNT)?;
        transaction.savepoint()?;
        large(&transaction, 100..100 + COUNT)?;
        assert!(transaction.delete(&BODIES, 1)?);
        transaction.rollback()?;
        assert_eq!(names(&*transaction), (1..COUNT).collect::<Vec<_>>());
        // A savepoint that is kept, inside one that is undone.
        transaction.savepoint()?;
        transaction.savepoint()?;
        large(&transaction, 200..200 + COUNT)?;
        transaction.release()?;
        transaction.rollback()?;
        let rename = |id, name| transaction.update(&BODIES, id, &[], &[(0, Value::Integer(name))]);
        assert!(matches!(rename(1, 2), Err(StoreError::UniqueViolation { index: "by_name", .. })));
        assert!(rename(1, 0)? && rename(2, 1)? && rename(1, 2)?);
        assert_eq!(names(&*transaction), (1..COUNT).collect::<Vec<_>>());
        Ok(())
    });
    let beside = store.start(|db| open(db, "b", 2));
    written.wait().unwrap();
    beside.wait().unwrap();
    store.read(|db| {
        assert_eq!(names(db.reader()), (1..COUNT).collect::<Vec<_>>());
        assert_eq!((balance(db, "a"), balance(db, "b")), (Some(1), Some(2)));
        for (id, expected) in [(1, 2), (2, 1)] {
            let check = &mut |row: &dyn Row| {
                assert_eq!(name(row)?, expected);
                Ok(ControlFlow::Break(()))
            };
            assert!(db.reader().get(&BODIES, id, check).unwrap());
        }
    });
}
