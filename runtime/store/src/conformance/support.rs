//! A store in a temporary folder with tables, and mutations from closures.

use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::{
    Access, Column, Condition, Db, DbMut, EngineFactory, FieldDef, HeldDisk, Index, IndexDef, KeyDef, Literal,
    OpenError, ReadLimits, Reader, Row, Store, StoreError, StoreOptions, Table, TableDef, Transaction, Unique, Value,
    WriteJob,
};
use convoke_core::clock::{Clock, Millis, SystemClock};
use convoke_core::id::{Id, IdGenerator, Named};
use convoke_core::limits::Limits;
use schemars::JsonSchema;
use tempfile::TempDir;

/// A field of a test table.
pub const fn field<C: Column + JsonSchema>(name: &'static str) -> FieldDef {
    FieldDef::of::<C>(name, C::json_schema)
}

pub const fn key(field: usize) -> KeyDef {
    KeyDef { field, descending: false }
}

pub const fn down(field: usize) -> KeyDef {
    KeyDef { field, descending: true }
}

/// An account with a balance.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Account {
    pub owner: String,
    pub balance: i64,
}

impl Named for Account {
    const NAME: &'static str = "accounts";
    const PREFIX: &'static str = "account";
}

impl Table for Account {
    const DEF: &'static TableDef = &TableDef {
        name: "accounts",
        prefix: "account",
        fields: &[field::<String>("owner"), field::<i64>("balance")],
        indexes: &[
            IndexDef { name: "by_owner", keys: &[key(0)], unique: true, when: None },
            IndexDef { name: "by_balance", keys: &[key(1)], unique: false, when: None },
            IndexDef {
                name: "by_hundred",
                keys: &[key(1)],
                unique: true,
                when: Some(Condition::Equals("balance", Literal::Integer(100))),
            },
        ],
        file: file!(),
        line: line!(),
    };

    fn encode(&self) -> Vec<Value> {
        vec![self.owner.to_value(), self.balance.to_value()]
    }

    fn decode(row: &dyn Row) -> Result<Self, StoreError> {
        Ok(Self { owner: Column::decode(row, Self::DEF, 0)?, balance: Column::decode(row, Self::DEF, 1)? })
    }
}

#[derive(Clone, Copy)]
pub struct ByOwner;
pub struct Owner;
impl crate::schema::table::Field for Owner {
    type Type = String;
    const NAME: &'static str = "owner";
}
impl Index for ByOwner {
    type Table = Account;
    type Fields = (Owner, ());
    const DEF: &'static IndexDef = &Account::DEF.indexes[0];
}
impl Unique for ByOwner {}

#[derive(Clone, Copy)]
pub struct ByBalance;
pub struct Balance;
impl crate::schema::table::Field for Balance {
    type Type = i64;
    const NAME: &'static str = "balance";
}
impl Index for ByBalance {
    type Table = Account;
    type Fields = (Balance, ());
    const DEF: &'static IndexDef = &Account::DEF.indexes[1];
}

/// At most one account has the balance 100.
#[derive(Clone, Copy)]
pub struct ByHundred;
impl Index for ByHundred {
    type Table = Account;
    type Fields = (Balance, ());
    const DEF: &'static IndexDef = &Account::DEF.indexes[2];
}
impl Unique for ByHundred {}

/// Creates the engine under test.
pub type Factory = Arc<dyn EngineFactory>;

/// A store in a temporary folder, removed at the end.
pub struct TestStore {
    pub store: Store,
    pub ids: Arc<IdGenerator>,
    pub folder: TempDir,
    engine: Factory,
}

impl std::ops::Deref for TestStore {
    type Target = Store;
    fn deref(&self) -> &Store {
        &self.store
    }
}

