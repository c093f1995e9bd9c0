//! Runs a function in its kind's executor: a reader's snapshot, the writer's transaction, a task.
//!
//! Panics end here: the transaction rolls back, the caller gets `INTERNAL`, the server lives.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::context::mutation::AfterCommit;
use crate::context::shared::Call;
use crate::context::{ActionCtx, MutationCtx, QueryCtx};
use crate::error::{Error, Result};
use crate::function::{ActionFn, Function, IsAction, IsMutation, IsQuery, MutationFn, QueryFn, Visibility};
use crate::identity::Caller;
use crate::logs::{Capture, LogLines};
use crate::registry::Registered;
use crate::runtime::Runtime;
use crate::store::{Access, Db, DbMut, StoreError, Transaction, WriteJob};

/// Runs a query's work on one snapshot.
///
/// # Errors
/// Those of the work; `TIMEOUT`, `OVERLOADED`, `UNAVAILABLE` of the store.
pub(crate) async fn query<R: Send + 'static>(
    call: Arc<Call>,
    capture: Capture,
    function: &Registered,
    work: impl FnOnce(&QueryCtx) -> Result<R> + Send + 'static,
) -> Result<R> {
    let its = call.clone();
    let run = move |transaction: Rc<dyn Transaction>| {
        let db = its.runtime.db(transaction);
        let ctx = QueryCtx::new(its, db);
        capture.within(|| catch_unwind(AssertUnwindSafe(|| work(&ctx)))).unwrap_or_else(|panic| Err(panicked(&*panic)))
    };
    call.runtime.store().read(access(&call), &function.pace, run).await.map_err(Error::from).flatten()
}

/// Runs a mutation's work in the writer's transaction, possibly more than once.
///
/// # Errors
/// Those of the work; `TIMEOUT`, `OVERLOADED`, `COMMIT_UNKNOWN`, `NOT_READY` of the store.
pub(crate) async fn mutation<R: Send + 'static>(
    call: Arc<Call>,
    capture: Capture,
    function: &Registered,
    work: impl Fn(&mut MutationCtx) -> Result<R> + Send + 'static,
) -> Result<R> {
    let (reply, answer) = oneshot::channel();
    // Each attempt starts with fresh lines; only those of the last one are the caller's.
    let attempt = capture.of_attempts(function.path.clone());
    let job = Job {
        call: call.clone(),
        work,
        function: function.clone(),
        capture: attempt,
        asked_before: None,
        outcome: None,
        after_commit: Vec::new(),
        reply,
    };
    if let Err((_, error)) = call.runtime.store().write(Box::new(job)) {
        return Err(error.into());
    }
    let (result, lines) = answer.await.map_err(|_| Error::internal("the writer ended without an answer"))?;
    capture.append(lines);
    result
}

struct Job<R, W> {
    call: Arc<Call>,
    work: W,
    function: Registered,
    capture: Capture,
    /// What the call was charged before the first attempt.
    asked_before: Option<u32>,
    outcome: Option<Result<R>>,
    after_commit: Vec<AfterCommit>,
    reply: oneshot::Sender<(Result<R>, LogLines)>,
}

impl<R: Send, W: Fn(&mut MutationCtx) -> Result<R> + Send> WriteJob for Job<R, W> {
    fn run(&mut self, transaction: Rc<dyn Transaction>) -> Result<(), Option<StoreError>> {
        self.capture.restart();
        let charges = &self.call.charges;
        charges.again_from(*self.asked_before.get_or_insert_with(|| charges.asked()));
        let runtime = &self.call.runtime;
        let start = runtime.clock().monotonic();
        let db = DbMut::new(runtime.db(transaction), runtime.ids().clone(), self.call.now);
        let mut ctx = MutationCtx::new(self.call.clone(), db);
        let result = self
            .capture
            .within(|| catch_unwind(AssertUnwindSafe(|| (self.work)(&mut ctx))))
            .unwrap_or_else(|panic| Err(panicked(&*panic)));
        self.function.pace.record(runtime.clock().monotonic().saturating_sub(start));
        let kept = result.is_ok();
        self.after_commit = if kept { ctx.into_after_commit() } else { Vec::new() };
        self.outcome = Some(result);
        if kept { Ok(()) } else { Err(None) }
    }

