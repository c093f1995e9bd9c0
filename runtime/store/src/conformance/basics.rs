//! Writes of a mutation are visible to later calls, alone and concurrently with others.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::support::{Account, ByBalance, ByHundred, ByOwner, Factory, TestStore, balance, db, open, start};
use crate::query::Order;
use crate::{Access, Inserted, StoreError, Table, Transaction, Value};

pub fn written_row_is_read_by_the_next_call(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    let id = store.mutate(|db| open(db, "ada", 7)).unwrap();
    store.read(|db| {
        let account = db.get(id).unwrap().unwrap();
        assert_eq!(*account, Account { owner: "ada".into(), balance: 7 });
        assert_eq!(account.id(), id);
        assert_eq!(balance(db, "ada"), Some(7));
        assert_eq!(balance(db, "bob"), None);
    });
    store.mutate(move |db| db.patch(id, |account| account.balance += 1)).unwrap();
    assert_eq!(store.read(|db| balance(db, "ada")), Some(8));
    assert!(store.mutate(move |db| db.delete(id)).unwrap());
    assert!(!store.mutate(move |db| db.delete(id)).unwrap());
    assert!(store.read(|db| db.get(id).unwrap()).is_none());
}

pub fn pages_follow_the_index_order_in_both_directions(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    store.mutate(|db| (0..10).try_for_each(|n| open(db, &format!("{n}"), n % 3).map(|_| ()))).unwrap();
    let owners = |order, size| {
        store.read(|db| {
            let (mut owners, mut cursor) = (String::new(), None);
            loop {
                let page = db.query(ByBalance).order(order).page(cursor.as_ref(), size).unwrap();
                page.items.iter().for_each(|account| owners.push_str(&account.owner));
                match page.cursor {
                    Some(next) => cursor = Some(next),
                    None => return owners,
                }
            }
        })
    };
    for size in [1, 2, 3, 4, 10, 11] {
        assert_eq!(owners(Order::Asc, size), "0369147258", "{size} a page");
        assert_eq!(owners(Order::Desc, size), "8527419630", "{size} a page");
    }
    store.read(|db| {
        let none = db.query(ByBalance).page(None, 0).err().unwrap();
        assert!(none.to_string().contains("a page needs room for a row"), "{none}");
        assert_eq!(db.query(ByBalance).eq(1).count().unwrap(), 3);
        assert_eq!(db.query(ByBalance).range(1..).count().unwrap(), 6);
        assert_eq!(db.query(ByBalance).any([2, 0, 5]).take(100).unwrap().len(), 7);
        let json = db.query(ByOwner).eq("4").encode(1).unwrap();
        let id = db.query(ByOwner).eq("4").unique().unwrap().unwrap().id();
        assert_eq!(json.get(), format!(r#"[{{"_id":"{id}","_creationTime":1000,"owner":"4","balance":1}}]"#));
    });
}

pub fn rejected_mutation_rolls_back_alone(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    let before = store.start(|db| open(db, "before", 1));
    let refused = store.start(|db| {
        open(db, "refused", 1)?;
        Err::<(), _>(StoreError::BadCursor)
    });
    let after = store.start(|db| open(db, "after", 1));
    before.wait().unwrap();
    assert!(matches!(refused.wait(), Err(StoreError::BadCursor)));
    after.wait().unwrap();
    store.read(|db| {
        assert_eq!(balance(db, "before"), Some(1));
        assert_eq!(balance(db, "refused"), None);
        assert_eq!(balance(db, "after"), Some(1));
    });
}

pub fn unique_violation_names_its_index_and_can_be_handled(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    store.mutate(|db| open(db, "ada", 1)).unwrap();
    store
        .mutate(|db| {
            let violation = open(db, "ada", 2).unwrap_err();
            assert!(
                matches!(violation, StoreError::UniqueViolation { table: "accounts", index: "by_owner" }),
                "{violation:?}"
            );
            open(db, "bob", 3)
        })
        .unwrap();
    assert_eq!(store.read(|db| (balance(db, "ada"), balance(db, "bob"))), (Some(1), Some(3)));
}

pub fn row_outside_a_conditional_index_does_not_conflict_with_a_row_in_it(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    store
        .mutate(|db| {
            let rich = |owner: &str| Account { owner: owner.to_owned(), balance: 100 };
            let poor = |owner: &str| Account { owner: owner.to_owned(), balance: 1 };
            assert!(matches!(db.insert_unique(ByHundred, rich("ada"))?, Inserted::New(_)));
            assert!(matches!(db.insert_unique(ByHundred, poor("bob"))?, Inserted::New(_)));
            assert!(matches!(db.insert_unique(ByHundred, poor("cem"))?, Inserted::New(_)));
            let standing = db.insert_unique(ByHundred, rich("dan"))?;
            assert!(matches!(standing, Inserted::Existing(ref account) if account.owner == "ada"));
            Ok(())
        })
        .unwrap();
}

pub fn panicking_read_returns_its_reader(engine: &Factory) {
    let store = TestStore::with(engine, &[Account::DEF], |limits| limits.readers = 1);
    for _ in 0..3 {
        let read = std::panic::AssertUnwindSafe(|| {
            store.store.read_blocking(Access::Everyone, |transaction| {
                balance(&db(transaction), "ada");
                panic!("on purpose");
            })
        });
        assert!(std::panic::catch_unwind(read).is_err());
    }
    assert_eq!(store.read(|db| balance(db, "ada")), None);
}

pub fn concurrent_writers_lose_no_update(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    let id = store.mutate(|db| open(db, "ada", 0)).unwrap();
    let runs = Arc::new(AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let runs = runs.clone();
                    store
                        .mutate(move |db| {
                            runs.fetch_add(1, SeqCst);
                            db.patch(id, |account| account.balance += 1)
                        })
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(store.read(|db| balance(db, "ada")), Some(800));
    // An engine with concurrent writes runs some again.
    assert!(runs.load(SeqCst) >= 800);
}

pub fn written_bytes_count_rows_and_index_entries_but_no_rolled_back_writes(engine: &Factory) {
    let store = TestStore::new(engine, &[Account::DEF]);
    let work = |transaction: Rc<Transaction>| {
        let row = |owner: &str| [Value::Text(owner.to_owned()), Value::Integer(1)];
        transaction.insert(Account::DEF, 1, 1, &row("ada"))?;
        let once = transaction.bytes_written();
        // The row; by_owner; by_balance and by_hundred.
        assert_eq!(once, (32 + 3 + 8) + (24 + 3) + 2 * (24 + 8));
        transaction.savepoint()?;
        transaction.insert(Account::DEF, 2, 1, &row("bob"))?;
        transaction.rollback()?;
        assert!(!transaction.delete(Account::DEF, 2)?);
        assert!(transaction.insert(Account::DEF, 3, 1, &row("ada")).is_err());
        assert_eq!(transaction.bytes_written(), once);
        transaction.savepoint()?;
        transaction.update(Account::DEF, 1, &row("ada"), &[(1, Value::Integer(2))])?;
        transaction.release()?;
        let changed = (32 + 8) + 2 * (24 + 8);
        transaction.delete(Account::DEF, 1)?;
        assert_eq!(transaction.bytes_written(), once + changed + 32 + 3 * 24);
        Ok(())
    };
    start(&store, work).wait().unwrap();
}
