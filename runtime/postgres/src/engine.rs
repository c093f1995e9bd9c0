//! The engine for the store: sessions, the threads that use them, and this node's row, opened and closed together.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;

use super::checks;
use super::counters::Counters;
use super::failure::{Failure, misfit};
use super::folder;
use super::line::{Line, closed};
use super::nodes::{Buckets, Company, Follower, Following, HISTORY, History, Leases, Presence, Requests, Turns};
use super::own;
use super::pauses::Pauses;
use super::primary::UNKNOWN;
use super::schema;
use super::server::Server;
use super::session::Session;
use super::sessions::Sessions;
use super::settings::{BACKED_UP_BY, Postgres};
use super::snapshot::Snapshot;
use super::transaction::{Committed, Death, Frame, PgTransaction, Purpose};
use super::writer::{Confirmed, Home, Writers};
use convoke_core::clock::{Clock, SharedClock};
use convoke_store::engine::{OnProgress, Read, Seal};
use convoke_store::fair_queue::Service;
use convoke_store::gate::Gate;
use convoke_store::schema::Extent;
use convoke_store::{
    Answerer, Commits, Draw, Drawn, Engine, EngineStart, Flow, LeaseRows, NamedStat, Nodes, OfflineDatabase, OnOpening,
    OpenError, Ran, ReadJob, Stats, StoreError, TableDef, TurnRows, WriteJob,
};

/// Most runs of a read that conflicts with concurrent writes, because such a read blocks a reader.
const ATTEMPTS: u32 = 8;

