//! The cache of query results. A commit that changes the read set of a result invalidates it.
//!
//! A query whose inputs are all announced by commits returns the same result until its reads change. From the second
//! request on, the cache stores the result with its read set. It returns the result only if no later commit, including
//! a commit in progress, has changed the read set ([`Commits::stands`]). The check is made at each lookup, so a
//! mutation does no work for results that are not requested again.
//!
//! A call that receives a cached result has passed all checks except those of the function's body. The body has passed
//! those for the same caller with the same claims, or it did not use the caller.

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
use crate::context::shared::Call;
use crate::function::Kind;
use crate::inputs::Inputs;
use crate::logs::LogLines;
use crate::registry::{PerFunction, Registered, Registry};
use convoke_core::answer::pieces::Pieces;
use convoke_core::clock::Millis;
use convoke_core::error::Result;
use convoke_core::limits::Limits;
use convoke_store::{Admission, Commit, Commits, Nodes, ReadSet, Store};
pub(crate) use key::CacheRequest;
use key::Key;

/// Longer results and arguments are not cached.
const RESULT_BYTES_MAX: usize = 1024 * 1024;
const ARGS_BYTES_MAX: usize = 8 * 1024;
/// Number of recent requests that are remembered.
const RECENT_REQUESTS: usize = 16 * 1_024;
/// Approximate bytes of an entry beside its result.
const ENTRY_BYTES: usize = 512;
/// Approximate bytes of a range or an id of a read set.
const READ_BYTES: usize = 64;
/// Number of calls of a function that are not recorded after an uncacheable run.
const UNRECORDED_CALLS: u32 = 256;

/// The result cache of a runtime.
pub struct ResultCache {
    /// None if a setting disables the cache.
    results: Option<Cache<Key, Arc<CachedResult>, Weight, key::Hasher, Evictions>>,
    admission: Admission,
    habits: PerFunction<Habits>,
    /// Running queries whose result other calls wait for, by the hash of the request.
    flights: Mutex<FxHashMap<u64, watch::Receiver<()>>>,
    hasher: key::Hasher,
    commits: Arc<Commits>,
    stats: Arc<CacheStats>,
}

/// Counters of the result cache.
#[derive(Debug, Default)]
pub struct CacheStats {
    /// Calls that received a cached result.
    pub hits: AtomicU64,
    /// Calls of cacheable queries that ran.
    pub misses: AtomicU64,
    /// Calls that waited for the run of another call.
    pub joined: AtomicU64,
    /// Results that were evicted because a commit changed their read set, or because their time has passed.
    pub evicted_changed: AtomicU64,
    /// Results that were evicted because the cache was full.
    pub evicted_size: AtomicU64,
}

/// Statistics of a function's runs.
#[derive(Debug, Default)]
struct Habits {
    /// True if its last run used the caller.
    uses_caller: AtomicBool,
    /// True if a result was cached before: then it is worth waiting for a run.
    was_cached: AtomicBool,
    /// Number of further calls that are not recorded, since the last run was uncacheable.
    unrecorded: AtomicU32,
}

pub(crate) struct CachedResult {
    result: Bytes,
    log_lines: LogLines,
    charged: Charged,
    reads: ReadSet,
    /// The time at which the result changes without a commit.
    until: Millis,
    /// The result is known to be valid at this commit and at this moment of the commits.
    commit: AtomicU64,
    moment: AtomicU64,
    commits: Arc<Commits>,
}

/// The charges of the run to its caller's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Charged {
    call: bool,
    beyond: u32,
}

/// The plan for a run of a query.
pub(crate) enum Plan<'a> {
    /// Run it and do not cache the result.
    Run,
    /// Record the reads, and cache the result if possible.
    RunAndCache(PendingResult<'a>),
}

