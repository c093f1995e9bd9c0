//! A connection with what belongs to it: the runtime that drives it, and the statements it has prepared.
//!
//! What is asked of the server together goes out together: a flight of statements takes one way there and back. A
//! session is used by one transaction at a time, on whichever thread runs that.

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
use super::server::Server;
use super::value::Param;

/// Statements that a session keeps prepared; beyond it all are forgotten.
const STATEMENTS_MAX: usize = 1_000;
/// Writes to the server's log where a standby must confirm that: the commit then waits for all that was committed before.
pub(crate) const BARRIER: &str = "SELECT pg_logical_emit_message(true, 'convoke', '') \
                                  WHERE current_setting('synchronous_standby_names') <> ''";
/// For the order to stop a statement that takes too long.
const CANCEL: Duration = Duration::from_millis(500);

/// One statement of a flight.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// Statements without parameters, of whose answer nothing is needed.
    Run(String),
    /// Rows.
    Rows(String, Vec<Param>),
    /// How many rows it changed.
    Change(String, Vec<Param>),
}

impl Ask {
    /// Bytes of its values, about.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Ask::Run(_) => 0,
            Ask::Rows(_, params) | Ask::Change(_, params) => params.iter().map(Param::bytes).sum(),
        }
    }
}

/// What a statement came to.
#[derive(Debug)]
pub(crate) enum Told {
    /// It was carried out.
    Done,
    /// These rows.
    Rows(Vec<Row>),
    /// So many rows were changed.
    Changed(u64),
}

impl Told {
    /// The rows, if it has any.
    pub(crate) fn rows(self) -> Vec<Row> {
        match self {
            Told::Rows(rows) => rows,
            Told::Done | Told::Changed(_) => Vec::new(),
        }
    }

    /// How many rows were changed or found.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Told::Done => 0,
            Told::Rows(rows) => rows.len() as u64,
            Told::Changed(count) => *count,
        }
    }
}

/// What each statement of a flight came to, in their order.
pub(crate) type Flight = Vec<Result<Told, Failure>>;

/// A connection.
pub(crate) struct Session {
    /// None once it is being dropped.
    runtime: Option<Runtime>,
    client: Client,
    server: Arc<Server>,
    statements: FxHashMap<String, Statement>,
    broken: bool,
    /// The database's history when it was opened.
    history: u64,
    /// Set by a warning that a commit was not confirmed.
    is_unconfirmed: Arc<AtomicBool>,
}

