//! All live queries of a runtime: the valid results, the results that a commit has touched, and their subscribers.
//!
//! An *entry* is a result that is kept up to date: for one subscription or, if its query did not use the caller, for
//! all subscriptions with the same query. A commit that touches the reads of an entry marks its subscriptions, and
//! their connections run it again. The state is valid up to one commit, the hub's *position*. The next thread that
//! locks the state applies later commits ([`Hub::lock`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rustc_hash::{FxHashMap, FxHashSet};
use slab::Slab;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use super::dependents::Dependents;
use super::query::{QueryKey, Run};
use crate::call::dispatch::Dispatcher;
use crate::inputs::{Inputs, UsedInputs};
use crate::registry::Registered;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::identity::Caller;
use convoke_store::{Commit, Commits};

/// The live queries of a runtime.
pub struct Hub {
    pub(super) dispatcher: Arc<Dispatcher>,
    state: Mutex<HubState>,
    /// Notified when a shared run has ended, with any result.
    pub(super) run_ended: Notify,
    /// One permit per connection whose queries may run concurrently.
    pub(super) runners: Semaphore,
    pub(super) stats: Stats,
}

/// Counters of live queries.
#[derive(Debug, Default)]
pub struct Stats {
    /// Runs for a new subscription.
    pub runs_subscribed: AtomicU64,
    /// Runs after a commit.
    pub runs_changed: AtomicU64,
    /// Runs of queries whose results change with time.
    pub runs_refreshed: AtomicU64,
    /// Results that were sent.
    pub sent: AtomicU64,
    /// Results that were outdated before a client received them.
    pub replaced: AtomicU64,
    met: [AtomicU64; Bound::ALL.len()],
}

/// A limit of live queries. Each is a separate setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `live_connections_per_caller_max`: a connection was rejected.
    Connections,
    /// `live_queries_max`: a query was rejected.
    Queries,
    /// `live_result_bytes_max`: a connection was ended.
    ResultBytes,
    /// `live_runs_per_second_max`: a run was delayed.
    Runs,
    /// `live_mutations_queued_max` or `live_actions_max`: reading from a connection was paused.
    Calls,
    /// `live_message_bytes_max`: a connection was ended.
    MessageBytes,
    /// `live_connect_timeout`: a connection was ended.
    Connect,
}

impl Bound {
    /// All limits, in the order of their declaration.
    pub const ALL: [Bound; 7] = [
        Bound::Connections,
        Bound::Queries,
        Bound::ResultBytes,
        Bound::Runs,
        Bound::Calls,
        Bound::MessageBytes,
        Bound::Connect,
    ];

    /// Returns its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Connections => "connections",
            Bound::Queries => "queries",
            Bound::ResultBytes => "result_bytes",
            Bound::Runs => "runs",
            Bound::Calls => "calls",
            Bound::MessageBytes => "message_bytes",
            Bound::Connect => "connect",
        }
    }
}

impl Stats {
    /// Counts that a limit was reached.
    pub fn meet(&self, bound: Bound) {
        self.met[bound as usize].fetch_add(1, Relaxed);
    }

    /// Returns the number of times that a limit was reached.
    pub fn met(&self, bound: Bound) -> u64 {
        self.met[bound as usize].load(Relaxed)
    }
}

pub(super) type EntryId = usize;
pub(super) type SubscriptionId = usize;
pub(super) type ConnectionId = usize;

pub(super) struct HubState {
    /// The state is valid up to this commit.
    position: Commit,
    commits: Arc<Commits>,
    pub entries: Slab<Entry>,
    shared: FxHashMap<Arc<QueryKey>, EntryId>,
    pub subscriptions: Slab<Subscription>,
    pub connections: Slab<Connection>,
    dependents: Dependents,
    /// Number of connections per owner.
    owners: FxHashMap<Owner, usize>,
    /// Number of connections since the start.
    connected: u64,
    is_followed: bool,
}

pub(super) struct Entry {
    question: Arc<QueryKey>,
    pub is_shared: bool,
    pub latest: Arc<Run>,
    /// True if a commit up to the position has touched its reads.
    pub is_stale: bool,
    /// True if a connection runs it now, for all subscriptions.
    pub is_running: bool,
    subscriptions: Vec<SubscriptionId>,
}

impl Entry {
    /// Returns true if its result is no longer valid.
    pub(super) fn is_outdated(&self, now: Millis) -> bool {
        self.is_stale || self.latest.until <= now
    }
}

