//! The live queries of one client: they move together, from one commit to a later one.
//!
//! Nothing runs ahead of the client: a turn starts when the last update was taken ([`LiveConnection::next`]), and
//! brings all queries to one commit. Later changes belong to the next turn.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::AskedQuery;
use super::hub::{Bound, ConnectionId, Current, EntryId, Hub, Owner, Pace, Subscription, SubscriptionId};
use super::query::{QueryKey, Run, RunReason, RunRequest, is_transient_error};
use crate::call::envelope;
use crate::context::shared::Call;
use crate::inputs::{Inputs, UsedInputs};
use crate::logs::LogLines;
use crate::registry::Registered;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::identity::Caller;
use convoke_store::{Access, Commit, Flow, LatencyClass, ReadSet, Reader, RecordingReader, StoreError};

/// Pause before failed queries run again.
const RETRY: Duration = Duration::from_millis(250);

/// One client's live queries. They end when it is dropped.
pub struct LiveConnection {
    hub: Arc<Hub>,
    id: ConnectionId,
    wake: Arc<Notify>,
    caller: Caller,
    flow: Flow,
    /// Results of queries that cannot run.
    rejected: Vec<QueryResult>,
    /// The rejected queries, in case another caller may run them.
    refused: BTreeMap<u32, AskedQuery>,
    failing_since: Option<Instant>,
    /// True if its next turn waits for the rate limit.
    is_put_off: bool,
    reached: Commit,
    /// The commit whose results the client has already, until its first update.
    resumed: Option<Commit>,
}

/// The changes since the last update, all at one commit.
#[derive(Debug)]
pub struct Update {
    /// The commit.
    pub commit: Commit,
    /// The queries whose results changed.
    pub results: Vec<QueryResult>,
    /// True if a client with this update may later resume without the unchanged results ([`LiveConnection::resume`]).
    /// False if one of its results is a transient failure.
    pub is_lasting: bool,
}

/// A query's result.
#[derive(Clone, Debug)]
pub struct QueryResult {
    /// The client's number of the query.
    pub query: u32,
    /// The members of its object after the number, and the closing brace: `"status":"success","value":…}`.
    pub json: Bytes,
    /// The end of its pages, if it reads any: for [`AskedQuery::journal`], if the client reconnects.
    pub journal: Option<Arc<str>>,
}

/// The work of a turn for a subscription.
enum Todo {
    /// The shared result is valid for it.
    Take(Arc<Run>),
    Run(RunRequest),
}

/// A result for a subscription.
struct TurnResult {
    id: SubscriptionId,
    run: Arc<Run>,
    /// True if it ran in this turn.
    is_new: bool,
}

/// Marks entries as running until it is dropped.
struct Claims {
    hub: Arc<Hub>,
    entries: Vec<EntryId>,
}

impl Drop for Claims {
    fn drop(&mut self) {
        if !self.entries.is_empty() {
            let mut state = self.hub.lock();
            for entry in &self.entries {
                if let Some(entry) = state.entries.get_mut(*entry) {
                    entry.is_running = false;
                }
            }
            drop(state);
            self.hub.run_ended.notify_waiters();
        }
    }
}

impl Hub {
    /// Opens the connection of a client. Connections with the same `owner` are counted together.
    ///
    /// # Errors
    /// `OVERLOADED` if the owner has the maximum number of connections.
    pub fn open(self: &Arc<Self>, caller: Caller, flow: Flow, owner: Option<Owner>) -> Result<LiveConnection> {
        let of_owner_max = self.dispatcher.services().limits().live_connections_per_caller_max;
        let (id, wake) = self.connect(caller.clone(), owner, of_owner_max)?;
        let (rejected, failing_since, is_put_off) = (Vec::new(), None, false);
        let (reached, resumed, hub, refused) = (Commit::default(), None, self.clone(), BTreeMap::new());
        Ok(LiveConnection {
            hub,
            id,
            wake,
            caller,
            flow,
            rejected,
            refused,
            failing_since,
            is_put_off,
            reached,
            resumed,
        })
    }
}

