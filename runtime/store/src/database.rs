//! A store with an id generator, a clock and limits of reads.
//!
//! Functions use the database through their context. Other components (keys, audit records, performance data, jobs) use
//! this type: each read is one snapshot, each write is one transaction, and a panic becomes an error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::engine::WriteJob;
use super::error::StoreError;
use super::fairness::Flow;
use super::fairness::latency_class::LatencyClass;
use super::gate::Access;
use super::overlay::Transaction;
use super::query::{Db, DbMut, ReadLimits};
use super::reader::Reader;
use super::schema::table::Table;
use super::store::Store;
use convoke_core::clock::{Clock, Millis};
use convoke_core::error::{Error, Result};
use convoke_core::id::{Id, IdGenerator};

/// Rows that one transaction of [`Database::sweep`] deletes, which take the writer some milliseconds.
pub const SWEEP_ROWS: usize = 100;

/// A read. Boxed, as a write is: the code that waits for its result is compiled for each type of result, not for each
/// read.
type ReadWork<R> = Box<dyn Fn(&Db) -> Result<R> + Send>;
type WriteWork<R> = Box<dyn Fn(&mut DbMut) -> Result<R> + Send>;

/// The database of a runtime. Clones share it.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    store: Store,
    ids: Arc<IdGenerator>,
    clock: Arc<dyn Clock>,
    limits: ReadLimits,
}

impl Database {
    /// Creates the database of `store`. New rows get ids from `ids`, which are greater than all stored ids, and the
    /// time of `clock`.
    pub fn new(store: Store, ids: IdGenerator, clock: Arc<dyn Clock>, limits: ReadLimits) -> Self {
        ids.advance_past(store.greatest_id());
        Self(Arc::new(Inner { store, ids: Arc::new(ids), clock, limits }))
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// Returns the generator of ids.
    pub fn ids(&self) -> &Arc<IdGenerator> {
        &self.0.ids
    }

    /// Returns the typed reads of a transaction.
    pub fn db(&self, reader: Rc<dyn Reader>) -> Db {
        Db::new(reader, self.0.limits)
    }

    /// Returns the typed reads and writes of a transaction. New rows get the creation time `now`.
    pub fn db_mut(&self, transaction: Rc<Transaction>, now: Millis) -> DbMut {
        DbMut::new(transaction, self.0.limits, self.0.ids.clone(), now)
    }

    /// Reads on one snapshot. `work` may run more than once.
    ///
    /// # Errors
    /// Errors of `work` and of the store.
    pub async fn read<R: Send + 'static>(&self, work: impl Fn(&Db) -> Result<R> + Send + 'static) -> Result<R> {
        self.read_as(Access::Everyone, Box::new(work)).await
    }

    /// Like [`Database::read`], also while the store is closed because of its schema. For the operator.
    ///
    /// # Errors
    /// As [`Database::read`].
    pub async fn read_admin<R: Send + 'static>(&self, work: impl Fn(&Db) -> Result<R> + Send + 'static) -> Result<R> {
        self.read_as(Access::Admin, Box::new(work)).await
    }

    async fn read_as<R: Send + 'static>(&self, access: Access, work: ReadWork<R>) -> Result<R> {
        let database = self.clone();
        let read = move |reader: Rc<dyn Reader>| {
            catch_unwind(AssertUnwindSafe(|| work(&database.db(reader))))
                .unwrap_or_else(|panic| Err(Error::panicked(&*panic)))
        };
        // Always runs on a pool thread: microseconds do not matter here, and some of this work takes long.
        self.store().read(access, Flow::SYSTEM, &LatencyClass::unknown(), read).await.map_err(Error::from).flatten()
    }

    /// Like [`Database::read_admin`], on the calling thread. Waits for a reader if none is free.
    ///
    /// # Errors
    /// As [`Database::read`].
    pub fn read_blocking<R>(&self, work: impl Fn(&Db) -> Result<R>) -> Result<R> {
        self.store().read_blocking(Access::Admin, |reader| work(&self.db(reader))).map_err(Error::from)?
    }

    /// Writes in one transaction, also while the disk has too little space for users. `work` may run more than once.
    /// `name` is for the watchdog's log.
    ///
    /// # Errors
    /// Errors of `work` and of the store.
    pub async fn write<R: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Fn(&mut DbMut) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.write_as(Access::System, name, Box::new(work)).await
    }

    /// Like [`Database::write`], also while the store is closed because of its schema. For the operator.
    ///
    /// # Errors
    /// As [`Database::write`].
    pub async fn write_admin<R: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Fn(&mut DbMut) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.write_as(Access::Admin, name, Box::new(work)).await
    }

    async fn write_as<R: Send + 'static>(&self, access: Access, name: &'static str, work: WriteWork<R>) -> Result<R> {
        let (reply, answer) = oneshot::channel();
        let now = self.0.clock.now();
        let job = Job { database: self.clone(), access, name, now, work, outcome: None, reply };
        if let Err((_, error)) = self.store().write(Box::new(job)) {
            return Err(error.into());
        }
        answer.await.map_err(|_| Error::internal("the writer ended without an answer"))?
    }

    /// Deletes the rows that `old` finds, at most [`SWEEP_ROWS`] per transaction, until it finds no more.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn sweep<T: Table>(
        &self,
        name: &'static str,
        old: impl Fn(&Db) -> Result<Vec<Id<T>>> + Clone + Send + 'static,
    ) -> Result<()> {
        loop {
            let old = old.clone();
            let removed = self.write(name, move |db| {
                let ids = old(db)?;
                for id in &ids {
                    db.delete(*id)?;
                }
                Ok(ids.len())
            });
            if removed.await? < SWEEP_ROWS {
                return Ok(());
            }
        }
    }
}

struct Job<R> {
    database: Database,
    access: Access,
    name: &'static str,
    now: Millis,
    work: WriteWork<R>,
    outcome: Option<Result<R>>,
    reply: oneshot::Sender<Result<R>>,
}

impl<R: Send> WriteJob for Job<R> {
    fn run(&mut self, transaction: Rc<Transaction>) -> Result<(), Option<StoreError>> {
        let mut db = self.database.db_mut(transaction, self.now);
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(&mut db)));
        let result = result.unwrap_or_else(|panic| Err(Error::panicked(&*panic)));
        let kept = result.is_ok();
        self.outcome = Some(result);
        if kept { Ok(()) } else { Err(None) }
    }

    fn finish(self: Box<Self>, outcome: Result<(), StoreError>) {
        let result = match outcome {
            Ok(()) => self.outcome.unwrap_or_else(|| Err(Error::internal("a write was answered without a run"))),
            Err(error) => Err(error.into()),
        };
        // The caller may be gone; the write is independent of it.
        let _ = self.reply.send(result);
    }

    fn access(&self) -> Access {
        self.access
    }

    fn name(&self) -> &str {
        self.name
    }
}