/// A run whose result may be cached. When it is dropped, the calls that wait for it continue.
pub(crate) struct PendingResult<'a> {
    cache: &'a ResultCache,
    request: CacheRequest<'a>,
    hash: u64,
    /// The latest commit before the snapshot was opened.
    since: Commit,
    /// Held by a run that other calls wait for.
    lead: Option<watch::Sender<()>>,
}

impl ResultCache {
    /// Creates the cache for the functions of a runtime. It is disabled if other nodes make commits that this process
    /// learns of only later.
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
            admission: Admission::new(RECENT_REQUESTS),
            habits: registry.per_function(|_| Habits::default()),
            flights: Mutex::default(),
            hasher,
            commits,
            stats,
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> &CacheStats {
        &self.stats
    }

    /// Returns the number of cached results, and their bytes.
    pub fn size(&self) -> (usize, u64) {
        self.results.as_ref().map_or((0, 0), |results| (results.len(), results.weight()))
    }

    /// Returns the request for the cache, if its result may be cached.
    pub(crate) fn request<'a>(&self, function: &'a Registered, args: Body<'a>) -> Option<CacheRequest<'a>> {
        let is_cacheable = self.results.is_some() && function.kind() == Kind::Query && function.def.cache;
        CacheRequest::new(function, args).filter(|request| is_cacheable && request.len() <= ARGS_BYTES_MAX)
    }

    /// Returns the cached result for a call, if it is valid.
    pub(crate) fn find(&self, request: &CacheRequest<'_>, call: &Call) -> Option<Arc<CachedResult>> {
        let results = self.results.as_ref()?;
        let uses_caller = self.habits[request.function].uses_caller.load(Relaxed);
        let found = request.by(uses_caller.then_some(&call.caller));
        let cached = results.get(&found)?;
        if cached.is_valid(call.now) {
            return Some(cached);
        }
        if results.remove_if(&found, |now| Arc::ptr_eq(now, &cached)).is_some() {
            self.stats.evicted_changed.fetch_add(1, Relaxed);
        }
        None
    }

    /// Returns a cached result to a call, and charges the call as the run was charged.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub(crate) fn serve(&self, cached: &CachedResult, call: &Call) -> Result<(Pieces, LogLines)> {
        let charge = |cost| call.services.charge(&call.caller, call.def, cost);
        if cached.charged.call {
            call.charges.ask_for_call(|| charge(1))?;
        }
        if cached.charged.beyond > 0 {
            call.charges.ask(cached.charged.beyond, charge)?;
        }
        self.stats.hits.fetch_add(1, Relaxed);
        call.is_cached.store(true, Relaxed);
        Ok((cached.result.clone().into(), cached.log_lines.clone()))
    }

    /// Returns the plan after a cache miss. If another call runs the same query, waits for that run, and then looks
    /// into the cache again.
    pub(crate) async fn plan<'a>(
        &'a self,
        request: CacheRequest<'a>,
        call: &Call,
    ) -> Result<Plan<'a>, Arc<CachedResult>> {
        self.stats.misses.fetch_add(1, Relaxed);
        let habits = &self.habits[request.function];
        let left = habits.unrecorded.load(Relaxed);
        if left > 0 {
            habits.unrecorded.store(left - 1, Relaxed);
            return Ok(Plan::Run);
        }
        // Without the caller: the calls of all callers wait for one run, and then check if its result fits them.
        let hash = self.hasher.hash_one(request.by(None));
        if !self.admission.is_second_sight(hash) {
            return Ok(Plan::Run);
        }
        let pending = |lead| PendingResult { cache: self, request, hash, since: self.commits.newest(), lead };
        if !habits.was_cached.load(Relaxed) {
            return Ok(Plan::RunAndCache(pending(None)));
        }
        let mut under_way = match self.flights.lock().entry(hash) {
            Entry::Occupied(flight) => flight.get().clone(),
            Entry::Vacant(place) => {
                let (lead, flight) = watch::channel(());
                place.insert(flight);
                return Ok(Plan::RunAndCache(pending(Some(lead))));
            }
        };
        self.stats.joined.fetch_add(1, Relaxed);
        // The receiver fails when the run has ended; no value is ever sent.
        let _ = under_way.changed().await;
        // A result in the cache is returned only if it is valid now, so its snapshot is not older than this call.
        self.find(&request, call).map_or_else(|| Ok(Plan::RunAndCache(pending(None))), Err)
    }
}