impl LiveConnection {
    /// Adds a query under a number of the client. If the function does not exist or the arguments are not JSON, the
    /// error becomes its result.
    pub async fn subscribe(&mut self, number: u32, asked: AskedQuery) {
        if let Err(error) = self.try_subscribe(number, &asked).await {
            let json = envelope::failure(&error, &LogLines::default()).split_off(1).into();
            let journal = asked.journal.as_deref().map(Arc::from);
            self.rejected.push(QueryResult { query: number, json, journal });
            self.refused.insert(number, asked);
        }
    }

    /// Runs all queries for another caller from now on. The new `owner` counts the connection. The client's results
    /// stay valid until it receives others.
    ///
    /// # Errors
    /// `OVERLOADED` if the new owner has the maximum number of connections.
    pub async fn change_caller(&mut self, caller: Caller, flow: Flow, owner: Option<Owner>) -> Result<()> {
        let dispatcher = self.hub.dispatcher.clone();
        let services = dispatcher.services();
        {
            let mut state = self.hub.lock();
            let moved = state.move_to(self.id, owner, services.limits().live_connections_per_caller_max);
            moved.inspect_err(|_| self.hub.stats().meet(Bound::Connections))?;
            state.connections[self.id].caller = caller.clone();
        }
        (self.caller, self.flow) = (caller, flow);
        let own: Vec<(SubscriptionId, u32, Registered)> = {
            let state = self.hub.lock();
            let of = |id: &SubscriptionId| {
                let subscription = &state.subscriptions[*id];
                (*id, subscription.number, subscription.function.clone())
            };
            state.connections[self.id].subscriptions.iter().map(of).collect()
        };
        let mut again = std::mem::take(&mut self.refused);
        self.rejected.clear();
        for (id, number, function) in own {
            let call = Call::new(services.clone(), function.def, self.caller.clone(), flow, services.request_id());
            let admitted = dispatcher.admit(&function, &Arc::new(call)).await;
            let mut state = self.hub.lock();
            match admitted {
                Ok(()) => state.change_caller(id),
                Err(_) => {
                    again.insert(number, state.subscriptions[id].question.to_asked());
                    state.unsubscribe(id);
                }
            }
        }
        for (number, asked) in again {
            self.subscribe(number, asked).await;
        }
        Ok(())
    }

    /// Waits until a result must be checked. The future may be dropped and created again.
    pub async fn due(&mut self) {
        loop {
            match self.next_turn() {
                Due::Now | Due::Ended => return,
                due => self.wait(due).await,
            }
        }
    }

    async fn try_subscribe(&self, number: u32, asked: &AskedQuery) -> Result<()> {
        let (dispatcher, caller) = (&self.hub.dispatcher, self.caller.clone());
        let services = dispatcher.services();
        let function = dispatcher.query(&asked.path, &caller)?;
        let question = Arc::new(QueryKey::new(function.path.clone(), asked)?);
        let call = Call::new(services.clone(), function.def, caller, self.flow, services.request_id());
        dispatcher.admit(&function, &Arc::new(call)).await?;
        let limits = services.limits();
        let mut state = self.hub.lock();
        if state.connections[self.id].subscriptions.len() >= limits.live_queries_max {
            self.hub.stats().meet(Bound::Queries);
            return Err(Error::overloaded(format!(
                "A connection has at most {} live queries",
                limits.live_queries_max
            )));
        }
        state.subscribe(Subscription {
            connection: self.id,
            number,
            question,
            function,
            entry: None,
            sent: None,
            is_transient: false,
            is_marked: false,
            refresh_at: None,
            pace: Pace::new(limits.live_runs_per_second_max),
        });
        Ok(())
    }

    /// Removes the query of this number.
    pub fn unsubscribe(&mut self, number: u32) {
        self.rejected.retain(|result| result.query != number);
        self.refused.remove(&number);
        let mut state = self.hub.lock();
        let own = &state.connections[self.id].subscriptions;
        let found = own.iter().copied().find(|id| state.subscriptions[*id].number == number);
        if let Some(id) = found {
            state.unsubscribe(id);
        }
    }

    /// Resumes a connection: the client already has the results of the following queries at this commit. The first
    /// update leaves out the results that no later commit has touched.
    pub fn resume(&mut self, commit: Commit) {
        self.resumed = Some(commit);
    }

    /// Returns the commit up to which the client has all results.
    pub fn reached(&self) -> Commit {
        self.reached
    }

