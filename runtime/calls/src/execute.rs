//! Runs a function in the executor of its kind: a reader's snapshot, the writer's transaction, or a task.
//!
//! Panics end here: the transaction rolls back, the caller receives `INTERNAL`, and the server continues.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::buckets::Payment;
use crate::context::mutation::AfterCommit;
use crate::context::prepared::{Prepared, Reading};
use crate::context::shared::Call;
use crate::context::{ActionCtx, ActionFn, MutationCtx, MutationFn, QueryCtx, QueryFn, Read as _};
use crate::function::{Function, IsAction, IsMutation, IsQuery, Visibility};
use crate::logs::Capture;
use crate::registry::Registered;
use crate::trace::{Failure, Span, SpanKind};
use convoke_core::error::{Error, Result};
use convoke_core::identity::Caller;
use convoke_store::{
    Access, Commit, Flow, LatencyClass, Nodes, ReadSet, Reader, RecordingReader, StoreError, Transaction, WriteJob,
};

/// Runs a query's work on one snapshot. If the result does not fit between concurrent mutations, runs it again on
/// another snapshot.
///
/// # Errors
/// Those of the work; `TIMEOUT`, `OVERLOADED`, `UNAVAILABLE` of the store.
pub(crate) async fn query<R: Send + 'static>(
    call: Arc<Call>,
    capture: Capture,
    function: &Registered,
    work: impl Fn(&QueryCtx) -> Result<R> + Send + 'static,
) -> Result<R> {
    read(call, capture, function, &function.latency, work).await
}

/// As [`query`]; returns also the read set.
pub(crate) async fn recorded_query<R: Send + 'static>(
    call: Arc<Call>,
    capture: Capture,
    function: &Registered,
    work: impl Fn(&QueryCtx) -> Result<R> + Send + 'static,
) -> Result<(R, ReadSet)> {
    let noted_max = call.services.limits().live_reads_noted_max;
    let work = move |call: &Arc<Call>, reader| {
        let reader = Rc::new(RecordingReader::new(reader, noted_max));
        let value = work(&query_ctx(call, reader.clone()))?;
        Ok((value, reader.take()))
    };
    on_reader(call, capture, function, &function.latency, work).await
}

/// As [`query`], at an earlier commit: it runs on the latest snapshot, and fails if a commit in between has changed
/// data that the query reads. No old snapshots stay open, because they would prevent the checkpoint of the log.
///
/// # Errors
/// As [`query`]; `FAILED_PRECONDITION` if a commit in between has changed the data, if the commits in between are
/// unknown, or if several nodes serve the database, because each node numbers its commits.
pub(crate) async fn query_as_of<R: Send + 'static>(
    call: Arc<Call>,
    capture: Capture,
    function: &Registered,
    as_of: Commit,
    work: impl Fn(&QueryCtx) -> Result<R> + Send + 'static,
) -> Result<R> {
    if !matches!(call.services.store().nodes(), Nodes::Alone) {
        return Err(Error::failed_precondition(
            "Several nodes may serve this database, and a `ts` is valid on one node only. Use POST /api/query_batch, \
             which runs all its queries on one snapshot",
        ));
    }
    let noted_max = call.services.limits().live_reads_noted_max;
    let work = move |call: &Arc<Call>, reader: Rc<dyn Reader>| {
        let shown = reader.pin()?;
        let reader = Rc::new(RecordingReader::new(reader, noted_max));
        let result = work(&query_ctx(call, reader.clone()));
        match call.services.store().commits().stood(&reader.take(), as_of, shown) {
            true => result,
            false => Err(Error::failed_precondition(
                "The data that this query reads has changed since `ts`, or `ts` is too old. Get a new `ts` from POST \
                 /api/query_ts and run all queries again; with npm's ConvexHttpClient, create a new client",
            )),
        }
    };
    on_reader(call, capture, function, &function.latency, work).await
}

async fn read<R: Send + 'static>(
    call: Arc<Call>,
    capture: Capture,
    function: &Registered,
    latency: &LatencyClass,
    work: impl Fn(&QueryCtx) -> Result<R> + Send + 'static,
) -> Result<R> {
    on_reader(call, capture, function, latency, move |call, reader| work(&query_ctx(call, reader))).await
}

fn query_ctx(call: &Arc<Call>, reader: Rc<dyn Reader>) -> QueryCtx {
    QueryCtx::new(call.clone(), call.services.database().db(reader))
}