/// An open database, served by one node.
pub(crate) struct PgEngine {
    server: Arc<Server>,
    sessions: Arc<Sessions>,
    readers: Arc<Line<Waiting>>,
    writers: Arc<Writers>,
    reading: Reading,
    tables: Arc<[&'static TableDef]>,
    gate: Arc<Gate>,
    presence: Presence,
    follower: Follower,
    buckets: Buckets,
    requests: Requests,
    leases: Leases,
    turns: Turns,
    confirmed: Arc<Confirmed>,
    readers_count: usize,
    greatest_id: u128,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The dependencies of a read.
#[derive(Clone)]
struct Reading {
    sessions: Arc<Sessions>,
    counters: Arc<Counters>,
    commits: Arc<Commits>,
    clock: Arc<dyn Clock>,
    limit: Duration,
    server: Arc<Server>,
    machine: Arc<dyn Clock>,
}

/// A call that waits for a reader.
enum Waiting {
    /// A read, for a reader thread.
    Job(Box<dyn ReadJob>),
    /// A thread that reads itself.
    Thread(mpsc::Sender<Result<Service, StoreError>>),
}

impl PgEngine {
    /// Connects, enters this node, applies additions of the tables, and starts the threads.
    ///
    /// # Errors
    /// [`OpenError`]: the server is unreachable, a tool has locked the database, or the engine fails.
    pub(crate) fn open(settings: &Postgres, start: EngineStart<'_>) -> Result<Self, OpenError> {
        let EngineStart { data, agreed, tables, limits, clock, stuck, gate, commits, on_opening, .. } = start;
        schema::require_free_names(&tables)?;
        folder::make(data)?;
        let tables: Arc<[_]> = tables.into();
        // A stopped node must not block others for long, but a slow one may take its time.
        let idle = (2 * limits.mutation_timeout.max(limits.query_timeout)).max(Duration::from_secs(10));
        let server = Arc::new(settings.server.with_idle(idle));
        let mut session = Session::open(&server)?;
        checks::require(&mut session, &server)?;
        own::make(&mut session, &server)?;
        let shared = Arc::new(SharedClock::over(clock));
        let clock: Arc<dyn Clock> = shared.clone();
        let confirmed = Arc::<Confirmed>::default();
        let presence = Presence::enter(&mut session, &server, Company::Nodes { agreed }, &shared, Some(&confirmed))
            .map_err(|refused| refused.into_open_error(data))?;
        let by = (presence.id(), &on_opening);
        let (difference, mut session) =
            schema::apply(session, &server, &tables, Extent::Whole, (&clock, &commits), by)?;
        gate.set_schema(difference);
        // Before any row is read, so that every later commit is received.
        let history = session.rows(HISTORY, Vec::new())?;
        let history = history.first().map(History::of_row).transpose()?;
        let history = history.ok_or_else(|| Failure::Other("the database has no history".to_owned()))?;
        // Not ordered among other nodes: their later rows have later ids.
        let transaction = PgTransaction::new(session, Purpose::Upkeep, schema::frame(&clock, &commits));
        let greatest_id = schema::greatest_id(&transaction)?;
        let sessions = Arc::new(Sessions::of(server.clone()));
        sessions.give_back(transaction.close());
        let counters = Arc::new(Counters::default());
        let reading = Reading {
            sessions: sessions.clone(),
            counters: counters.clone(),
            commits: commits.clone(),
            clock: clock.clone(),
            limit: limits.query_timeout,
            server: server.clone(),
            machine: shared.machine().clone(),
        };
        let readers_count = limits.readers.max(1);
        let readers = Arc::new(Line::new("reader", readers_count, limits.reader_queue_max));
        let following = Following {
            server: server.clone(),
            node: presence.id(),
            tables: tables.clone(),
            commits: commits.clone(),
            clock: clock.clone(),
        };
        let no_thread = |error: std::io::Error| OpenError::Engine(format!("no thread for a follower: {error}"));
        let follower = Follower::start(following, history).map_err(no_thread)?;
        let (node, signals) = (presence.id(), follower.signals().clone());
        let home = Home { node, tables: tables.clone(), signals, commits, confirmed: confirmed.clone(), clock };
        let writers = Arc::new(Writers::new(home, settings.writers, limits, sessions.clone(), counters, stuck));
        let mut threads = writers.start()?;
        let serve = {
            let (readers, reading) = (readers.clone(), reading.clone());
            move |service, waiting| match waiting {
                Waiting::Job(job) => reading.serve(&readers, service, job),
                Waiting::Thread(reply) => {
                    // The thread waits only for this.
                    let _ = reply.send(Ok(service));
                }
            }
        };
        threads.extend(readers.start(readers_count, serve)?);
        let buckets = Buckets::of(server.clone());
        let requests = Requests::of(server.clone(), reading.clock.clone());
        let leases = Leases::of(server.clone(), reading.clock.clone());
        let turns = Turns::of(presence.id(), sessions.clone());
        Ok(Self {
            server,
            sessions,
            readers,
            writers,
            reading,
            tables,
            gate,
            presence,
            follower,
            buckets,
            requests,
            leases,
            turns,
            confirmed,
            readers_count,
            greatest_id,
            threads: Mutex::new(threads),
        })
    }

    /// Counts a rejection because of the share of its flow.
    fn rejected(&self, error: StoreError) -> StoreError {
        let counters = &self.reading.counters;
        match error {
            StoreError::ShareFull("writer") => counters.writer_share_rejections.fetch_add(1, Relaxed),
            StoreError::ShareFull(_) => counters.reader_share_rejections.fetch_add(1, Relaxed),
            _ => 0,
        };
        error
    }

    fn refuse(&self, waiting: Waiting, error: StoreError) {
        let error = self.rejected(error);
        match waiting {
            Waiting::Job(job) => job.finish(Err(error)),
            Waiting::Thread(reply) => {
                let _ = reply.send(Err(error));
            }
        }
    }
}

impl Reading {
    fn serve(&self, readers: &Line<Waiting>, service: Service, mut job: Box<dyn ReadJob>) {
        let began = self.clock.monotonic();
        // Its caller may be gone.
        let ran = (!job.is_abandoned()).then(|| self.run(&mut |reader| job.run(reader)));
        readers.end(service, self.clock.monotonic().saturating_sub(began));
        job.finish(ran.unwrap_or_else(|| Err(closed())));
    }

    /// Runs `read` on this thread, on one snapshot that is serializable with the mutations.
    fn run(&self, read: &mut Read<'_>) -> Result<Ran, StoreError> {
        let mut session = self.sessions.take().map_err(|failure| failure.into_store(0))?;
        // Its time starts when there is a connection.
        let began = self.clock.monotonic();
        let elapsed = || self.clock.monotonic().saturating_sub(began);
        let (mut pauses, mut conflicts) = (Pauses::default(), 0);
        loop {
            let history = session.history();
            let attempt = self.attempt(session, read, began);
            if attempt.is_ok() && !self.server.primary.vouches_for(history, self.machine.monotonic()) {
                let pause = pauses.next();
                if elapsed() + pause < self.limit {
                    thread::sleep(pause);
                    session = self.sessions.take().map_err(|failure| failure.into_store(0))?;
                    continue;
                }
                let outcome = Err(StoreError::Unreachable(UNKNOWN.to_owned()));
                return Ok(Ran { outcome, elapsed: elapsed() });
            }
            let death = match attempt {
                Err(Death::Failed(StoreError::Deadline { .. })) if conflicts > 0 => {
                    Death::Again("it was in conflict with others until its time was over".to_owned())
                }
                Err(death @ (Death::Again(_) | Death::Missing(_))) => {
                    conflicts += 1;
                    self.counters.retries.fetch_add(1, Relaxed);
                    let pause = pauses.next();
                    if conflicts < ATTEMPTS && elapsed() + pause < self.limit {
                        thread::sleep(pause);
                        session = self.sessions.take().map_err(|failure| failure.into_store(0))?;
                        continue;
                    }
                    death
                }
                attempt => return Ok(Ran { outcome: attempt.map_err(outcome), elapsed: elapsed() }),
            };
            if matches!(death, Death::Again(_)) {
                self.counters.contended.fetch_add(1, Relaxed);
            }
            return Ok(Ran { outcome: Err(outcome(death)), elapsed: elapsed() });
        }
    }

    /// Runs `read` on one snapshot.
    fn attempt(&self, session: Session, read: &mut Read<'_>, began: Duration) -> Result<(), Death> {
        let frame = Frame { clock: self.clock.clone(), began, limit: self.limit, commits: self.commits.clone() };
        let transaction = Rc::new(PgTransaction::new(session, Purpose::Read, frame));
        let _closing = Closing { transaction: &transaction, sessions: &self.sessions };
        read(transaction.clone());
        let ended = match transaction.finish() {
            None => match transaction.commit(&[], Vec::new(), self.limit) {
                Committed::Yes => Ok(()),
                Committed::No(death) => Err(death),
                Committed::Unknown(failure) => Err(Death::Cut(failure.reason())),
            },
            // The function knows, because its next operation failed.
            Some(Death::Failed(StoreError::TransactionLost(_))) => Ok(()),
            Some(death) => Err(death),
        };
        self.counters.statements.fetch_add(convoke_store::Reader::statements(&*transaction), Relaxed);
        ended
    }
}

fn outcome(death: Death) -> StoreError {
    match death {
        Death::Again(reason) => StoreError::Contended(reason),
        Death::Missing(reason) => misfit(&reason),
        Death::Checked | Death::Outgrown => StoreError::Contended("a read does not fit".to_owned()),
        Death::Cut(reason) => StoreError::Unreachable(reason),
        Death::Failed(error) => error,
    }
}

/// Ends a transaction, also if its function panics.
struct Closing<'a> {
    transaction: &'a PgTransaction,
    sessions: &'a Sessions,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.sessions.give_back(self.transaction.close());
    }
}