    /// Waits until a result has changed, and brings all queries to a later commit. The first update has every query.
    ///
    /// # Errors
    /// `OVERLOADED` if the results exceed the limit of a connection; `UNAVAILABLE` if the operator has ended it. Both
    /// end the connection.
    pub async fn next(&mut self) -> Result<Update> {
        loop {
            self.due().await;
            self.check_open()?;
            if let Some(update) = self.turn().await? {
                return Ok(update);
            }
        }
    }

    fn check_open(&self) -> Result<()> {
        match self.hub.lock().connections[self.id].is_ended {
            true => Err(Error::unavailable("The operator has ended this connection")),
            false => Ok(()),
        }
    }

    async fn wait(&self, due: Due) {
        match due {
            Due::Now | Due::Ended => {}
            Due::At(time) => tokio::select! {
                () = self.wake.notified() => {}
                () = tokio::time::sleep_until(time) => {}
            },
            Due::Never => self.wake.notified().await,
        }
    }

    /// Brings all queries to the latest commit now. Returns `None` if no result has changed.
    ///
    /// # Errors
    /// As [`LiveConnection::next`].
    pub async fn catch_up(&mut self) -> Result<Option<Update>> {
        self.check_open()?;
        let newest = self.hub.lock().position();
        loop {
            if let Some(position) = self.all_known() {
                self.reached = self.reached.max(position);
                return Ok(None);
            }
            if let Some(update) = self.turn().await? {
                return Ok(Some(update));
            }
            if self.failing_since.is_none() && self.reached >= newest {
                return Ok(None);
            }
        }
    }

    /// Returns the commit up to which all results are current, or `None` if a result must be checked.
    fn all_known(&self) -> Option<Commit> {
        let state = self.hub.lock();
        let is_known = state.connections[self.id].marked.is_empty() && self.rejected.is_empty();
        is_known.then(|| state.position())
    }

    /// Returns the time of the next turn.
    fn next_turn(&mut self) -> Due {
        if self.hub.lock().connections[self.id].is_ended {
            return Due::Ended;
        }
        if !self.rejected.is_empty() {
            return Due::Now;
        }
        let mut state = self.hub.lock();
        let now = Instant::now();
        let own: Vec<SubscriptionId> = state.connections[self.id].subscriptions.iter().copied().collect();
        let mut next_refresh = None;
        for id in own {
            match state.subscriptions[id].refresh_at {
                Some(time) if time <= now => drop(state.mark(id)),
                Some(time) => next_refresh = Some(next_refresh.map_or(time, |next: Instant| next.min(time))),
                None => {}
            }
        }
        let marked = &state.connections[self.id].marked;
        // All queries move together: those that may run already wait for those that may not.
        match marked.iter().map(|id| state.subscriptions[*id].pace.next_at()).max() {
            Some(time) if time <= now => Due::Now,
            Some(time) => {
                if !std::mem::replace(&mut self.is_put_off, true) {
                    self.hub.stats().meet(Bound::Runs);
                }
                Due::At(time)
            }
            None => next_refresh.map_or(Due::Never, Due::At),
        }
    }

    async fn turn(&mut self) -> Result<Option<Update>> {
        self.is_put_off = false;
        let (runs_at_all, claims) = self.claim().await;
        let hub = self.hub.clone();
        let taken = if runs_at_all {
            let _runner = hub.runners.acquire().await.map_err(Error::internal)?;
            self.run().await
        } else {
            let state = hub.lock();
            let at = state.position();
            let (connection, caller) = (self.id, self.caller.clone());
            let now = hub.dispatcher.services().clock().now();
            let todo = todo(&state, connection, (at, now), &caller, self.flow);
            let take = |(id, todo)| match todo {
                Todo::Take(run) => Some(TurnResult { id, run, is_new: false }),
                Todo::Run(_) => None,
            };
            // A result that a commit has just touched must run: the next turn takes all of them together.
            let Some(runs) = todo.into_iter().map(take).collect() else { return Ok(None) };
            Ok((at, runs))
        };
        let (commit, runs): (Commit, Vec<TurnResult>) = match taken {
            Ok(taken) => taken,
            Err(error) => self.all_failed(&error),
        };
        let is_again = |id: &SubscriptionId| {
            hub.lock().subscriptions.get(*id).is_some_and(|subscription| subscription.sent.is_some())
        };
        if runs.iter().any(|result| result.run.failed.is_some_and(is_transient_error) && is_again(&result.id)) {
            let since = *self.failing_since.get_or_insert_with(Instant::now);
            if since.elapsed() < hub.dispatcher.services().limits().live_retry_timeout {
                drop(claims);
                tokio::time::sleep(RETRY).await;
                return Ok(None);
            }
        }
        self.failing_since = None;
        let update = self.apply(commit, runs);
        drop(claims);
        update
    }