async fn on_reader<R: Send + 'static>(
    call: Arc<Call>,
    capture: Capture,
    function: &Registered,
    latency: &LatencyClass,
    work: impl Fn(&Arc<Call>, Rc<dyn Reader>) -> Result<R> + Send + 'static,
) -> Result<R> {
    // As in a mutation: the caller sees only the log lines and charges of the last attempt.
    let lines = capture.of_attempts(function.path.clone());
    let charged_before = call.charges.asked();
    let run = {
        let (call, lines) = (call.clone(), lines.clone());
        move |reader: Rc<dyn Reader>| {
            lines.restart();
            call.charges.again_from(charged_before);
            let visited = reader.clone();
            let result = lines
                .within(|| catch_unwind(AssertUnwindSafe(|| work(&call, reader))))
                .unwrap_or_else(|panic| Err(Error::panicked(&*panic)));
            call.work.rows_read.fetch_add(visited.rows_visited(), Relaxed);
            result
        }
    };
    let clock = call.services.clock();
    // A quick query seldom waits, and its call began just before.
    let asked_at = if latency.is_quick() { call.began } else { clock.monotonic() };
    // Passes the lines on even if the query is cancelled, as by a time limit in an action.
    let _passed_on = PassedOn { lines, capture };
    let span = call.span.child("read", SpanKind::Internal);
    let read = call.services.store().read_timed(access(&call), call.flow, latency, run).await;
    let result = match read {
        Ok((result, ran_in_turn)) => {
            if let Some(ran) = ran_in_turn {
                call.work.add_wait(clock.monotonic().saturating_sub(asked_at).saturating_sub(ran));
            }
            result
        }
        Err(error) => Err(with_its_limit(error, "query", "setting limits.query_timeout")),
    };
    span.end(result.as_ref().err().and_then(Failure::of));
    result
}

/// Converts an error for the caller. For a timeout, it names the setting of the limit.
fn with_its_limit(error: StoreError, what: &str, setting: &str) -> Error {
    match error {
        StoreError::Deadline { limit_ms } => past_its_limit(what, Duration::from_millis(limit_ms), setting),
        error => error.into(),
    }
}

fn past_its_limit(what: &str, limit: Duration, setting: &str) -> Error {
    let limit = humantime::format_duration(limit);
    Error::timeout(format!("The {what} ran longer than {limit} ({setting})"))
}

/// Passes the lines to `capture` when it is dropped.
struct PassedOn {
    lines: Capture,
    capture: Capture,
}

impl Drop for PassedOn {
    fn drop(&mut self) {
        self.capture.append(self.lines.take());
    }
}

/// Runs a mutation's work in the writer's transaction, possibly more than once. Between two attempts, a reader reads
/// the rows that the mutation requested.
///
/// # Errors
/// Those of the work; `TIMEOUT`, `OVERLOADED`, `COMMIT_UNKNOWN`, `NOT_READY` of the store.
pub(crate) async fn mutation<R: Send + 'static>(
    call: Arc<Call>,
    capture: Capture,
    function: &Registered,
    work: impl Fn(&mut MutationCtx) -> Result<R> + Send + 'static,
) -> Result<R> {
    let span = call.span.child("transaction", SpanKind::Internal);
    let result = attempts(call, capture, function, work, &span).await;
    span.end(result.as_ref().err().and_then(Failure::of));
    result
}

async fn attempts<R: Send + 'static>(
    call: Arc<Call>,
    capture: Capture,
    function: &Registered,
    work: impl Fn(&mut MutationCtx) -> Result<R> + Send + 'static,
    span: &Span,
) -> Result<R> {
    let mut attempt = Attempt { work, ahead: Prepared::default(), charged_before: None, bytes_paid: 0 };
    loop {
        let (reply, answer) = oneshot::channel();
        // Each attempt starts with empty lines; the caller sees only those of the last one.
        let lines = capture.of_attempts(function.path.clone());
        let job = Job {
            call: call.clone(),
            attempt,
            function: function.clone(),
            capture: lines.clone(),
            queued_at: Some(call.services.clock().monotonic()),
            outcome: None,
            after_commit: Vec::new(),
            reply,
            span: span.clone(),
        };
        if let Err((_, error)) = call.services.store().write(Box::new(job)) {
            return Err(error.into());
        }
        match answer.await.map_err(|_| Error::internal("the writer ended without a response"))? {
            JobReply::Done(result) => {
                capture.append(lines.take());
                return result;
            }
            JobReply::ReadFirst(reading, given_up) => {
                lines.restart();
                // Not a quick read: reads that are worth a second attempt take long. Boxed, because few mutations need
                // it and every mutation's future would otherwise be as large.
                let latency = LatencyClass::unknown();
                let found = Box::pin(read(call.clone(), lines.clone(), function, &latency, reading)).await;
                match found {
                    Ok(found) => {
                        attempt = *given_up;
                        attempt.ahead.add(found);
                    }
                    Err(error) => {
                        capture.append(lines.take());
                        return Err(error);
                    }
                }
            }
        }
    }
}