impl Session {
    /// Connects and settles what every session has.
    ///
    /// # Errors
    /// Why the server cannot be had.
    pub(crate) fn open(server: &Arc<Server>) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|error| Failure::Cut(format!("no connection can be driven: {error}")))?;
        let history = server.history();
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
            is_unconfirmed,
        };
        session.run(server.settle())?;
        Ok(session)
    }

    /// How mutations are held apart.
    pub(crate) fn isolation(&self) -> &'static str {
        self.server.isolation
    }

    /// Whether it may serve another transaction.
    pub(crate) fn is_sound(&self) -> bool {
        !self.broken && !self.client.is_closed() && self.history == self.server.history()
    }

    /// Takes in what the server sent while the session was idle. A session that the server has ended is not sound then, and no
    /// commit has to be looked up that was never sent.
    pub(crate) fn refresh(&self) {
        let Some(runtime) = &self.runtime else { return };
        block_on(runtime, async {
            // Once for the socket, once for the connection that reads it.
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
        });
    }

    /// No transaction uses it any more.
    pub(crate) fn set_broken(&mut self) {
        self.broken = true;
    }

    /// Forgets what is prepared.
    pub(crate) fn forget_statements(&mut self) {
        self.statements.clear();
    }

    /// Runs one statement without parameters.
    ///
    /// # Errors
    /// As [`Session::fly`].
    pub(crate) fn run(&mut self, sql: impl Into<String>) -> Result<(), Failure> {
        self.one(Ask::Run(sql.into())).map(drop)
    }

    /// The rows of one statement.
    ///
    /// # Errors
    /// As [`Session::fly`].
    pub(crate) fn rows(&mut self, sql: &str, params: Vec<Param>) -> Result<Vec<Row>, Failure> {
        self.one(Ask::Rows(sql.to_owned(), params)).map(Told::rows)
    }

    /// How many rows one statement changed.
    ///
    /// # Errors
    /// As [`Session::fly`].
    pub(crate) fn change(&mut self, sql: &str, params: Vec<Param>) -> Result<u64, Failure> {
        self.one(Ask::Change(sql.to_owned(), params)).map(|told| told.count())
    }

    fn one(&mut self, ask: Ask) -> Result<Told, Failure> {
        let mut flight = self.fly(&[ask], self.server.patience);
        flight.pop().unwrap_or_else(|| Err(Failure::Other("a statement was not answered".to_owned())))
    }

    /// Returns once everything that was committed before is confirmed by the synchronous standbys, if there are any.
    ///
    /// # Errors
    /// [`Failure::Late`], [`Failure::Unconfirmed`]; the server's.
    pub(crate) fn confirm(&mut self, limit: Duration) -> Result<(), Failure> {
        // Its own commit may be cancelled: it holds nothing.
        self.fly(&[Ask::Run(BARRIER.to_owned())], limit).into_iter().try_for_each(|told| told.map(drop))
    }

    /// Sends all statements at once and waits for what becomes of them, at most for `limit`: then the server is told to
    /// stop, and the session is of no more use.
    pub(crate) fn fly(&mut self, asks: &[Ask], limit: Duration) -> Flight {
        self.send(asks, limit).unwrap_or_else(|| {
            self.cancel();
            vec![Err(Failure::Late)]
        })
    }

    /// As [`Session::fly`], of a flight that ends with a commit. After `limit` the server is not told to stop: a commit that
    /// waits for a standby would be cancelled, and would count without it.
    pub(crate) fn fly_to_commit(&mut self, asks: &[Ask], limit: Duration) -> Flight {
        self.send(asks, limit).unwrap_or_else(|| vec![Err(Failure::Late)])
    }

    /// Returns `None` after `limit`. An answer that came with a warning about the commit is not one: its flight fails.
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
        if flight.iter().any(|told| matches!(told, Err(Failure::Cut(_)))) {
            self.broken = true;
        }
        if flight.iter().any(|told| matches!(told, Err(Failure::Outdated(_)))) {
            self.forget_statements();
        }
        Some(flight)
    }

    /// Has the server stop what runs for this session.
    fn cancel(&self) {
        let Some(runtime) = &self.runtime else { return };
        let token = self.client.cancel_token();
        // What cannot be stopped ends by the server's own limit.
        let _ = block_on(runtime, async move { timeout(CANCEL, self.server.cancel(token)).await });
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A runtime that is dropped waits for its threads, which an executor's thread must not.
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

async fn carry_out(client: &Client, statements: &FxHashMap<String, Statement>, ask: &Ask) -> Result<Told, Failure> {
    let told = match ask {
        Ask::Run(sql) => client.batch_execute(sql).await.map(|()| Told::Done),
        Ask::Rows(sql, params) => client.query(&statements[sql], &given(params)).await.map(Told::Rows),
        Ask::Change(sql, params) => client.execute(&statements[sql], &given(params)).await.map(Told::Changed),
    };
    told.map_err(|error| Failure::of(&error))
}

fn given(params: &[Param]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(Param::as_sql).collect()
}

/// Carries all out at the same time; each is begun when those before it are, so that the server is asked in this order.
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

/// Runs `work` to its end on this thread; on one beside it where this one is an executor's, which must not be held.
pub(crate) fn block_on<F: Future<Output: Send> + Send>(runtime: &Runtime, work: F) -> F::Output {
    if Handle::try_current().is_err() {
        return runtime.block_on(work);
    }
    thread::scope(|scope| match scope.spawn(|| runtime.block_on(work)).join() {
        Ok(output) => output,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
