//! Leases that several nodes share: rows of the database, which a node caches for a second. An owner can renew a lease
//! at any node, frequent renewals are written once per second, and the renewals of many callers are written together.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::lease::{Lease, LeaseLimits, LeaseRejection, LeaseValue};
use convoke_core::clock::{Clock, Millis};
use convoke_core::error::Result;
use convoke_store::{LeaseRow, LeaseRows, NewLease, Opened, Renewal, Store, StoreError};

/// Time for which a row that was read is valid, and interval between two writes.
const KNOWN: Duration = Duration::from_secs(1);
/// Maximum wait of a call for another call of this node that accesses the database.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of cached leases. Beyond it, the cache is written immediately and cleared.
const REMEMBERED_MAX: usize = 10_000;
/// Leases per statement.
const WRITTEN_AT_ONCE: usize = 1_000;
/// Number of attempts to merge a lease with a concurrent write of another node, before the next write tries again.
const TRIES: usize = 3;

/// The leases of one kind, as cached by one node.
pub(crate) struct SharedLeases<V> {
    store: Store,
    clock: Arc<dyn Clock>,
    kind: &'static str,
    limits: LeaseLimits,
    known: Mutex<Known<V>>,
    /// Total number of leases at the last count.
    total: AtomicU64,
}

/// The cache of this node.
struct Known<V> {
    leases: HashMap<String, Remembered<V>>,
    /// Time of the last total count.
    counted_at: Option<Millis>,
    /// True if a thread writes the changes.
    is_followed: bool,
}

/// A lease whose row this node has read or written.
struct Remembered<V> {
    owner: String,
    number: i64,
    version: i64,
    /// The value in the row, and the value to be written.
    before: V,
    value: V,
    /// True if the value must be written.
    is_changed: bool,
    renewed_at: Option<Millis>,
    read_at: Millis,
}

impl<V: LeaseValue> Remembered<V> {
    fn of(row: &LeaseRow, value: V, now: Millis) -> Self {
        Self {
            owner: row.owner.clone(),
            number: row.number,
            version: row.version,
            before: value.clone(),
            value,
            is_changed: false,
            renewed_at: None,
            read_at: now,
        }
    }

    fn is_fresh(&self, now: Millis) -> bool {
        is_recent(self.read_at, now)
    }
}

/// Returns true if `then` is recent. After a clock that jumped back, no time is recent.
fn is_recent(then: Millis, now: Millis) -> bool {
    now >= then && now.since(then) < KNOWN
}

impl<V: LeaseValue> SharedLeases<V> {
    /// Creates the leases with an empty cache.
    pub(crate) fn new(store: Store, clock: Arc<dyn Clock>, kind: &'static str, limits: LeaseLimits) -> Self {
        let known = Known { leases: HashMap::new(), counted_at: None, is_followed: false };
        Self { store, clock, kind, limits, known: Mutex::new(known), total: AtomicU64::new(0) }
    }

    /// See `Leases::renew`.
    pub(crate) fn renew<R>(
        self: &Arc<Self>,
        id: &str,
        owner: &str,
        now: Millis,
        make: impl Fn() -> V,
        update: impl FnOnce(&mut V) -> R,
    ) -> Result<Result<R, LeaseRejection>> {
        let mut known = self.lock()?;
        if !self.look(&mut known, id, now, &make)? {
            if self.total(&mut known, now)? >= u64::try_from(self.limits.in_all).unwrap_or(u64::MAX) {
                return Ok(Err(LeaseRejection::Full));
            }
            let value = serde_json::to_string(&make()).map_err(convoke_core::error::Error::internal)?;
            let LeaseLimits { of_one_owner, lasts, .. } = self.limits;
            let new = NewLease { kind: self.kind, id, owner, of_one_owner, lasts, value: &value };
            match self.rows()?.open(&new)? {
                Opened::OwnerIsFull => return Ok(Err(LeaseRejection::OwnerIsFull)),
                Opened::There(row) => {
                    let value = read(&row).unwrap_or_else(&make);
                    known.leases.insert(id.to_owned(), Remembered::of(&row, value, now));
                    self.total.fetch_add(1, Relaxed);
                }
            }
        }
        let Some(lease) = known.leases.get_mut(id).filter(|lease| lease.owner == owner) else {
            return Ok(Err(LeaseRejection::OfAnother));
        };
        let updated = update(&mut lease.value);
        (lease.is_changed, lease.renewed_at) = (true, Some(now));
        self.follow(&mut known)?;
        Ok(Ok(updated))
    }

