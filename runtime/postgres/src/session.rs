//! A connection with its runtime and its prepared statements.
//!
//! Statements that are requested together are sent together and need one round trip. One transaction uses a session at
//! a time, on any thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures_util::future::poll_fn;
use rustc_hash::FxHashMap;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Row, Statement};

use super::failure::{self, Failure};
use super::primary::Timeline;
use super::server::Server;
use super::value::Param;

/// Most prepared statements per session; beyond it all are dropped.
const STATEMENTS_MAX: usize = 1_000;
/// Writes to the server's log if a standby must confirm it: the commit then waits for all earlier commits.
pub(crate) const BARRIER: &str = "SELECT pg_logical_emit_message(true, 'convoke', '') \
                                  WHERE current_setting('synchronous_standby_names') <> ''";
/// The cluster and the timeline of a server that accepts writes.
const TIMELINE: &str = "SELECT system_identifier, CASE WHEN NOT pg_is_in_recovery() THEN \
                        ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END \
                        FROM pg_control_system()";
/// Timeout of cancelling a statement.
const CANCEL: Duration = Duration::from_millis(500);

/// A statement of a round trip.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// Statements without parameters and results.
    Run(String),
    /// A statement that returns rows.
    Rows(String, Vec<Param>),
    /// A statement that returns the number of changed rows.
    Change(String, Vec<Param>),
}

impl Ask {
    /// Returns the approximate size of its values in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Ask::Run(_) => 0,
            Ask::Rows(_, params) | Ask::Change(_, params) => params.iter().map(Param::bytes).sum(),
        }
    }
}

#[derive(Debug)]
pub(crate) enum StatementResult {
    /// Executed.
    Done,
    Rows(Vec<Row>),
    /// Number of changed rows.
    Changed(u64),
}

impl StatementResult {
    pub(crate) fn rows(self) -> Vec<Row> {
        match self {
            StatementResult::Rows(rows) => rows,
            StatementResult::Done | StatementResult::Changed(_) => Vec::new(),
        }
    }

    /// Returns the number of changed or found rows.
    pub(crate) fn count(&self) -> u64 {
        match self {
            StatementResult::Done => 0,
            StatementResult::Rows(rows) => rows.len() as u64,
            StatementResult::Changed(count) => *count,
        }
    }
}

/// The results of the statements of a round trip, in order.
pub(crate) type Flight = Vec<Result<StatementResult, Failure>>;

/// A connection.
pub(crate) struct Session {
    /// None during its drop.
    runtime: Option<Runtime>,
    client: Client,
    server: Arc<Server>,
    statements: FxHashMap<String, Statement>,
    broken: bool,
    /// History of the database when it was opened.
    history: u64,
    /// Time limit of a single statement.
    patience: Duration,
    /// Set by a warning that a commit was not confirmed.
    is_unconfirmed: Arc<AtomicBool>,
}

