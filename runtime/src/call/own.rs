//! The runtime's own reads and writes: transactions that no function asked for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use tokio::sync::oneshot;

use super::execute::panicked;
use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::runtime::Runtime;
use crate::store::{Access, Db, DbMut, FunctionPace, StoreError, Table, Transaction, WriteJob};

/// Rows that one transaction of [`sweep`] removes: some milliseconds of the writer.
pub(crate) const SWEEP_ROWS: usize = 100;

/// Reads in one snapshot.
///
/// # Errors
/// Those of the work and of the store.
pub(crate) async fn read<R: Send + 'static>(
    runtime: &Runtime,
    work: impl FnOnce(&Db) -> Result<R> + Send + 'static,
) -> Result<R> {
    read_as(runtime, Access::Everyone, work).await
}

/// As [`read`], also while the store is closed for its schema: for the operator.
///
/// # Errors
/// As [`read`].
pub(crate) async fn read_admin<R: Send + 'static>(
    runtime: &Runtime,
    work: impl FnOnce(&Db) -> Result<R> + Send + 'static,
) -> Result<R> {
    read_as(runtime, Access::Admin, work).await
}

async fn read_as<R: Send + 'static>(
    runtime: &Runtime,
    access: Access,
    work: impl FnOnce(&Db) -> Result<R> + Send + 'static,
) -> Result<R> {
    let reader = runtime.clone();
    let read = move |transaction: Rc<dyn Transaction>| {
        catch_unwind(AssertUnwindSafe(|| work(&reader.db(transaction)))).unwrap_or_else(|panic| Err(panicked(&*panic)))
    };
    // Always on a thread for such work: nobody waits for a microsecond here, and some of it takes long.
    runtime.store().read(access, &FunctionPace::unknown(), read).await.map_err(Error::from).flatten()
}

/// Writes in one transaction, possibly more than once; `name` is what the watchdog calls it.
///
/// # Errors
/// Those of the work and of the store.
pub(crate) async fn write<R: Send + 'static>(
    runtime: &Runtime,
    name: &'static str,
    work: impl Fn(&mut DbMut) -> Result<R> + Send + 'static,
) -> Result<R> {
    write_as(runtime, Access::Everyone, name, work).await
}

/// As [`write`], also while the store is closed for its schema: for the operator.
///
/// # Errors
/// As [`write`].
pub(crate) async fn write_admin<R: Send + 'static>(
    runtime: &Runtime,
    name: &'static str,
    work: impl Fn(&mut DbMut) -> Result<R> + Send + 'static,
) -> Result<R> {
    write_as(runtime, Access::Admin, name, work).await
}

async fn write_as<R: Send + 'static>(
    runtime: &Runtime,
    access: Access,
    name: &'static str,
    work: impl Fn(&mut DbMut) -> Result<R> + Send + 'static,
) -> Result<R> {
    let (reply, answer) = oneshot::channel();
    let now = runtime.clock().now();
    let job = Job { runtime: runtime.clone(), access, name, now, work, outcome: None, reply };
    if let Err((_, error)) = runtime.store().write(Box::new(job)) {
        return Err(error.into());
    }
    answer.await.map_err(|_| Error::internal("the writer ended without an answer"))?
}

/// Removes the rows that `old` finds, at most [`SWEEP_ROWS`] a transaction, until it finds none.
///
/// # Errors
/// A failure of the store.
pub(crate) async fn sweep<T: Table>(
    runtime: &Runtime,
    name: &'static str,
    old: impl Fn(&Db) -> Result<Vec<Id<T>>> + Clone + Send + 'static,
) -> Result<()> {
    loop {
        let old = old.clone();
        let removed = write(runtime, name, move |db| {
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

struct Job<R, W> {
    runtime: Runtime,
    access: Access,
    name: &'static str,
    now: Millis,
    work: W,
    outcome: Option<Result<R>>,
    reply: oneshot::Sender<Result<R>>,
}

impl<R: Send, W: Fn(&mut DbMut) -> Result<R> + Send> WriteJob for Job<R, W> {
    fn run(&mut self, transaction: Rc<dyn Transaction>) -> Result<(), Option<StoreError>> {
        let mut db = DbMut::new(self.runtime.db(transaction), self.runtime.ids().clone(), self.now);
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(&mut db)));
        let result = result.unwrap_or_else(|panic| Err(panicked(&*panic)));
        let kept = result.is_ok();
        self.outcome = Some(result);
        if kept { Ok(()) } else { Err(None) }
    }

    fn finish(self: Box<Self>, outcome: Result<(), StoreError>) {
        let result = match outcome {
            Ok(()) => self.outcome.unwrap_or_else(|| Err(Error::internal("a write was answered without a run"))),
            Err(error) => Err(error.into()),
        };
        // Whoever asked may be gone; the write stands or falls without them.
        let _ = self.reply.send(result);
    }

    fn access(&self) -> Access {
        self.access
    }

    fn name(&self) -> &str {
        self.name
    }
}