    /// See `Leases::update`.
    pub(crate) fn update<R>(
        self: &Arc<Self>,
        id: &str,
        owner: &str,
        now: Millis,
        update: impl FnOnce(&mut V) -> R,
    ) -> Result<Option<R>> {
        let mut known = self.lock()?;
        if !known.leases.get(id).is_some_and(|lease| lease.is_fresh(now)) {
            self.write(&mut known)?;
            known.leases.remove(id);
            let Some(row) = self.rows()?.get(self.kind, id)? else { return Ok(None) };
            let Some(value) = read(&row) else { return Ok(None) };
            known.leases.insert(id.to_owned(), Remembered::of(&row, value, now));
        }
        let Some(lease) = known.leases.get_mut(id).filter(|lease| lease.owner == owner) else { return Ok(None) };
        let updated = update(&mut lease.value);
        lease.is_changed = true;
        self.follow(&mut known)?;
        Ok(Some(updated))
    }

    /// Ends those leases of these ids that `owner` holds.
    pub(crate) fn end(&self, owner: &str, ids: &[String]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut known = self.lock()?;
        known.leases.retain(|id, lease| lease.owner != owner || !ids.contains(id));
        known.counted_at = None;
        Ok(self.rows()?.end(self.kind, owner, ids)?)
    }

    /// Returns the leases of an owner, or all, in the order of opening. Skips values that another release has written
    /// and this one cannot read.
    pub(crate) fn list<O: FromStr>(&self, owner: Option<&str>) -> Result<Vec<Lease<O, V>>> {
        self.write(&mut *self.lock()?)?;
        let rows = self.rows()?.list(self.kind, owner)?;
        let lease = |row: LeaseRow| {
            let value = read(&row)?;
            Some(Lease { id: row.id.into(), owner: row.owner.parse().ok()?, value, opened_at: row.opened_at })
        };
        Ok(rows.into_iter().filter_map(lease).collect())
    }

    /// See `Leases::renewed_within`.
    pub(crate) fn renewed_within(&self, time: Duration) -> Result<u64> {
        self.write(&mut *self.lock()?)?;
        Ok(self.rows()?.count(self.kind, self.limits.lasts.saturating_sub(time))?)
    }

    /// Returns the total number at the last count.
    pub(crate) fn known(&self) -> u64 {
        self.total.load(Relaxed)
    }

    /// Returns true if there is a lease with this id, and caches it.
    fn look(&self, known: &mut Known<V>, id: &str, now: Millis, make: &impl Fn() -> V) -> Result<bool> {
        if known.leases.get(id).is_some_and(|lease| lease.is_fresh(now)) {
            return Ok(true);
        }
        if known.leases.len() >= REMEMBERED_MAX || known.leases.get(id).is_some_and(|lease| lease.is_changed) {
            self.write(known)?;
        }
        if known.leases.len() >= REMEMBERED_MAX {
            known.leases.retain(|_, lease| lease.is_changed);
        }
        known.leases.remove(id);
        let Some(row) = self.rows()?.get(self.kind, id)? else { return Ok(false) };
        let value = read(&row).unwrap_or_else(make);
        known.leases.insert(id.to_owned(), Remembered::of(&row, value, now));
        Ok(true)
    }

    fn total(&self, known: &mut Known<V>, now: Millis) -> Result<u64> {
        if !known.counted_at.is_some_and(|then| is_recent(then, now)) {
            self.total.store(self.rows()?.count(self.kind, Duration::ZERO)?, Relaxed);
            known.counted_at = Some(now);
        }
        Ok(self.total.load(Relaxed))
    }