/// A reader that serves a call. Its drop frees it, also if the function panics.
struct ReaderSlot<'a> {
    engine: &'a PgEngine,
    service: Service,
    began: Duration,
}

impl Drop for ReaderSlot<'_> {
    fn drop(&mut self) {
        let elapsed = self.engine.reading.clock.monotonic().saturating_sub(self.began);
        self.engine.readers.end(self.service, elapsed);
    }
}

impl Engine for PgEngine {
    fn read_at_once(&self, _: Flow, _: &mut Read<'_>) -> Result<Option<Ran>, StoreError> {
        // It would block an executor's thread on the server.
        Ok(None)
    }

    fn read_blocking(&self, flow: Flow, read: &mut Read<'_>) -> Result<Ran, StoreError> {
        let service = match self.readers.try_serve(flow)? {
            Some(service) => service,
            None => {
                let (reply, answer) = mpsc::channel();
                match self.readers.push(flow, Waiting::Thread(reply)) {
                    Ok(None) => {}
                    Ok(Some(other)) => self.refuse(other, StoreError::ShareFull("reader")),
                    Err((_, error)) => return Err(self.rejected(error)),
                }
                answer.recv().map_err(|_| closed())??
            }
        };
        let _slot = ReaderSlot { engine: self, service, began: self.reading.clock.monotonic() };
        self.reading.run(read)
    }

    fn read_in_turn(&self, flow: Flow, job: Box<dyn ReadJob>) -> Result<(), StoreError> {
        match self.readers.push(flow, Waiting::Job(job)) {
            Ok(None) => Ok(()),
            Ok(Some(other)) => {
                self.refuse(other, StoreError::ShareFull("reader"));
                Ok(())
            }
            Err((_, error)) => Err(self.rejected(error)),
        }
    }

    fn write(&self, job: Box<dyn WriteJob>) -> Result<(), (Box<dyn WriteJob>, StoreError)> {
        self.writers.push(job).map_err(|(job, error)| (job, self.rejected(error)))
    }