    fn finish(self: Box<Self>, outcome: Result<(), StoreError>) {
        let result = match outcome {
            Ok(()) => {
                for work in self.after_commit {
                    // What is committed stands, whatever becomes of the memory beside it.
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
                        tracing::error!(target: "convoke::call", "after a commit: {}", panicked(&*panic).chain());
                    }
                }
                self.outcome.unwrap_or_else(|| Err(Error::internal("a mutation was answered without a run")))
            }
            Err(error) => Err(error.into()),
        };
        // Whoever asked may be gone; the mutation stands or falls without them.
        let _ = self.reply.send((result, self.capture.take()));
    }

    fn slow(&self) -> bool {
        self.function.pace.is_slow()
    }

    fn access(&self) -> Access {
        access(&self.call)
    }

    fn name(&self) -> &str {
        &self.function.path
    }
}

/// While the store is closed for a schema that does not fit, only the operator's functions run: the migration.
fn access(call: &Call) -> Access {
    match (call.entry.visibility, &call.caller) {
        (Visibility::Admin, Caller::DeployKey(_) | Caller::System) => Access::Admin,
        (_, Caller::Nobody | Caller::User(_) | Caller::DeployKey(_) | Caller::System) => Access::Everyone,
    }
}

/// Runs an action's work as a task of its own: it goes on when its caller disconnects, and ends at its limit.
///
/// # Errors
/// Those of the work; `TIMEOUT`.
pub(crate) async fn action<R, F>(
    call: Arc<Call>,
    capture: Capture,
    permit: OwnedSemaphorePermit,
    work: impl FnOnce(ActionCtx) -> F + Send + 'static,
) -> Result<R>
where
    R: Send + 'static,
    F: Future<Output = Result<R>> + Send + 'static,
{
    let runtime = call.runtime.clone();
    let limit = runtime.limits().action_timeout;
    let ctx = ActionCtx::new(call, capture.clone());
    let task = tokio::spawn(async move {
        let _running = permit;
        let work = AssertUnwindSafe(capture.around(async move { work(ctx).await })).catch_unwind();
        match tokio::time::timeout(limit, work).await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => Err(panicked(&*panic)),
            Err(_) => Err(Error::timeout(format!("The action ran longer than {} s", limit.as_secs()))),
        }
    });
    task.await.map_err(Error::internal).flatten()
}

pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Error {
    let said = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned());
    Error::internal(format!("the function panicked: {said}"))
}

/// Runs a function that is named by its type, in its kind's executor.
pub trait Run<F: Function> {
    /// Runs it as part of `call`.
    #[doc(hidden)]
    fn run(
        call: Arc<Call>,
        capture: Capture,
        args: F::Args,
    ) -> impl Future<Output = Result<F::Output>> + Send + use<F, Self>;

    /// Runs it as a call of its own, which begins outside of any function.
    #[doc(hidden)]
    fn start(
        call: Arc<Call>,
        capture: Capture,
        args: F::Args,
    ) -> impl Future<Output = Result<F::Output>> + Send + use<F, Self> {
        Self::run(call, capture, args)
    }
}

impl<F: QueryFn> Run<F> for IsQuery {
    async fn run(call: Arc<Call>, capture: Capture, args: F::Args) -> Result<F::Output> {
        let function = call.runtime.function::<F>()?;
        query(call, capture, &function, move |ctx| F::invoke(ctx, args)).await
    }
}

impl<F: MutationFn> Run<F> for IsMutation {
    async fn run(call: Arc<Call>, capture: Capture, args: F::Args) -> Result<F::Output> {
        let function = call.runtime.function::<F>()?;
        mutation(call, capture, &function, move |ctx| F::invoke(ctx, args.clone())).await
    }
}

impl<F: ActionFn> Run<F> for IsAction {
    async fn run(call: Arc<Call>, capture: Capture, args: F::Args) -> Result<F::Output> {
        // Inside an action: its time is the caller's, so it needs no task of its own.
        let ctx = ActionCtx::new(call, capture);
        F::invoke(ctx, args).await
    }

    async fn start(call: Arc<Call>, capture: Capture, args: F::Args) -> Result<F::Output> {
        let permit = call.runtime.action_permit()?;
        action(call, capture, permit, move |ctx| F::invoke(ctx, args)).await
    }
}

impl Runtime {
    /// Reads the database in one snapshot, on the thread that calls: for tools, tests and programs that embed the
    /// runtime. Functions read through their context.
    ///
    /// # Errors
    /// Those of `work` and of the store.
    pub fn read<R>(&self, work: impl FnOnce(&Db) -> Result<R>) -> Result<R> {
        self.store().read_blocking(Access::Admin, |transaction| work(&self.db(transaction))).map_err(Error::from)?
    }

    pub(crate) fn db(&self, transaction: Rc<dyn Transaction>) -> Db {
        Db::new(transaction, self.limits().page_bytes_max, self.limits().response_bytes_max)
    }
}