pub(super) struct Subscription {
    pub connection: ConnectionId,
    /// The client's number of the query.
    pub number: u32,
    pub question: Arc<QueryKey>,
    pub function: Registered,
    pub entry: Option<EntryId>,
    /// The result that was last sent to the client.
    pub sent: Option<bytes::Bytes>,
    /// True if that result is a transient failure: another run may succeed.
    pub is_transient: bool,
    /// True if its result must be checked again.
    pub is_marked: bool,
    /// Time of the next check without a change.
    pub refresh_at: Option<Instant>,
    /// Rate limit of its runs.
    pub pace: Pace,
}

/// A rate limit: a number of runs per second, with a burst of the same number.
pub(super) struct Pace {
    interval: Duration,
    runs_at_once: u32,
    /// Time at which a full burst is available again.
    rested_at: Instant,
}

impl Pace {
    pub(super) fn new(runs_a_second: u32) -> Self {
        let runs = runs_a_second.max(1);
        Self { interval: Duration::from_secs(1) / runs, runs_at_once: runs, rested_at: Instant::now() }
    }

    /// Returns the time at which the next run is allowed.
    pub(super) fn next_at(&self) -> Instant {
        (self.rested_at + self.interval).checked_sub(self.interval * self.runs_at_once).unwrap_or(self.rested_at)
    }

    pub(super) fn count_run(&mut self) {
        self.rested_at = self.rested_at.max(Instant::now()) + self.interval;
    }
}

pub(super) struct Connection {
    pub marked: FxHashSet<SubscriptionId>,
    pub subscriptions: FxHashSet<SubscriptionId>,
    pub wake: Arc<Notify>,
    /// Owner that it counts for, if any.
    owner: Option<Owner>,
    /// Number, never reused in this process.
    pub number: u64,
    pub caller: Caller,
    pub opened_at: Instant,
    /// Time since which a result of the client is outdated.
    pub behind_since: Option<Instant>,
    /// True if the operator has ended it.
    pub is_ended: bool,
}

impl Connection {
    fn unmark(&mut self, id: SubscriptionId) {
        self.marked.remove(&id);
        if self.marked.is_empty() {
            self.behind_since = None;
        }
    }
}

/// The owner of connections that are counted together.
pub type Owner = Arc<str>;

/// The state, valid up to the latest commit that was published when it was locked.
pub(super) struct Current<'a> {
    state: MutexGuard<'a, HubState>,
    stats: &'a Stats,
}

impl std::ops::Deref for Current<'_> {
    type Target = HubState;
    fn deref(&self) -> &HubState {
        &self.state
    }
}

impl std::ops::DerefMut for Current<'_> {
    fn deref_mut(&mut self) -> &mut HubState {
        &mut self.state
    }
}

impl Hub {
    /// Creates a hub without live queries.
    pub(crate) fn new(dispatcher: Arc<Dispatcher>) -> Arc<Self> {
        let services = dispatcher.services();
        let commits = services.store().commits().clone();
        let state = HubState {
            position: commits.newest(),
            entries: Slab::new(),
            shared: FxHashMap::default(),
            subscriptions: Slab::new(),
            connections: Slab::new(),
            dependents: Dependents::new(commits.clone()),
            commits,
            owners: FxHashMap::default(),
            connected: 0,
            is_followed: false,
        };
        let runners = Semaphore::new(services.limits().live_runners.max(1));
        let state = Mutex::new(state);
        Arc::new(Self { state, run_ended: Notify::new(), runners, stats: Stats::default(), dispatcher })
    }

    /// Returns the counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Returns the number of connections and of subscriptions.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.connections.len(), state.subscriptions.len())
    }

    /// Locks the state, and applies all published commits to it.
    pub(super) fn lock(&self) -> Current<'_> {
        let mut current = Current { state: self.state.lock(), stats: &self.stats };
        current.catch_up();
        current
    }

    /// Adds a connection, unless its owner has the maximum number. A connection without an owner is not counted.
    ///
    /// # Errors
    /// `OVERLOADED`.
    pub(super) fn connect(
        self: &Arc<Self>,
        caller: Caller,
        owner: Option<Owner>,
        of_owner_max: usize,
    ) -> Result<(ConnectionId, Arc<Notify>)> {
        let mut state = self.lock();
        state.count(owner.as_ref(), of_owner_max).inspect_err(|_| self.stats.meet(Bound::Connections))?;
        let wake = Arc::new(Notify::new());
        state.connected += 1;
        let connection = Connection {
            marked: FxHashSet::default(),
            subscriptions: FxHashSet::default(),
            wake: wake.clone(),
            owner,
            number: state.connected,
            caller,
            opened_at: Instant::now(),
            behind_since: None,
            is_ended: false,
        };
        let id = state.connections.insert(connection);
        if !std::mem::replace(&mut state.is_followed, true) {
            self.follow(&state.commits);
        }
        Ok((id, wake))
    }

    /// Applies commits as they are published, for as long as there are connections.
    fn follow(self: &Arc<Self>, commits: &Commits) {
        let (hub, mut published) = (Arc::downgrade(self), commits.published());
        tokio::spawn(async move {
            while published.changed().await.is_ok() {
                let Some(hub) = hub.upgrade() else { return };
                let mut state = hub.lock();
                if state.connections.is_empty() {
                    state.is_followed = false;
                    return;
                }
            }
        });
    }

    pub(super) fn disconnect(&self, id: ConnectionId) {
        let mut state = self.lock();
        let connection = state.connections.remove(id);
        state.discount(connection.owner.as_ref());
        for subscription in connection.subscriptions {
            state.unsubscribe(subscription);
        }
    }
}

