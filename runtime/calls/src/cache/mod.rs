//! The results of queries, kept until a commit touches what they rest on.
//!
//! A query without inputs that no commit announces gives the same result until something that it read is changed. From
//! the second time on that the same is asked, its result is kept with the set of what it read; it is given again only if
//! no commit since, nor one that is being made, has touched that set ([`Commits::stands`]). Nobody has to find what a
//! commit touches: each result is looked at when it is asked for, so a mutation pays nothing for results that nobody asks
//! for any more.
//!
//! Whoever is given a kept result has passed every check of a call but those of the function's body, and the body has
//! passed them for the same caller with the same claims, or never asked who calls.

mod key;

use std::collections::hash_map::Entry;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use bytes::Bytes;
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use quick_cache::{Lifecycle, Weighter};
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use crate::codec::decode::Body;
use crate::context::shared::{Call, Inputs};
use crate::function::Kind;
use crate::logs::LogLines;
use crate::registry::{PerFunction, Registered, Registry};
use convoke_core::answer::pieces::Pieces;
use convoke_core::error::Result;
use convoke_core::identity::Caller;
use convoke_core::limits::Limits;
use convoke_store::{Admission, Commit, Commits, Nodes, ReadSet, Store};
pub(crate) use key::Asked;
use key::Key;

/// Results and arguments that are longer are not kept.
const RESULT_BYTES_MAX: usize = 1024 * 1024;
const ARGS_BYTES_MAX: usize = 8 * 1024;
/// Questions that were asked lately and are remembered.
const ASKED_LATELY: usize = 16 * 1_024;
/// What an entry takes beside its bytes, about.
const ENTRY_BYTES: usize = 512;
/// What a range or an id of a read set takes, about.
const READ_BYTES: usize = 64;
/// Calls of a function whose runs are not recorded after one that could not be kept.
const UNKEPT: u32 = 256;

/// The kept results of a runtime.
pub struct ResultCache {
    /// None where the setting says so.
    results: Option<Cache<Key, Arc<Kept>, Weight, key::Hasher, Evictions>>,
    admission: Admission,
    habits: PerFunction<Habits>,
    /// Runs under way of which others wait for the result, by the hash of what is asked.
    flights: Mutex<FxHashMap<u64, watch::Receiver<()>>>,
    hasher: key::Hasher,
    commits: Arc<Commits>,
    stats: Arc<CacheStats>,
}

/// What is counted of kept results.
#[derive(Debug, Default)]
pub struct CacheStats {
    /// Calls that were given a kept result.
    pub hits: AtomicU64,
    /// Calls of queries that might have been given one, and were run.
    pub misses: AtomicU64,
    /// Calls that waited for the run of another one.
    pub joined: AtomicU64,
    /// Results that fell because a commit touched what they rest on.
    pub evicted_changed: AtomicU64,
    /// Results that fell because there was no room for them.
    pub evicted_size: AtomicU64,
}

/// What is known of a function's runs.
#[derive(Debug, Default)]
struct Habits {
    /// Its last run asked who calls.
    asks_caller: AtomicBool,
    /// A result of it was kept before: it is worth waiting for one.
    is_kept: AtomicBool,
    /// Calls that are not recorded, since its last run rested on what no commit announces.
    unkept: AtomicU32,
}

/// A kept result.
pub(crate) struct Kept {
    result: Bytes,
    log_lines: LogLines,
    charged: Charged,
    reads: ReadSet,
    /// It is known to stand as of this commit, and at this moment of the commits.
    commit: AtomicU64,
    moment: AtomicU64,
    commits: Arc<Commits>,
}

/// What the run charged to its caller's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Charged {
    call: bool,
    beyond: u32,
}

/// What is to become of a run of a query.
pub(crate) enum Plan<'a> {
    /// Nothing.
    Run,
    /// What it reads is recorded, and its result is kept if that is possible.
    RunAndKeep(Keeping<'a>),
}