    /// Writes the changes.
    fn write(&self, known: &mut Known<V>) -> Result<()> {
        let now = self.clock.now();
        for _ in 0..TRIES {
            let changed = known.leases.iter().filter(|(_, lease)| lease.is_changed);
            let mut renewals: Vec<Renewal> =
                changed.map(|(id, lease)| renewal(id, lease, now)).collect::<Result<_, _>>()?;
            // All nodes use the same order, so that no two of them deadlock.
            renewals.sort_by(|one, other| one.id.cmp(&other.id));
            for batch in renewals.chunks(WRITTEN_AT_ONCE) {
                let written = self.rows()?.write(self.kind, self.limits.lasts, batch)?;
                let written: HashSet<String> = written.into_iter().collect();
                for Renewal { id, .. } in batch {
                    if written.contains(id) {
                        if let Some(lease) = known.leases.get_mut(id) {
                            lease.version += 1;
                            lease.before = lease.value.clone();
                            (lease.is_changed, lease.renewed_at, lease.read_at) = (false, None, now);
                        }
                    } else {
                        self.merge(known, id, now)?;
                    }
                }
            }
            if renewals.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Merges the change of another node into a cached lease. The other node may have ended it.
    fn merge(&self, known: &mut Known<V>, id: &str, now: Millis) -> Result<()> {
        let row = self.rows()?.get(self.kind, id)?;
        let Some(lease) = known.leases.get_mut(id) else { return Ok(()) };
        match row.filter(|row| row.number == lease.number).and_then(|row| Some((read::<V>(&row)?, row.version))) {
            Some((theirs, version)) => {
                lease.value = V::merge(&lease.before, lease.value.clone(), theirs.clone());
                (lease.before, lease.version, lease.read_at) = (theirs, version, now);
            }
            None => drop(known.leases.remove(id)),
        }
        Ok(())
    }

    /// Starts the thread that writes the changes, unless it runs.
    fn follow(self: &Arc<Self>, known: &mut Known<V>) -> Result<()> {
        if !known.is_followed {
            let leases = Arc::downgrade(self);
            let follower = thread::Builder::new().name("convoke-leases".to_owned());
            follower.spawn(move || follow(&leases)).map_err(convoke_core::error::Error::internal)?;
            known.is_followed = true;
        }
        Ok(())
    }

    /// Locks the cache. The lock is held during database requests, so the wait for it is limited.
    fn lock(&self) -> Result<MutexGuard<'_, Known<V>>, StoreError> {
        let late = || StoreError::Unreachable("the wait for the cached leases timed out".to_owned());
        self.known.try_lock_for(PATIENCE).ok_or_else(late)
    }

    fn rows(&self) -> Result<&dyn LeaseRows, StoreError> {
        self.store.leases().ok_or_else(|| StoreError::Engine("one node alone shares no leases".to_owned()))
    }
}

fn renewal<V: LeaseValue>(id: &str, lease: &Remembered<V>, now: Millis) -> Result<Renewal> {
    Ok(Renewal {
        id: id.to_owned(),
        number: lease.number,
        version: lease.version,
        age: lease.renewed_at.map(|then| now.since(then)),
        value: serde_json::to_string(&lease.value).map_err(convoke_core::error::Error::internal)?,
    })
}

/// Returns the value of a row, or `None` if another release has written it in another form.
fn read<V: LeaseValue>(row: &LeaseRow) -> Option<V> {
    serde_json::from_str(&row.value).ok()
}

/// Writes the changes periodically until the cache is empty.
fn follow<V: LeaseValue>(leases: &Weak<SharedLeases<V>>) {
    loop {
        thread::sleep(KNOWN);
        let Some(leases) = leases.upgrade() else { return };
        let mut known = leases.known.lock();
        if let Err(error) = leases.write(&mut known) {
            // The change stays in the cache and is written when the database is reachable again.
            tracing::debug!(target: "convoke::leases", "cannot write leases yet; retrying: {}", error.chain());
        }
        let now = leases.clock.now();
        known.leases.retain(|_, lease| lease.is_changed || lease.is_fresh(now));
        if known.leases.is_empty() {
            known.is_followed = false;
            drop(known);
            // No lease is opened for now, so the total must be exact.
            if let Ok(count) = leases.rows().and_then(|rows| rows.count(leases.kind, Duration::ZERO)) {
                leases.total.store(count, Relaxed);
            }
            return;
        }
    }
}