impl Current<'_> {
    fn catch_up(&mut self) {
        let state = &mut *self.state;
        if state.position >= state.commits.newest() {
            return;
        }
        match state.commits.since(state.position) {
            Some(since) => {
                for committed in since {
                    for entry in state.dependents.touched(&committed.changes) {
                        state.touch(entry, committed.commit, self.stats);
                    }
                    state.position = committed.commit;
                }
            }
            None => {
                state.position = state.commits.newest();
                let all: Vec<EntryId> = state.entries.iter().map(|(id, _)| id).collect();
                all.into_iter().for_each(|entry| state.touch(entry, state.position, self.stats));
            }
        }
    }
}

impl HubState {
    /// Returns the commit up to which the state is valid.
    pub(super) fn position(&self) -> Commit {
        self.position
    }

    fn count(&mut self, owner: Option<&Owner>, of_owner_max: usize) -> Result<()> {
        let Some(owner) = owner else { return Ok(()) };
        let of_owner = self.owners.entry(owner.clone()).or_default();
        if *of_owner >= of_owner_max {
            return Err(Error::overloaded(format!("{of_owner_max} live connections of this caller are open already")));
        }
        *of_owner += 1;
        Ok(())
    }

    fn discount(&mut self, owner: Option<&Owner>) {
        let Some(owner) = owner else { return };
        if let Some(of_owner) = self.owners.get_mut(owner) {
            *of_owner -= 1;
            if *of_owner == 0 {
                self.owners.remove(owner);
            }
        }
    }

    /// Counts a connection for another owner from now on.
    ///
    /// # Errors
    /// `OVERLOADED`; then the connection still counts for the former owner.
    pub(super) fn move_to(&mut self, id: ConnectionId, owner: Option<Owner>, of_owner_max: usize) -> Result<()> {
        if self.connections[id].owner != owner {
            self.count(owner.as_ref(), of_owner_max)?;
            let former = std::mem::replace(&mut self.connections[id].owner, owner);
            self.discount(former.as_ref());
        }
        Ok(())
    }

    /// Handles a new caller of a subscription: a separate result is dropped, and a shared one is checked again.
    pub(super) fn change_caller(&mut self, id: SubscriptionId) {
        let own = self.subscriptions[id].entry.filter(|entry| !self.entries[*entry].is_shared);
        if let Some(entry) = own {
            self.subscriptions[id].entry = None;
            self.leave(id, entry);
        }
        self.mark(id);
    }

    fn touch(&mut self, id: EntryId, commit: Commit, stats: &Stats) {
        let entry = &mut self.entries[id];
        if entry.latest.commit >= commit {
            return;
        }
        entry.is_stale = true;
        for subscription in entry.subscriptions.clone() {
            if !self.mark(subscription) {
                stats.replaced.fetch_add(1, Relaxed);
            }
        }
    }

    /// Marks a subscription, so that its result is checked again. Returns false if it was marked before.
    pub(super) fn mark(&mut self, id: SubscriptionId) -> bool {
        let subscription = &mut self.subscriptions[id];
        let connection = &mut self.connections[subscription.connection];
        connection.wake.notify_one();
        connection.marked.insert(id);
        connection.behind_since.get_or_insert_with(Instant::now);
        !std::mem::replace(&mut subscription.is_marked, true)
    }

    pub(super) fn subscribe(&mut self, subscription: Subscription) -> SubscriptionId {
        let connection = subscription.connection;
        let id = self.subscriptions.insert(subscription);
        self.connections[connection].subscriptions.insert(id);
        self.mark(id);
        id
    }