impl Session {
    /// Connects and applies the settings of every session.
    ///
    /// # Errors
    /// Reason why the server is unreachable.
    pub(crate) fn open(server: &Arc<Server>) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|error| Failure::Cut(format!("no connection can be driven: {error}")))?;
        let history = server.primary.history();
        let is_unconfirmed = Arc::<AtomicBool>::default();
        let warned = is_unconfirmed.clone();
        let hear = move |message| {
            if matches!(&message, Some(AsyncMessage::Notice(notice)) if failure::is_unconfirmed(notice)) {
                warned.store(true, Relaxed);
            }
        };
        let client = block_on(&runtime, server.connect(hear))?;
        let mut session = Self {
            runtime: Some(runtime),
            client,
            server: server.clone(),
            statements: FxHashMap::default(),
            broken: false,
            history,
            patience: server.patience,
            is_unconfirmed,
        };
        session.run(server.settle())?;
        session.admit()?;
        Ok(session)
    }

    /// Returns the session with another time limit of a single statement.
    pub(crate) fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Requires that its server is no former primary. A standby has no timeline of its own.
    fn admit(&mut self) -> Result<(), Failure> {
        let rows = self.rows(TIMELINE, Vec::new())?;
        let read = |row: &Row| row.try_get::<_, Option<i64>>(1);
        let Some(row) = rows.first() else { return Ok(()) };
        let number = read(row).map_err(|error| Failure::of(&error))?;
        let Some(number) = number else { return Ok(()) };
        let system = row.try_get(0).map_err(|error| Failure::of(&error))?;
        if let Some(history) = self.server.primary.admit(Timeline { system, number })? {
            self.history = history;
        }
        Ok(())
    }

    /// Returns the history of the database that it belongs to.
    pub(crate) fn history(&self) -> u64 {
        self.history
    }

    /// Returns the isolation of mutations.
    pub(crate) fn isolation(&self) -> &'static str {
        self.server.isolation
    }

    /// Returns true if it may serve another transaction.
    pub(crate) fn is_sound(&self) -> bool {
        !self.broken && !self.client.is_closed() && self.history == self.server.primary.history()
    }

    /// Processes messages that arrived while the session was idle. A session that the server has ended is then
    /// recognized before a commit is sent on it.
    pub(crate) fn refresh(&self) {
        let Some(runtime) = &self.runtime else { return };
        block_on(runtime, async {
            // Once for the socket, and once for the connection that reads it.
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
        });
    }

    /// Records the end of a transaction.
    pub(crate) fn set_broken(&mut self) {
        self.broken = true;
    }

    /// Drops the prepared statements.
    pub(crate) fn forget_statements(&mut self) {
        self.statements.clear();
    }

    /// Runs one statement without parameters.
    pub(crate) fn run(&mut self, sql: impl Into<String>) -> Result<(), Failure> {
        self.one(Ask::Run(sql.into())).map(drop)
    }

    /// Returns the rows of one statement.
    pub(crate) fn rows(&mut self, sql: &str, params: Vec<Param>) -> Result<Vec<Row>, Failure> {
        self.one(Ask::Rows(sql.to_owned(), params)).map(StatementResult::rows)
    }

    /// Returns the number of rows that one statement changed.
    pub(crate) fn change(&mut self, sql: &str, params: Vec<Param>) -> Result<u64, Failure> {
        self.one(Ask::Change(sql.to_owned(), params)).map(|result| result.count())
    }

    fn one(&mut self, ask: Ask) -> Result<StatementResult, Failure> {
        let mut flight = self.fly(&[ask], self.patience);
        flight.pop().unwrap_or_else(|| Err(Failure::Other("a statement was not answered".to_owned())))
    }

    /// Returns once the synchronous standbys, if there are any, have confirmed all earlier commits.
    ///
    /// # Errors
    /// [`Failure::Late`], [`Failure::Unconfirmed`]; errors of the server.
    pub(crate) fn confirm(&mut self, limit: Duration) -> Result<(), Failure> {
        // Its own commit may be cancelled: it contains nothing.
        self.fly(&[Ask::Run(BARRIER.to_owned())], limit).into_iter().try_for_each(|result| result.map(drop))
    }

    /// Sends all statements together and waits for their results, at most for `limit`. After that, the statement is
    /// cancelled and the session is not used again.
    pub(crate) fn fly(&mut self, asks: &[Ask], limit: Duration) -> Flight {
        self.send(asks, limit).unwrap_or_else(|| {
            self.cancel();
            vec![Err(Failure::Late)]
        })
    }

    /// Like [`Session::fly`], for a round trip that ends with a commit. After `limit` nothing is cancelled: cancelling
    /// a commit that waits for a standby would make it count without the standby.
    pub(crate) fn fly_to_commit(&mut self, asks: &[Ask], limit: Duration) -> Flight {
        self.send(asks, limit).unwrap_or_else(|| vec![Err(Failure::Late)])
    }

    /// Returns `None` after `limit`. A response with a warning about the commit counts as a failure.
    fn send(&mut self, asks: &[Ask], limit: Duration) -> Option<Flight> {
        let Some(runtime) = &self.runtime else { return Some(vec![Err(Failure::Cut("it is over".to_owned()))]) };
        if self.statements.len() > STATEMENTS_MAX {
            self.statements.clear();
        }
        let (client, statements) = (&self.client, &mut self.statements);
        self.is_unconfirmed.store(false, Relaxed);
        let flown = block_on(runtime, async move { timeout(limit, send(client, statements, asks)).await.ok() });
        self.broken |= flown.is_none();
        let mut flight = flown?;
        if self.is_unconfirmed.load(Relaxed)
            && flight.iter().all(Result::is_ok)
            && let Some(last) = flight.last_mut()
        {
            *last = Err(Failure::Unconfirmed);
        }
        if flight.iter().any(|result| matches!(result, Err(Failure::Cut(_)))) {
            self.broken = true;
        }
        if flight.iter().any(|result| matches!(result, Err(Failure::Outdated(_) | Failure::Missing(_)))) {
            self.forget_statements();
        }
        Some(flight)
    }

    /// Cancels the running statement of this session.
    fn cancel(&self) {
        let Some(runtime) = &self.runtime else { return };
        let token = self.client.cancel_token();
        // If cancelling fails, the server's own limit ends the statement.
        let _ = block_on(runtime, async move { timeout(CANCEL, self.server.cancel(token)).await });
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Dropping a runtime waits for its threads, which an executor's thread must not do.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn send(client: &Client, statements: &mut FxHashMap<String, Statement>, asks: &[Ask]) -> Flight {
    for ask in asks {
        let (Ask::Rows(sql, _) | Ask::Change(sql, _)) = ask else { continue };
        if !statements.contains_key(sql) {
            match client.prepare(sql).await {
                Ok(statement) => statements.insert(sql.clone(), statement),
                Err(error) => return vec![Err(Failure::of(&error))],
            };
        }
    }
    let statements = &*statements;
    in_order(asks.iter().map(|ask| carry_out(client, statements, ask)).collect()).await
}