/// A run whose result is to be kept. Dropped, those who wait for it go on.
pub(crate) struct Keeping<'a> {
    cache: &'a ResultCache,
    asked: Asked<'a>,
    hash: u64,
    /// The newest commit before its snapshot was opened.
    since: Commit,
    /// Held by the run that others wait for.
    lead: Option<watch::Sender<()>>,
}

impl ResultCache {
    /// For the functions of a runtime; where commits are made that this process learns of only later, nothing is kept.
    pub(crate) fn new(registry: &Registry, limits: &Limits, store: &Store) -> Self {
        let (commits, are_all_known) = (store.commits().clone(), matches!(store.nodes(), Nodes::Alone));
        let stats = Arc::<CacheStats>::default();
        let hasher = key::Hasher::default();
        let bytes = limits.cache_mib.saturating_mul(1024 * 1024);
        let results = (bytes > 0 && are_all_known).then(|| {
            let entries = (bytes / (4 * ENTRY_BYTES)).min(10_000);
            let evictions = Evictions(stats.clone());
            Cache::with(entries, bytes as u64, Weight, hasher.clone(), evictions)
        });
        Self {
            results,
            admission: Admission::new(ASKED_LATELY),
            habits: registry.per_function(|_| Habits::default()),
            flights: Mutex::default(),
            hasher,
            commits,
            stats,
        }
    }

    /// What is counted.
    pub fn stats(&self) -> &CacheStats {
        &self.stats
    }

    /// How many results are kept, and how many bytes they take.
    pub fn size(&self) -> (usize, u64) {
        self.results.as_ref().map_or((0, 0), |results| (results.len(), results.weight()))
    }

    /// What is asked, if its result may be kept.
    pub(crate) fn asked<'a>(&self, function: &'a Registered, args: Body<'a>) -> Option<Asked<'a>> {
        let is_kept = self.results.is_some() && function.kind() == Kind::Query && function.def.cache;
        Some(Asked::new(function, args)).filter(|asked| is_kept && asked.len() <= ARGS_BYTES_MAX)
    }

    /// The kept result for a caller, if there is one that stands.
    pub(crate) fn find(&self, asked: &Asked<'_>, caller: &Caller) -> Option<Arc<Kept>> {
        let results = self.results.as_ref()?;
        let asks_caller = self.habits[asked.function].asks_caller.load(Relaxed);
        let found = asked.by(asks_caller.then_some(caller));
        let kept = results.get(&found)?;
        if kept.stands() {
            return Some(kept);
        }
        if results.remove_if(&found, |now| Arc::ptr_eq(now, &kept)).is_some() {
            self.stats.evicted_changed.fetch_add(1, Relaxed);
        }
        None
    }

    /// Gives a kept result to a call: it is charged what the run was charged.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub(crate) fn give(&self, kept: &Kept, call: &Call) -> Result<(Pieces, LogLines)> {
        let charge = |cost| call.services.charge(&call.caller, call.def, cost);
        if kept.charged.call {
            call.charges.ask_for_call(|| charge(1))?;
        }
        if kept.charged.beyond > 0 {
            call.charges.ask(kept.charged.beyond, charge)?;
        }
        self.stats.hits.fetch_add(1, Relaxed);
        call.is_kept.store(true, Relaxed);
        Ok((kept.result.clone().into(), kept.log_lines.clone()))
    }

    /// What is to become of the run of a call that was given no kept result. One that asks for what is being run waits
    /// for that run, and looks again.
    pub(crate) async fn plan<'a>(&'a self, asked: Asked<'a>, caller: &Caller) -> Result<Plan<'a>, Arc<Kept>> {
        self.stats.misses.fetch_add(1, Relaxed);
        let habits = &self.habits[asked.function];
        let left = habits.unkept.load(Relaxed);
        if left > 0 {
            habits.unkept.store(left - 1, Relaxed);
            return Ok(Plan::Run);
        }
        // Whoever asks it: they wait for one run, and find then whether it is for them.
        let hash = self.hasher.hash_one(asked.by(None));
        if !self.admission.is_second_sight(hash) {
            return Ok(Plan::Run);
        }
        let keeping = |lead| Keeping { cache: self, asked, hash, since: self.commits.newest(), lead };
        if !habits.is_kept.load(Relaxed) {
            return Ok(Plan::RunAndKeep(keeping(None)));
        }
        let mut under_way = match self.flights.lock().entry(hash) {
            Entry::Occupied(flight) => flight.get().clone(),
            Entry::Vacant(place) => {
                let (lead, flight) = watch::channel(());
                place.insert(flight);
                return Ok(Plan::RunAndKeep(keeping(Some(lead))));
            }
        };
        self.stats.joined.fetch_add(1, Relaxed);
        // It fails when the run has ended: nothing is ever sent.
        let _ = under_way.changed().await;
        // What is kept now is given only if it stands now: the run's snapshot was not older than this call.
        self.find(&asked, caller).map_or_else(|| Ok(Plan::RunAndKeep(keeping(None))), Err)
    }
}