    pub(super) fn unsubscribe(&mut self, id: SubscriptionId) {
        let subscription = self.subscriptions.remove(id);
        if let Some(connection) = self.connections.get_mut(subscription.connection) {
            connection.subscriptions.remove(&id);
            connection.unmark(id);
        }
        if let Some(entry) = subscription.entry {
            self.leave(id, entry);
        }
    }

    /// Removes a subscription from an entry. An entry without subscriptions is removed.
    fn leave(&mut self, id: SubscriptionId, entry_id: EntryId) {
        let entry = &mut self.entries[entry_id];
        entry.subscriptions.retain(|other| *other != id);
        if entry.subscriptions.is_empty() {
            let entry = self.entries.remove(entry_id);
            self.dependents.remove(entry_id, &entry.latest.reads);
            if entry.is_shared {
                self.shared.remove(&entry.question);
            }
        }
    }

    fn shared(&self, question: &QueryKey) -> Option<EntryId> {
        self.shared.get(question).copied()
    }

    /// Applies a run that was made for a subscription: it, and others with the same query, now have its result.
    pub(super) fn apply_run(&mut self, id: SubscriptionId, run: &Arc<Run>) {
        let Some(subscription) = self.subscriptions.get_mut(id) else { return };
        // From now on its pages end where they ended in this run.
        if run.failed.is_none() && subscription.question.journal != run.journal {
            let journal = run.journal.clone();
            subscription.question = Arc::new(QueryKey { journal, ..(*subscription.question).clone() });
        }
        let (question, own) = (subscription.question.clone(), subscription.entry);
        let to = if run.is_for_everybody() {
            self.shared(&question)
        } else {
            own.filter(|own| !self.entries[*own].is_shared)
        };
        let to = match to {
            Some(entry) => {
                self.update_entry(entry, run);
                entry
            }
            None => self.add_entry(&question, run),
        };
        if own != Some(to) {
            self.entries[to].subscriptions.push(id);
            self.subscriptions[id].entry = Some(to);
            if let Some(own) = own {
                self.leave(id, own);
            }
        }
        // A concurrent run may have shown a later commit.
        let entry = &self.entries[to];
        let is_behind = entry.latest.commit > run.commit && entry.latest.json != run.json;
        let is_marked = entry.is_stale || is_behind;
        let subscription = &mut self.subscriptions[id];
        subscription.is_marked = is_marked;
        let connection = &mut self.connections[subscription.connection];
        match is_marked {
            true => connection.wake.notify_one(),
            false => connection.unmark(id),
        }
    }

    fn add_entry(&mut self, question: &Arc<QueryKey>, run: &Arc<Run>) -> EntryId {
        let is_shared = run.is_for_everybody();
        let entry = self.entries.insert(Entry {
            question: question.clone(),
            is_shared,
            latest: run.clone(),
            is_stale: self.is_touched(run),
            is_running: false,
            subscriptions: Vec::new(),
        });
        self.dependents.insert(entry, &run.reads);
        if is_shared {
            self.shared.insert(question.clone(), entry);
        }
        entry
    }

    fn update_entry(&mut self, id: EntryId, run: &Arc<Run>) {
        if self.entries[id].latest.commit > run.commit || Arc::ptr_eq(&self.entries[id].latest, run) {
            return;
        }
        let is_stale = self.is_touched(run);
        let entry = &mut self.entries[id];
        entry.is_stale = is_stale;
        let former = std::mem::replace(&mut entry.latest, run.clone());
        if former.reads != run.reads {
            self.dependents.replace(id, &former.reads, &run.reads);
        }
    }

    /// Returns true if a run's result was the same at an earlier commit of this process.
    pub(super) fn is_unchanged_since(&self, run: &Run, since: Commit) -> bool {
        let rests_on_rows = !run.ages() && run.until == UsedInputs::UNLIMITED && !run.inputs.has(Inputs::MEMORY);
        rests_on_rows && since <= run.commit && !self.is_touched_until(run, since, run.commit)
    }

    /// Returns true if a commit after a run, up to the position, has touched its reads.
    fn is_touched(&self, run: &Run) -> bool {
        self.is_touched_until(run, run.commit, self.position)
    }

    /// Returns true if a commit after `after`, up to `until`, has touched the reads of a run.
    pub(super) fn is_touched_until(&self, run: &Run, after: Commit, until: Commit) -> bool {
        after < until
            && self.commits.since(after).is_none_or(|since| {
                since
                    .iter()
                    .take_while(|committed| committed.commit <= until)
                    .any(|committed| run.reads.is_touched_by(&committed.changes))
            })
    }
}
