//! Runs a function in its kind's executor: a reader's snapshot, the writer's transaction, a task.
//!
//! Panics end here: the transaction rolls back, the caller gets `INTERNAL`, the server lives.

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
use convoke_core::error::{Error, Result};
use convoke_core::identity::Caller;
use convoke_store::{
    Access, Commit, Flow, LatencyClass, Nodes, ReadSet, Reader, RecordingReader, StoreError, WriteJob, Writer,
};

/// Runs a query's work on one snapshot, and again on another one where that does not fit between the mutations beside it.
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

/// As [`query`]; returns also what was read.
///
/// # Errors
/// As [`query`].
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

/// As [`query`], as of a commit that was the newest one before: on the newest snapshot, where no commit in between has
/// touched what the query reads. Older snapshots are not held open, since they would keep the log from being copied back.
///
/// # Errors
/// As [`query`]; `FAILED_PRECONDITION` if a commit in between has touched it, if the commits in between are not known, or
/// where several nodes serve the database, whose commits are numbered by each node.
pub(crate) async fn query_as_of<R: Send + 'static>(
    call: Arc<Call>,
    capture: Capture,
    function: &Registered,
    as_of: Commit,
    work: impl Fn(&QueryCtx) -> Result<R> + Send + 'static,
) -> Result<R> {
    if !matches!(call.services.store().nodes(), Nodes::Alone) {
        return Err(Error::failed_precondition(
            "Several nodes may serve this database, and no `ts` names a state of all of them. Use POST /api/query_batch, \
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
                "What this query reads has changed since `ts`, or `ts` is too old. Get a new `ts` from POST /api/query_ts \
                 and run all queries again; npm's ConvexHttpClient does so if a new client is made",
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
    // As with a mutation: the lines and the charges of the last run are the caller's.
    let lines = capture.of_attempts(function.path.clone());
    let asked_before = call.charges.asked();
    let run = {
        let (call, lines) = (call.clone(), lines.clone());
        move |reader: Rc<dyn Reader>| {
            lines.restart();
            call.charges.again_from(asked_before);
            let visited = reader.clone();
            let result = lines
                .within(|| catch_unwind(AssertUnwindSafe(|| work(&call, reader))))
                .unwrap_or_else(|panic| Err(Error::panicked(&*panic)));
            call.work.rows_read.fetch_add(visited.rows_visited(), Relaxed);
            result
        }
    };
    let clock = call.services.clock();
    // A quick one seldom waits, and then its call began just before.
    let asked_at = if latency.is_quick() { call.began } else { clock.monotonic() };
    // Also of one that is given up, as by a time limit in an action.
    let _passed_on = PassedOn { lines, capture };
    let read = call.services.store().read_timed(access(&call), call.flow, latency, run).await;
    let (result, ran_in_turn) = read.map_err(|error| with_its_limit(error, "query", "query_timeout"))?;
    if let Some(ran) = ran_in_turn {
        call.work.add_wait(clock.monotonic().saturating_sub(asked_at).saturating_sub(ran));
    }
    result
}

/// The error for the caller; of one past its time limit with the setting that has the limit.
fn with_its_limit(error: StoreError, what: &str, setting: &str) -> Error {
    match error {
        StoreError::Deadline { limit_ms } => past_its_limit(what, Duration::from_millis(limit_ms), setting),
        error => error.into(),
    }
}

fn past_its_limit(what: &str, limit: Duration, setting: &str) -> Error {
    let limit = humantime::format_duration(limit);
    Error::timeout(format!("The {what} ran longer than {limit} (setting limits.{setting})"))
}

/// Passes lines on when it falls.
struct PassedOn {
    lines: Capture,
    capture: Capture,
}

impl Drop for PassedOn {
    fn drop(&mut self) {
        self.capture.append(self.lines.take());
    }
}

/// Runs a mutation's work in the writer's transaction, possibly more than once, and between two times what it asks to
/// have read on a reader.
///
/// # Errors
/// Those of the work; `TIMEOUT`, `OVERLOADED`, `COMMIT_UNKNOWN`, `NOT_READY` of the store.
pub(crate) async fn mutation<R: Send + 'static>(
    call: Arc<Call>,
    capture: Capture,
    function: &Registered,
    work: impl Fn(&mut MutationCtx) -> Result<R> + Send + 'static,
) -> Result<R> {
    let mut attempt = Attempt { work, ahead: Prepared::default(), asked_before: None, bytes_paid: 0 };
    loop {
        let (reply, answer) = oneshot::channel();
        // Each attempt starts with fresh lines; only those of the last one are the caller's.
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
        };
        if let Err((_, error)) = call.services.store().write(Box::new(job)) {
            return Err(error.into());
        }
        match answer.await.map_err(|_| Error::internal("the writer ended without an answer"))? {
            Answer::Done(result) => {
                capture.append(lines.take());
                return result;
            }
            Answer::ReadFirst(reading, given_up) => {
                lines.restart();
                // Always on a thread for such work: what is worth an attempt takes long. On the heap, for those few: every
                // mutation's future would be as large.
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

/// A mutation before it runs.
struct Attempt<W> {
    work: W,
    /// What was read for it.
    ahead: Prepared,
    /// What the call was charged before the first attempt.
    asked_before: Option<u32>,
    /// The bytes that it was charged for when it ran before.
    bytes_paid: u64,
}

enum Answer<R, W> {
    /// It ran to its end.
    Done(Result<R>),
    /// It was given up: this is to be read before it runs again.
    ReadFirst(Reading, Box<Attempt<W>>),
}

struct Job<R, W> {
    call: Arc<Call>,
    attempt: Attempt<W>,
    function: Registered,
    capture: Capture,
    /// Time at which it was given to the writer; none once it has run.
    queued_at: Option<Duration>,
    outcome: Option<Outcome<R>>,
    after_commit: Vec<AfterCommit>,
    reply: oneshot::Sender<Answer<R, W>>,
}

enum Outcome<R> {
    Returned(Result<R>),
    Asked(Reading),
}

impl<R: Send, W: Fn(&mut MutationCtx) -> Result<R> + Send> WriteJob for Job<R, W> {
    fn run(&mut self, writer: Rc<dyn Writer>) -> Result<(), Option<StoreError>> {
        self.capture.restart();
        let Attempt { work, ahead, asked_before, bytes_paid } = &mut self.attempt;
        let charges = &self.call.charges;
        charges.again_from(*asked_before.get_or_insert_with(|| charges.asked()));
        let services = &self.call.services;
        let (start, measured) = (services.clock().monotonic(), self.function.latency.begin());
        if let Some(queued_at) = self.queued_at.take() {
            self.call.work.add_wait(start.saturating_sub(queued_at));
        }
        let db = services.database().db_mut(writer, self.call.now);
        let mut ctx = MutationCtx::new(self.call.clone(), db, std::mem::take(ahead));
        let result = self
            .capture
            .within(|| catch_unwind(AssertUnwindSafe(|| work(&mut ctx))))
            .unwrap_or_else(|panic| Err(Error::panicked(&*panic)));
        self.function.latency.record(services.clock().monotonic().saturating_sub(start), measured.waited());
        let writer = ctx.db_mut().writer();
        let written = writer.bytes_written();
        self.call.work.rows_read.fetch_add(writer.rows_visited(), Relaxed);
        self.call.work.rows_written.fetch_add(writer.rows_written(), Relaxed);
        let (after_commit, mut prepared) = ctx.into_parts();
        let asked = prepared.take_asked();
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
        self.outcome = Some(asked.map_or_else(|| Outcome::Returned(result), Outcome::Asked));
        if kept { Ok(()) } else { Err(None) }
    }

    fn finish(self: Box<Self>, outcome: Result<(), StoreError>) {
        let answer = match (outcome, self.outcome) {
            (Ok(()), Some(Outcome::Returned(result))) => {
                for work in self.after_commit {
                    // What is committed stands, whatever becomes of the memory beside it.
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
                        tracing::error!(target: "convoke::call", "after a commit: {}", Error::panicked(&*panic).chain());
                    }
                }
                Answer::Done(result)
            }
            (Ok(()), Some(Outcome::Asked(reading))) => Answer::ReadFirst(reading, Box::new(self.attempt)),
            (Ok(()), None) => Answer::Done(Err(Error::internal("a mutation was answered without a run"))),
            (Err(error), _) => Answer::Done(Err(with_its_limit(error, "mutation", "mutation_timeout"))),
        };
        // Whoever asked may be gone; the mutation stands or falls without them.
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

/// While the store is closed for a schema that does not fit, only the operator's functions run: the migration. While the
/// disk has too little room, the operator's calls and the runtime's own work go on: they are what makes room. Jobs do,
/// whomever they run as: those that were kept waiting would take the places of those that make room.
pub(crate) fn access(call: &Call) -> Access {
    match (call.def.visibility, &call.caller) {
        (Visibility::Admin, Caller::DeployKey(_) | Caller::System) => Access::Admin,
        (_, Caller::System) => Access::System,
        (_, Caller::DeployKey(key)) if key.acting_as.is_none() => Access::System,
        (_, Caller::User(_)) if call.payment == Payment::Later => Access::System,
        (_, Caller::Nobody | Caller::User(_) | Caller::DeployKey(_)) => Access::Everyone,
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
    let limit = call.services.limits().action_timeout;
    let ctx = ActionCtx::new(call, capture.clone());
    let task = tokio::spawn(async move {
        let _running = permit;
        let work = AssertUnwindSafe(capture.around(async move { work(ctx).await })).catch_unwind();
        match tokio::time::timeout(limit, work).await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => Err(Error::panicked(&*panic)),
            Err(_) => Err(past_its_limit("action", limit, "action_timeout")),
        }
    });
    task.await.map_err(Error::internal).flatten()
}

impl ActionCtx {
    /// Calls a function as the same caller; a query or mutation is a transaction of its own.
    ///
    /// # Errors
    /// Those of the function.
    pub fn run<F: Function>(&self, args: impl Into<F::Args>) -> impl Future<Output = Result<F::Output>> + Send
    where
        F::Kind: Run<F>,
    {
        self.call.services.count_nested(F::DEF);
        <F::Kind as Run<F>>::run(Arc::new(self.call.begun_now()), self.capture.clone(), args.into())
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
        // Inside an action: its time is the caller's, so it needs no task of its own.
        let ctx = ActionCtx::new(call, capture);
        F::invoke(ctx, args).await
    }

    async fn start(call: Arc<Call>, capture: Capture, args: F::Args) -> Result<F::Output> {
        let permit = call.services.action_permit()?;
        action(call, capture, permit, move |ctx| F::invoke(ctx, args)).await
    }
}