/// A mutation before an attempt.
struct Attempt<W> {
    work: W,
    /// Results that were read ahead.
    ahead: Prepared,
    /// Charges of the call before the first attempt.
    charged_before: Option<u32>,
    /// Bytes that earlier attempts were charged for.
    bytes_paid: u64,
}

enum JobReply<R, W> {
    /// The mutation ran to its end.
    Done(Result<R>),
    /// The attempt was abandoned: run the reading before the next attempt.
    ReadFirst(Reading, Box<Attempt<W>>),
}

struct Job<R, W> {
    call: Arc<Call>,
    attempt: Attempt<W>,
    function: Registered,
    capture: Capture,
    /// Time at which the job was queued; none after the first attempt.
    queued_at: Option<Duration>,
    outcome: Option<AttemptResult<R>>,
    after_commit: Vec<AfterCommit>,
    reply: oneshot::Sender<JobReply<R, W>>,
    /// The span of the transaction.
    span: Span,
}

enum AttemptResult<R> {
    Returned(Result<R>),
    ReadFirst(Reading),
}

impl<R: Send, W: Fn(&mut MutationCtx) -> Result<R> + Send> WriteJob for Job<R, W> {
    fn run(&mut self, transaction: Rc<Transaction>) -> Result<(), Option<StoreError>> {
        self.capture.restart();
        let Attempt { work, ahead, charged_before, bytes_paid } = &mut self.attempt;
        let charges = &self.call.charges;
        charges.again_from(*charged_before.get_or_insert_with(|| charges.asked()));
        let services = &self.call.services;
        let (start, measured) = (services.clock().monotonic(), self.function.latency.begin());
        if let Some(queued_at) = self.queued_at.take() {
            self.call.work.add_wait(start.saturating_sub(queued_at));
        }
        let db = services.database().db_mut(transaction, self.call.now);
        let mut ctx = MutationCtx::new(self.call.clone(), db, std::mem::take(ahead), self.span.clone());
        let result = self
            .capture
            .within(|| catch_unwind(AssertUnwindSafe(|| work(&mut ctx))))
            .unwrap_or_else(|panic| Err(Error::panicked(&*panic)));
        let result = ctx.without_mistake(result);
        self.function.latency.record(services.clock().monotonic().saturating_sub(start), measured.waited());
        let writer = ctx.db_mut().writer();
        let written = writer.bytes_written();
        self.call.work.rows_read.fetch_add(writer.rows_visited(), Relaxed);
        self.call.work.rows_written.fetch_add(writer.rows_written(), Relaxed);
        let (after_commit, mut prepared) = ctx.into_parts();
        let asked = prepared.take_request();
        *ahead = prepared;
        let result = match (result, &asked) {
            (Ok(value), None) => {
                let owed = written.saturating_sub(*bytes_paid);
                services.charge_bytes(&self.call.caller, owed, self.call.payment).map(|()| {
                    *bytes_paid += owed;
                    value
                })
            }
            (result, _) => result,
        };
        let kept = result.is_ok() && asked.is_none();
        self.after_commit = if kept { after_commit } else { Vec::new() };
        self.outcome = Some(asked.map_or_else(|| AttemptResult::Returned(result), AttemptResult::ReadFirst));
        if kept { Ok(()) } else { Err(None) }
    }

    fn finish(self: Box<Self>, outcome: Result<(), StoreError>) {
        let answer = match (outcome, self.outcome) {
            (Ok(()), Some(AttemptResult::Returned(result))) => {
                for work in self.after_commit {
                    // The commit is final, even if the work on memory beside the database fails.
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
                        tracing::error!(target: "convoke::call", "after a commit: {}", Error::panicked(&*panic).chain());
                    }
                }
                JobReply::Done(result)
            }
            (Ok(()), Some(AttemptResult::ReadFirst(reading))) => JobReply::ReadFirst(reading, Box::new(self.attempt)),
            (Ok(()), None) => JobReply::Done(Err(Error::internal("a mutation finished without a run"))),
            (Err(error), _) => {
                JobReply::Done(Err(with_its_limit(error, "mutation", "setting limits.mutation_timeout")))
            }
        };
        // The caller may be gone; that does not affect the mutation.
        let _ = self.reply.send(answer);
    }

    fn slow(&self) -> bool {
        self.function.latency.is_slow()
    }

    fn access(&self) -> Access {
        access(&self.call)
    }

    fn flow(&self) -> Flow {
        self.call.flow
    }

    fn name(&self) -> &str {
        &self.function.path
    }
}