    /// Returns true if a query must run in this turn. Claims the entries that other connections wait for too.
    async fn claim(&self) -> (bool, Claims) {
        loop {
            let ended = self.hub.run_ended.notified();
            let mut ended = std::pin::pin!(ended);
            // Enabled before the check, so that the end of a run that the check sees is not missed.
            ended.as_mut().enable();
            if let Some(claimed) = self.try_claim() {
                return claimed;
            }
            ended.await;
        }
    }

    /// Returns `None` if another connection runs an entry that it needs. It claims all entries or none, so that no two
    /// connections wait for each other.
    fn try_claim(&self) -> Option<(bool, Claims)> {
        let mut state = self.hub.lock();
        let now = self.hub.dispatcher.services().clock().now();
        let (mut runs_at_all, mut claimed) = (false, Vec::new());
        for id in &state.connections[self.id].marked {
            let entry = state.subscriptions[*id].entry.map(|id| (id, &state.entries[id]));
            match entry.filter(|(_, entry)| entry.is_shared) {
                Some((_, entry)) if !entry.is_outdated(now) => {}
                Some((_, entry)) if entry.is_running => return None,
                Some((id, _)) => claimed.push(id),
                None => runs_at_all = true,
            }
        }
        runs_at_all |= !claimed.is_empty();
        for entry in &claimed {
            state.entries[*entry].is_running = true;
        }
        Some((runs_at_all, Claims { hub: self.hub.clone(), entries: claimed }))
    }

    /// Runs the marked queries in one snapshot.
    async fn run(&self) -> Result<(Commit, Vec<TurnResult>)> {
        let hub = self.hub.clone();
        let (connection, caller, flow) = (self.id, self.caller.clone(), self.flow);
        let services = self.hub.dispatcher.services();
        let noted_max = services.limits().live_reads_noted_max;
        let has_run = Cell::new(false);
        let read = move |reader: Rc<dyn Reader>| {
            // The runs were charged and counted, so they are not repeated. Marked queries stay marked for the next
            // turn.
            if has_run.replace(true) {
                return Err(StoreError::Contended("the next turn reads it".to_owned()).into());
            }
            let commit = reader.pin()?;
            let reader = Rc::new(RecordingReader::new(reader, noted_max));
            let todo = {
                let state = hub.lock();
                let now = hub.dispatcher.services().clock().now();
                todo(&state, connection, (commit, now), &caller, flow)
            };
            let run = |(id, todo)| match todo {
                Todo::Take(run) => TurnResult { id, run, is_new: false },
                Todo::Run(asked) => {
                    let run = Arc::new(asked.run(&hub.dispatcher, &reader, commit));
                    TurnResult { id, run, is_new: true }
                }
            };
            Ok((commit, todo.into_iter().map(run).collect()))
        };
        services.store().read(Access::Everyone, flow, &LatencyClass::unknown(), read).await.map_err(Error::from)?
    }

    /// Returns the results for the case that no query could run.
    fn all_failed(&self, error: &Error) -> (Commit, Vec<TurnResult>) {
        let state = self.hub.lock();
        let commit = state.position();
        let run = Arc::new(Run {
            json: envelope::failure(error, &LogLines::default()).split_off(1).into(),
            failed: Some(error.code()),
            journal: None,
            reads: ReadSet::default(),
            inputs: Inputs::UNANNOUNCED,
            until: UsedInputs::UNLIMITED,
            commit,
        });
        let result = |id: &SubscriptionId| TurnResult { id: *id, run: run.clone(), is_new: false };
        (commit, state.connections[self.id].marked.iter().map(result).collect())
    }