impl TestStore {
    pub fn new(engine: &Factory, tables: &[&'static TableDef]) -> Self {
        Self::with(engine, tables, |_| {})
    }

    pub fn with(engine: &Factory, tables: &[&'static TableDef], limits: impl FnOnce(&mut Limits)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut bounds = patient();
        limits(&mut bounds);
        let store = open_with(engine, folder.path(), &bounds, tables).unwrap();
        Self { store, ids: Arc::new(IdGenerator::after(0)), folder, engine: engine.clone() }
    }

    /// Closes the store and opens its folder again.
    pub fn reopened(self, tables: &[&'static TableDef]) -> Self {
        let Self { store, folder, engine, .. } = self;
        store.close();
        drop(store);
        let store = open_with(&engine, folder.path(), &patient(), tables).unwrap();
        let ids = Arc::new(IdGenerator::after(store.greatest_id()));
        Self { store, ids, folder, engine }
    }

    pub fn read<R>(&self, read: impl Fn(&Db) -> R) -> R {
        self.store.read_blocking(Access::Everyone, |transaction| read(&db(transaction))).unwrap()
    }

    /// Runs a mutation on typed tables and waits for its result.
    pub fn mutate<R: Send + 'static>(
        &self,
        run: impl FnMut(&mut DbMut) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError> {
        self.start(run).wait()
    }

    /// Queues a mutation on typed tables.
    pub fn start<R: Send + 'static>(
        &self,
        mut run: impl FnMut(&mut DbMut) -> Result<R, StoreError> + Send + 'static,
    ) -> Pending<R> {
        let ids = self.ids.clone();
        start(&self.store, move |transaction| run(&mut DbMut::new(transaction, reads(), ids.clone(), Millis(1_000))))
    }
}

/// The default limits without timeouts, since durations mean nothing on a busy machine.
pub fn patient() -> Limits {
    let patience = Duration::from_secs(60);
    Limits { mutation_timeout: patience, query_timeout: patience, ..Limits::default() }
}

/// Opens a store in a folder, on a disk with free space.
pub fn open_with(
    engine: &Factory,
    folder: &Path,
    limits: &Limits,
    tables: &[&'static TableDef],
) -> Result<Store, OpenError> {
    let options = StoreOptions { disk: Arc::new(HeldDisk::default()), ..StoreOptions::new(folder) };
    Store::open(engine.clone(), options, limits, clock(), tables.to_vec())
}

pub fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::new())
}

pub fn db(reader: Rc<dyn Reader>) -> Db {
    Db::new(reader, reads())
}

/// The default limits of reads.
pub fn reads() -> ReadLimits {
    ReadLimits::from(&Limits::default())
}

/// A result in the future.
pub struct Pending<R>(mpsc::Receiver<Result<R, StoreError>>);

impl<R> Pending<R> {
    #[track_caller]
    pub fn wait(self) -> Result<R, StoreError> {
        self.0.recv_timeout(Duration::from_secs(60)).expect("every mutation is answered")
    }
}

/// Queues a mutation on values and plans. An error of the closure rolls it back.
pub fn start<R: Send + 'static>(
    store: &Store,
    run: impl FnMut(Rc<Transaction>) -> Result<R, StoreError> + Send + 'static,
) -> Pending<R> {
    start_named(store, "test", false, run)
}

/// Like [`start`], for an access class.
pub fn start_as<R: Send + 'static>(
    store: &Store,
    access: Access,
    run: impl FnMut(Rc<Transaction>) -> Result<R, StoreError> + Send + 'static,
) -> Pending<R> {
    start_job(store, "test", false, access, run)
}

pub fn start_named<R: Send + 'static>(
    store: &Store,
    name: &'static str,
    slow: bool,
    run: impl FnMut(Rc<Transaction>) -> Result<R, StoreError> + Send + 'static,
) -> Pending<R> {
    start_job(store, name, slow, Access::Everyone, run)
}

fn start_job<R: Send + 'static>(
    store: &Store,
    name: &'static str,
    slow: bool,
    access: Access,
    run: impl FnMut(Rc<Transaction>) -> Result<R, StoreError> + Send + 'static,
) -> Pending<R> {
    let (answer, pending) = mpsc::channel();
    let job = Closure { name, slow, access, run, result: None, answer };
    if let Err((job, error)) = store.write(Box::new(job)) {
        job.finish(Err(error));
    }
    Pending(pending)
}

/// Blocks the writer while `line_up` runs, so that the mutations queued by it share a batch.
pub fn together<R>(store: &Store, line_up: impl FnOnce() -> R) -> R {
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let mut waited = false;
    let first = start(store, move |_| {
        // It may run again if its shared transaction is lost.
        if !std::mem::replace(&mut waited, true) {
            begun.send(()).unwrap();
            may_go_on.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        // A rejected mutation does not affect the batch.
        Err::<(), _>(StoreError::BadCursor)
    });
    has_begun.recv().unwrap();
    let lined_up = line_up();
    go_on.send(()).unwrap();
    let _ = first.wait();
    lined_up
}

struct Closure<F, R> {
    name: &'static str,
    slow: bool,
    access: Access,
    run: F,
    result: Option<R>,
    answer: mpsc::Sender<Result<R, StoreError>>,
}

impl<F, R> WriteJob for Closure<F, R>
where
    F: FnMut(Rc<Transaction>) -> Result<R, StoreError> + Send,
    R: Send,
{
    fn run(&mut self, transaction: Rc<Transaction>) -> Result<(), Option<StoreError>> {
        self.result = None;
        self.result = Some((self.run)(transaction).map_err(Some)?);
        Ok(())
    }

    fn finish(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Closure { result, answer, .. } = *self;
        let _ = answer.send(outcome.map(|()| result.expect("what is kept has a result")));
    }

    fn slow(&self) -> bool {
        self.slow
    }

    fn access(&self) -> Access {
        self.access
    }

    fn name(&self) -> &str {
        self.name
    }
}

/// Returns the balance of an owner.
pub fn balance(db: &Db, owner: &str) -> Option<i64> {
    db.query(ByOwner).eq(owner).unique().unwrap().map(|account| account.balance)
}

/// Opens an account.
pub fn open(db: &mut DbMut, owner: &str, balance: i64) -> Result<Id<Account>, StoreError> {
    db.insert(Account { owner: owner.to_owned(), balance })
}