    fn room_to_read(&self, flow: Flow) -> Result<(), StoreError> {
        self.readers.room(flow).map_err(|error| self.rejected(error))
    }

    fn room_to_write(&self, flow: Flow) -> Result<(), StoreError> {
        self.writers.room(flow).map_err(|error| self.rejected(error))
    }

    fn follow_schema(&self, extent: Extent) -> Result<(), OpenError> {
        let Reading { clock, commits, .. } = &self.reading;
        let session = Session::open(&self.server)?;
        let by = (self.presence.id(), &OnOpening::default());
        let (difference, session) = schema::apply(session, &self.server, &self.tables, extent, (clock, commits), by)?;
        self.sessions.give_back(Some(session));
        self.gate.set_schema(difference);
        Ok(())
    }

    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn greatest_id(&self) -> u128 {
        self.greatest_id
    }

    fn nodes(&self) -> Nodes {
        self.presence.nodes()
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        Some(self.reading.clock.clone())
    }

    fn draw(&self, draw: &Draw) -> Result<Drawn, StoreError> {
        // Calls do not wait for a server that is known to be unreachable.
        match self.presence.trouble() {
            Some(failure) => Err(failure.into_store(0)),
            None => self.buckets.draw(draw).map_err(|failure| match failure {
                Failure::Late => StoreError::Unreachable("a bucket was not drawn from in time".to_owned()),
                failure => failure.into_store(0),
            }),
        }
    }

    fn ask(&self, node: u32, request: &str) -> Result<Option<String>, StoreError> {
        if !self.presence.nodes().may_live(node) {
            return Ok(None);
        }
        let answer = self.requests.ask(node, request).map_err(|failure| failure.into_store(0))?;
        let silent = || StoreError::Unreachable("the node that was asked has not answered".to_owned());
        answer.ok_or_else(silent).map(Some)
    }

    fn answer_by(&self, answerer: Answerer) {
        self.presence.answer_by(answerer);
    }

    fn leases(&self) -> Option<&dyn LeaseRows> {
        Some(&self.leases)
    }

    fn turns(&self) -> Option<&dyn TurnRows> {
        Some(&self.turns)
    }

    fn health(&self) -> Result<(), String> {
        self.presence.health()?;
        let unconfirmed = self.confirmed.refused().map(Failure::reason);
        unconfirmed.or_else(|| self.follower.signals().trouble()).map_or(Ok(()), Err)
    }

    fn stuck(&self) -> Option<(String, Duration)> {
        self.writers.stuck()
    }

    fn stats(&self) -> Stats {
        let (readers_busy, reader_queue) = self.readers.busy();
        Stats {
            writer_queue: self.writers.waiting(),
            reader_queue,
            readers_busy,
            readers: self.readers_count,
            mutation_running: self.writers.longest().map_or(Duration::ZERO, |(_, since)| since),
            ..self.reading.counters.stats()
        }
    }

    fn own_stats(&self) -> Vec<NamedStat> {
        let mut stats = self.reading.counters.own();
        stats.push(NamedStat::counter(
            "foreign_commits_total",
            "Commits of other nodes that this one has taken in.",
            self.follower.signals().taken_in.load(Relaxed),
        ));
        stats.push(NamedStat::gauge(
            "clock_deviation_ms",
            "By how much this node's clock differs from the database's; beyond 500 it is not ready.",
            self.presence.deviation_ms().unsigned_abs(),
        ));
        stats
    }

    fn backup(&self, _: &Path, _: OnProgress, _: &mut Seal<'_>) -> Result<(), StoreError> {
        Err(StoreError::BackedUpBy(BACKED_UP_BY))
    }

    fn snapshot(&self, mut progress: OnProgress) -> Result<Box<dyn OfflineDatabase>, StoreError> {
        let Reading { clock, commits, .. } = &self.reading;
        let snapshot = Snapshot::open(&self.server, clock, commits)?;
        progress(convoke_store::Progress { done: 1, total: 1 });
        Ok(Box::new(snapshot))
    }

    fn close(&self) {
        self.writers.close();
        for waiting in self.readers.clear() {
            self.refuse(waiting, closed());
        }
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // The last handle may be dropped in a completion on one of these threads, which ends right after.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
        self.gate.shut();
        self.follower.end();
        self.sessions.clear();
        self.buckets.close();
        self.requests.close();
        self.leases.close();
        self.presence.leave();
    }
}