impl PendingResult<'_> {
    /// Caches the result of a run, with its read set and inputs.
    pub(crate) fn store(self, result: &Pieces, log_lines: &LogLines, reads: ReadSet, call: &Call) {
        let (inputs, habits) = (call.inputs.used(), &self.cache.habits[self.request.function]);
        let uses_caller = inputs.has(Inputs::CALLER);
        if habits.uses_caller.load(Relaxed) != uses_caller {
            habits.uses_caller.store(uses_caller, Relaxed);
        }
        if reads.is_unannounced || inputs.has(Inputs::UNANNOUNCED) || inputs.has(Inputs::MEMORY) {
            habits.unrecorded.store(UNRECORDED_CALLS, Relaxed);
            return;
        }
        let Some(results) = self.cache.results.as_ref().filter(|_| result.len() <= RESULT_BYTES_MAX) else { return };
        let commits = &self.cache.commits;
        // The tables are watched before the check, so that every commit in between is recorded with its rows.
        let cached = CachedResult {
            result: Bytes::copy_from_slice(&result.joined()),
            log_lines: log_lines.clone(),
            charged: Charged { call: call.charges.is_call_paid(), beyond: call.charges.asked() },
            commit: AtomicU64::new(self.since.0),
            moment: AtomicU64::new(0),
            commits: commits.clone(),
            reads,
            until: call.inputs.until(),
        };
        cached.reads.tables.keys().for_each(|table| commits.watch(table));
        if cached.is_valid(call.now) {
            habits.was_cached.store(true, Relaxed);
            results.insert(self.request.by(uses_caller.then_some(&call.caller)).to_owned(), Arc::new(cached));
        }
    }
}

impl Drop for PendingResult<'_> {
    fn drop(&mut self) {
        if self.lead.is_some() {
            self.cache.flights.lock().remove(&self.hash);
        }
    }
}

impl CachedResult {
    /// Returns true if no commit has changed the read set, nor is about to, and the result is the same at this time.
    pub(crate) fn is_valid(&self, now: Millis) -> bool {
        if now >= self.until {
            return false;
        }
        if self.moment.load(Relaxed) == self.commits.moment() {
            return true;
        }
        let Some((commit, moment)) = self.commits.stands(&self.reads, Commit(self.commit.load(Relaxed))) else {
            return false;
        };
        // In this order: a thread that reads the moment relies on this commit or an earlier one.
        self.commit.fetch_max(commit.0, Relaxed);
        self.moment.store(moment, Relaxed);
        true
    }

    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.result.len() + self.log_lines.bytes() + READ_BYTES * self.reads.len()
    }
}

impl Drop for CachedResult {
    fn drop(&mut self) {
        self.reads.tables.keys().for_each(|table| self.commits.unwatch(table));
    }
}

/// Limits the cache by bytes.
#[derive(Clone, Debug)]
struct Weight;

impl Weighter<Key, Arc<CachedResult>> for Weight {
    fn weight(&self, key: &Key, cached: &Arc<CachedResult>) -> u64 {
        (key.len() + cached.bytes()) as u64
    }
}

/// Counts the evictions for lack of room.
#[derive(Clone, Debug)]
struct Evictions(Arc<CacheStats>);

impl Lifecycle<Key, Arc<CachedResult>> for Evictions {
    type RequestState = ();

    fn on_evict(&self, (): &mut (), _key: Key, _kept: Arc<CachedResult>) {
        self.0.evicted_size.fetch_add(1, Relaxed);
    }
}