    /// Applies the results of a turn, and returns the update for the client.
    fn apply(&mut self, commit: Commit, runs: Vec<TurnResult>) -> Result<Option<Update>> {
        let services = self.hub.dispatcher.services();
        let (limits, now) = (services.limits(), services.clock().now());
        let mut results = std::mem::take(&mut self.rejected);
        let resumed = self.resumed.take();
        let mut state = self.hub.lock();
        for TurnResult { id, run, is_new } in runs {
            state.apply_run(id, &run);
            let Some(subscription) = state.subscriptions.get_mut(id) else { continue };
            subscription.pace.count_run();
            if is_new {
                let stats = self.hub.stats();
                let runs = match subscription.sent {
                    None => &stats.runs_subscribed,
                    Some(_) if subscription.refresh_at.is_some_and(|time| time <= Instant::now()) => {
                        &stats.runs_refreshed
                    }
                    Some(_) => &stats.runs_changed,
                };
                runs.fetch_add(1, Relaxed);
            }
            let refresh = match subscription.function.def.refresh {
                Some(time) => Some(time),
                None => run.ages().then_some(limits.live_refresh),
            };
            let changes = (run.until != UsedInputs::UNLIMITED).then(|| spread(id, run.until.since(now)));
            subscription.refresh_at =
                refresh.into_iter().chain(changes).min().and_then(|time| Instant::now().checked_add(time));
            subscription.is_transient = run.failed.is_some_and(is_transient_error);
            if subscription.sent.as_ref() != Some(&run.json) {
                let is_first = subscription.sent.replace(run.json.clone()).is_none();
                // The end of its pages at the earlier commit is unknown.
                let is_known =
                    run.journal.is_none() && resumed.is_some_and(|since| state.is_unchanged_since(&run, since));
                if is_first && is_known {
                    continue;
                }
                let subscription = &state.subscriptions[id];
                let journal = subscription.question.journal.clone();
                results.push(QueryResult { query: subscription.number, json: run.json.clone(), journal });
            }
        }
        let own = &state.connections[self.id].subscriptions;
        let held: usize = own.iter().filter_map(|id| state.subscriptions[*id].sent.as_ref()).map(Bytes::len).sum();
        let is_lasting = self.refused.is_empty() && own.iter().all(|id| !state.subscriptions[*id].is_transient);
        drop(state);
        if held > limits.live_result_bytes_max {
            let max = limits.live_result_bytes_max;
            self.hub.stats().meet(Bound::ResultBytes);
            return Err(Error::overloaded(format!("The results of a live connection have at most {max} bytes")));
        }
        self.reached = self.reached.max(commit);
        self.hub.stats().sent.fetch_add(results.len() as u64, Relaxed);
        results.sort_by_key(|result| result.query);
        Ok((resumed.is_some() || !results.is_empty()).then_some(Update { commit, results, is_lasting }))
    }
}

impl Drop for LiveConnection {
    fn drop(&mut self) {
        self.hub.disconnect(self.id);
    }
}

enum Due {
    Now,
    At(Instant),
    Never,
    Ended,
}

/// Delays the time until a result changes by up to an eighth. Results change at the same time for all subscriptions, and
/// must not run at the same time.
fn spread(id: SubscriptionId, time: Duration) -> Duration {
    const PARTS: u32 = 64;
    time + time / 8 / PARTS * u32::try_from(id % PARTS as usize).unwrap_or(0)
}

/// Returns the work of a turn at this commit and time, for a connection whose marks are valid up to the commit.
fn todo(
    state: &Current<'_>,
    connection: ConnectionId,
    (commit, now): (Commit, Millis),
    caller: &Caller,
    flow: Flow,
) -> Vec<(SubscriptionId, Todo)> {
    // The connection may be closed by now.
    let Some(connection) = state.connections.get(connection) else { return Vec::new() };
    let one = |id: &SubscriptionId| {
        let subscription = &state.subscriptions[*id];
        let shared = subscription.entry.map(|entry| &state.entries[entry]).filter(|entry| entry.is_shared);
        let good = shared.filter(|entry| {
            let latest = &entry.latest;
            !entry.is_outdated(now) && !state.is_touched_until(latest, commit, latest.commit)
        });
        let todo = match good {
            Some(entry) => Todo::Take(entry.latest.clone()),
            None => Todo::Run(RunRequest {
                question: subscription.question.clone(),
                function: subscription.function.clone(),
                caller: caller.clone(),
                flow,
                why: if subscription.sent.is_none() { RunReason::Subscribed } else { RunReason::Again },
            }),
        };
        (*id, todo)
    };
    connection.marked.iter().map(one).collect()
}