/// Returns the access of a call. While the schema does not fit, only the operator's functions run, such as migrations.
/// While the disk is almost full, the operator's calls and the runtime's own work continue, because they free space.
/// Jobs continue for every user: waiting jobs would take the places of jobs that free space.
pub(crate) fn access(call: &Call) -> Access {
    match (call.def.visibility, &call.caller) {
        (Visibility::Admin, Caller::DeployKey(_) | Caller::System) => Access::Admin,
        (_, Caller::System) => Access::System,
        (_, Caller::DeployKey(key)) if key.acting_as.is_none() => Access::System,
        (_, Caller::User(_)) if call.payment == Payment::Later => Access::System,
        (_, Caller::Nobody | Caller::User(_) | Caller::DeployKey(_)) => Access::Everyone,
    }
}

/// Runs an action's work as a separate task. It continues when its caller disconnects, and ends at its time limit.
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
    let own = call.def.route.and_then(|route| route.timeout);
    let (limit, setting) = match own {
        Some(limit) => (limit, "timeout of its #[route]"),
        None => (call.services.limits().action_timeout, "setting limits.action_timeout"),
    };
    let ctx = ActionCtx::new(call, capture.clone());
    let task = tokio::spawn(async move {
        let _running = permit;
        let work = AssertUnwindSafe(capture.around(async move { work(ctx).await })).catch_unwind();
        match tokio::time::timeout(limit, work).await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => Err(Error::panicked(&*panic)),
            Err(_) => Err(past_its_limit("action", limit, setting)),
        }
    });
    task.await.map_err(Error::internal).flatten()
}

impl ActionCtx {
    /// Calls a function as the same caller. Each query or mutation is a separate transaction.
    ///
    /// # Errors
    /// Those of the function; `INTERNAL` beyond a depth of 64 such calls.
    pub fn run<F: Function>(&self, args: impl Into<F::Args>) -> impl Future<Output = Result<F::Output>> + Send
    where
        F::Kind: Run<F>,
    {
        let services = &self.call.services;
        services.count_nested(F::DEF);
        let span = self.call.span.child_with(SpanKind::Internal, || services.path_of(F::DEF).into());
        let nested = self.call.nested(F::DEF).map(|call| Arc::new(call.within(span.clone())));
        let run = nested.map(|call| <F::Kind as Run<F>>::run(call, self.capture.clone(), args.into()));
        async move {
            let result = match run {
                Ok(run) => run.await,
                Err(error) => Err(error),
            };
            span.end(result.as_ref().err().and_then(Failure::of));
            result
        }
    }
}

/// Checks the rights of an action on one snapshot, as a part of its call.
///
/// # Errors
/// Those of the check; those of a query.
pub async fn on_snapshot<F: ActionFn, T: Send + 'static>(
    ctx: &ActionCtx,
    check: impl Fn(&QueryCtx) -> Result<T> + Send + 'static,
) -> Result<T> {
    let function = ctx.call.services.function::<F>()?;
    query(Arc::new(ctx.call.begun_now()), ctx.capture.clone(), &function, check).await
}

/// Runs a function, named by its type, in the executor of its kind.
pub trait Run<F: Function> {
    /// Runs it as part of `call`.
    #[doc(hidden)]
    fn run(
        call: Arc<Call>,
        capture: Capture,
        args: F::Args,
    ) -> impl Future<Output = Result<F::Output>> + Send + use<F, Self>;

    /// Runs it as a separate call, which begins outside of any function.
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
        let function = call.services.function::<F>()?;
        query(call, capture, &function, move |ctx| F::invoke(ctx, args.clone())).await
    }
}

impl<F: MutationFn> Run<F> for IsMutation {
    async fn run(call: Arc<Call>, capture: Capture, args: F::Args) -> Result<F::Output> {
        let function = call.services.function::<F>()?;
        let lease = call.lease.clone();
        let work = move |ctx: &mut MutationCtx| {
            lease.as_ref().map_or(Ok(()), |is_held| is_held(ctx.db()))?;
            F::invoke(ctx, args.clone())
        };
        mutation(call, capture, &function, work).await
    }
}

impl<F: ActionFn> Run<F> for IsAction {
    async fn run(call: Arc<Call>, capture: Capture, args: F::Args) -> Result<F::Output> {
        // Inside an action, the caller's time limit applies, so it needs no separate task.
        let ctx = ActionCtx::new(call, capture);
        F::invoke(ctx, args).await
    }

    async fn start(call: Arc<Call>, capture: Capture, args: F::Args) -> Result<F::Output> {
        let permit = call.services.action_permit()?;
        action(call, capture, permit, move |ctx| F::invoke(ctx, args)).await
    }
}
