//! Leases where several nodes serve the database: rows, of which a node remembers for a second what it has read. So a lease is
//! renewed at whichever node its owner comes to, one that is renewed again and again is written once a second, and those of
//! many callers are written together.

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

/// How long what was read counts as known, and between two writes.
const KNOWN: Duration = Duration::from_secs(1);
/// How long a call waits for another one of this node that asks the database.
const PATIENCE: Duration = Duration::from_secs(2);
/// Leases that are remembered; beyond it they are written at once, and forgotten.
const REMEMBERED_MAX: usize = 10_000;
/// Leases of one statement.
const WRITTEN_AT_ONCE: usize = 1_000;
/// How often a lease is merged with what another node has written meanwhile, before that is left for later.
const TRIES: usize = 3;

/// The leases of one kind, as one node has to do with them.
pub(crate) struct SharedLeases<V> {
    store: Store,
    clock: Arc<dyn Clock>,
    kind: &'static str,
    limits: LeaseLimits,
    known: Mutex<Known<V>>,
    /// How many there are at all, as of when that was last asked.
    total: AtomicU64,
}

/// What this node remembers.
struct Known<V> {
    leases: HashMap<String, Remembered<V>>,
    /// When it was last asked how many there are at all.
    counted_at: Option<Millis>,
    /// Whether a thread writes what is not written yet.
    is_followed: bool,
}

/// A lease of which this node has read, or written, the row.
struct Remembered<V> {
    owner: String,
    number: i64,
    version: i64,
    /// What the row holds, and what it is to hold.
    before: V,
    value: V,
    /// Whether that is to be written.
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

/// On a clock that jumped back nothing is recent.
fn is_recent(then: Millis, now: Millis) -> bool {
    now >= then && now.since(then) < KNOWN
}

impl<V: LeaseValue> SharedLeases<V> {
    /// None are known yet.
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

    /// Ends those of these ids that this owner holds.
    pub(crate) fn end(&self, owner: &str, ids: &[String]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut known = self.lock()?;
        known.leases.retain(|id, lease| lease.owner != owner || !ids.contains(id));
        known.counted_at = None;
        Ok(self.rows()?.end(self.kind, owner, ids)?)
    }

    /// Those of an owner, or all, in the order of opening. What another release has written, and this one cannot read, is
    /// passed over.
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

    /// How many there were when that was last asked.
    pub(crate) fn known(&self) -> u64 {
        self.total.load(Relaxed)
    }

    /// Whether there is a lease of this id; it is remembered then.
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

    /// Writes what is not written yet.
    fn write(&self, known: &mut Known<V>) -> Result<()> {
        let now = self.clock.now();
        for _ in 0..TRIES {
            let changed = known.leases.iter().filter(|(_, lease)| lease.is_changed);
            let mut renewals: Vec<Renewal> =
                changed.map(|(id, lease)| renewal(id, lease, now)).collect::<Result<_, _>>()?;
            // In one order at all nodes, so that no two wait for each other.
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

    /// Takes in what another node has made of a lease meanwhile; it may have ended it.
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

    /// Sees to it that what is not written is written soon.
    fn follow(self: &Arc<Self>, known: &mut Known<V>) -> Result<()> {
        if !known.is_followed {
            let leases = Arc::downgrade(self);
            let follower = thread::Builder::new().name("convoke-leases".to_owned());
            follower.spawn(move || follow(&leases)).map_err(convoke_core::error::Error::internal)?;
            known.is_followed = true;
        }
        Ok(())
    }

    /// What is remembered. It is held while the database is asked; nobody waits longer for it than for the database.
    fn lock(&self) -> Result<MutexGuard<'_, Known<V>>, StoreError> {
        let late = || StoreError::Unreachable("leases were not told in time".to_owned());
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

/// What a row holds, unless another release has written it otherwise.
fn read<V: LeaseValue>(row: &LeaseRow) -> Option<V> {
    serde_json::from_str(&row.value).ok()
}

/// Writes what is not written yet, again and again until nothing is remembered.
fn follow<V: LeaseValue>(leases: &Weak<SharedLeases<V>>) {
    loop {
        thread::sleep(KNOWN);
        let Some(leases) = leases.upgrade() else { return };
        let mut known = leases.known.lock();
        if let Err(error) = leases.write(&mut known) {
            // It stays, and is written when the database answers again.
            tracing::debug!(target: "convoke::leases", "leases are not written yet: {}", error.chain());
        }
        let now = leases.clock.now();
        known.leases.retain(|_, lease| lease.is_changed || lease.is_fresh(now));
        if known.leases.is_empty() {
            known.is_followed = false;
            drop(known);
            // Nobody opens any for now: the figure is to be the one that stays.
            if let Ok(count) = leases.rows().and_then(|rows| rows.count(leases.kind, Duration::ZERO)) {
                leases.total.store(count, Relaxed);
            }
            return;
        }
    }
}