impl Keeping<'_> {
    /// Takes in what a run has come to, with all that it read and asked for.
    pub(crate) fn keep(self, result: &Pieces, log_lines: &LogLines, reads: ReadSet, call: &Call) {
        let (inputs, habits) = (call.inputs.noted(), &self.cache.habits[self.asked.function]);
        let asks_caller = inputs.has(Inputs::CALLER);
        if habits.asks_caller.load(Relaxed) != asks_caller {
            habits.asks_caller.store(asks_caller, Relaxed);
        }
        if reads.is_unannounced || inputs.has(Inputs::UNANNOUNCED) || inputs.has(Inputs::MEMORY) {
            habits.unkept.store(UNKEPT, Relaxed);
            return;
        }
        let Some(results) = self.cache.results.as_ref().filter(|_| result.len() <= RESULT_BYTES_MAX) else { return };
        let commits = &self.cache.commits;
        // Before it is asked whether it stands, so that no commit in between is told without its rows.
        let kept = Kept {
            result: Bytes::copy_from_slice(&result.joined()),
            log_lines: log_lines.clone(),
            charged: Charged { call: call.charges.is_call_paid(), beyond: call.charges.asked() },
            commit: AtomicU64::new(self.since.0),
            moment: AtomicU64::new(0),
            commits: commits.clone(),
            reads,
        };
        kept.reads.tables.keys().for_each(|table| commits.watch(table));
        if kept.stands() {
            habits.is_kept.store(true, Relaxed);
            results.insert(self.asked.by(asks_caller.then_some(&call.caller)).to_owned(), Arc::new(kept));
        }
    }
}

impl Drop for Keeping<'_> {
    fn drop(&mut self) {
        if self.lead.is_some() {
            self.cache.flights.lock().remove(&self.hash);
        }
    }
}

impl Kept {
    /// Whether nothing that it rests on has changed, or is about to.
    pub(crate) fn stands(&self) -> bool {
        if self.moment.load(Relaxed) == self.commits.moment() {
            return true;
        }
        let Some((commit, moment)) = self.commits.stands(&self.reads, Commit(self.commit.load(Relaxed))) else {
            return false;
        };
        // In this order: whoever reads the moment rests on the commit or an earlier one.
        self.commit.fetch_max(commit.0, Relaxed);
        self.moment.store(moment, Relaxed);
        true
    }

    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.result.len() + self.log_lines.bytes() + READ_BYTES * self.reads.len()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.reads.tables.keys().for_each(|table| self.commits.unwatch(table));
    }
}

/// Bytes are what is bounded.
#[derive(Clone, Debug)]
struct Weight;

impl Weighter<Key, Arc<Kept>> for Weight {
    fn weight(&self, key: &Key, kept: &Arc<Kept>) -> u64 {
        (key.len() + kept.bytes()) as u64
    }
}

/// Counts what falls for want of room.
#[derive(Clone, Debug)]
struct Evictions(Arc<CacheStats>);

impl Lifecycle<Key, Arc<Kept>> for Evictions {
    type RequestState = ();

    fn on_evict(&self, (): &mut (), _key: Key, _kept: Arc<Kept>) {
        self.0.evicted_size.fetch_add(1, Relaxed);
    }
}