async fn carry_out(
    client: &Client,
    statements: &FxHashMap<String, Statement>,
    ask: &Ask,
) -> Result<StatementResult, Failure> {
    let result = match ask {
        Ask::Run(sql) => client.batch_execute(sql).await.map(|()| StatementResult::Done),
        Ask::Rows(sql, params) => client.query(&statements[sql], &given(params)).await.map(StatementResult::Rows),
        Ask::Change(sql, params) => {
            client.execute(&statements[sql], &given(params)).await.map(StatementResult::Changed)
        }
    };
    result.map_err(|error| Failure::of(&error))
}

fn given(params: &[Param]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(Param::as_sql).collect()
}

/// Runs all concurrently, each started after the ones before it, so that the server receives them in order.
async fn in_order<F: Future>(all: Vec<F>) -> Vec<F::Output> {
    let mut under_way: Vec<Pin<Box<F>>> = all.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = under_way.iter().map(|_| None).collect();
    let mut first = 0;
    poll_fn(move |context| {
        for (number, one) in under_way.iter_mut().enumerate().skip(first) {
            if done[number].is_none()
                && let Poll::Ready(output) = one.as_mut().poll(context)
            {
                done[number] = Some(output);
            }
        }
        first += done[first..].iter().take_while(|output| output.is_some()).count();
        if first < done.len() {
            Poll::Pending
        } else {
            Poll::Ready(std::mem::take(&mut done).into_iter().flatten().collect())
        }
    })
    .await
}

/// Runs `work` to its end on this thread, or on another one if this is an executor's thread, which must not block.
pub(crate) fn block_on<F: Future<Output: Send> + Send>(runtime: &Runtime, work: F) -> F::Output {
    if Handle::try_current().is_err() {
        return runtime.block_on(work);
    }
    thread::scope(|scope| match scope.spawn(|| runtime.block_on(work)).join() {
        Ok(output) => output,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
