//! Leases: things that somebody holds as long as they renew them, in memory, within bounds.
//!
//! Subscriptions and the like are figures, not facts: they may end with the process, and they must not cost a write.
//! An application keeps its leases in [`crate::Context::memory`] and says what each holds; here are the owners, the
//! bounds, the order of opening and the expiry.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use convoke_core::clock::Millis;

/// The bounds of [`Leases`].
#[derive(Clone, Copy, Debug)]
pub struct LeaseLimits {
    /// Leases of one owner.
    pub of_one_owner: usize,
    /// Leases in all.
    pub in_all: usize,
    /// How long after its last renewal a lease ends.
    pub lasts: Duration,
}

/// Leases by their id, each of one owner and holding one value.
pub struct Leases<O, V> {
    limits: LeaseLimits,
    table: Mutex<Table<O, V>>,
}

/// Why a lease is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseRejection {
    /// Somebody else holds one with this id.
    OfAnother,
    /// The owner holds as many as one may.
    OwnerIsFull,
    /// There are as many as there may be.
    Full,
}

/// A lease, as it was when it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease<O, V> {
    /// Its id.
    pub id: Arc<str>,
    /// Who holds it.
    pub owner: O,
    /// What it holds.
    pub value: V,
    /// When it was opened.
    pub opened_at: Millis,
}

struct Table<O, V> {
    /// Numbers of openings, by id.
    numbers: HashMap<Arc<str>, u64>,
    /// By number, that is in the order of opening.
    leases: BTreeMap<u64, Held<O, V>>,
    of_owner: HashMap<O, BTreeSet<u64>>,
    /// When they end.
    ends: BTreeSet<(Millis, u64)>,
    next: u64,
}

struct Held<O, V> {
    lease: Lease<O, V>,
    ends_at: Millis,
}

impl<O: Clone + Eq + Hash, V> Leases<O, V> {
    /// No leases yet.
    pub fn new(limits: LeaseLimits) -> Self {
        let table = Table {
            numbers: HashMap::new(),
            leases: BTreeMap::new(),
            of_owner: HashMap::new(),
            ends: BTreeSet::new(),
            next: 0,
        };
        Self { limits, table: Mutex::new(table) }
    }

    /// Opens the lease `id` for `owner` with the value that `make` gives, or renews the one they hold; then `update`
    /// sees its value. It ends the agreed time after `now`.
    ///
    /// # Errors
    /// [`LeaseRejection`]; nothing changes then.
    pub fn renew<R>(
        &self,
        id: &str,
        owner: &O,
        now: Millis,
        make: impl FnOnce() -> V,
        update: impl FnOnce(&mut V) -> R,
    ) -> Result<R, LeaseRejection> {
        let mut table = self.table.lock();
        table.expire(now);
        let number = match table.numbers.get(id).copied() {
            Some(number) => number,
            None => {
                if table.of_owner.get(owner).map_or(0, BTreeSet::len) >= self.limits.of_one_owner {
                    return Err(LeaseRejection::OwnerIsFull);
                }
                if table.leases.len() >= self.limits.in_all {
                    return Err(LeaseRejection::Full);
                }
                table.open(Lease { id: id.into(), owner: owner.clone(), value: make(), opened_at: now })
            }
        };
        let table = &mut *table;
        let held = table.leases.get_mut(&number).expect("every number in use has its lease");
        if held.lease.owner != *owner {
            return Err(LeaseRejection::OfAnother);
        }
        table.ends.remove(&(held.ends_at, number));
        held.ends_at = now + self.limits.lasts;
        table.ends.insert((held.ends_at, number));
        Ok(update(&mut held.lease.value))
    }

    /// Lets `update` see what the lease `id` holds if `owner` holds it, without renewing it.
    pub fn update<R>(&self, id: &str, owner: &O, now: Millis, update: impl FnOnce(&mut V) -> R) -> Option<R> {
        let mut table = self.table.lock();
        table.expire(now);
        let number = *table.numbers.get(id)?;
        let held = table.leases.get_mut(&number)?;
        (held.lease.owner == *owner).then(|| update(&mut held.lease.value))
    }

    /// Ends the lease `id` if `owner` holds it; returns what it held.
    pub fn end(&self, id: &str, owner: &O) -> Option<V> {
        let mut table = self.table.lock();
        let number = *table.numbers.get(id)?;
        if table.leases.get(&number)?.lease.owner != *owner {
            return None;
        }
        table.close(number)
    }

    /// Ends the leases of an owner that `which` picks; returns how many.
    pub fn end_of(&self, owner: &O, mut which: impl FnMut(&V) -> bool) -> usize {
        let mut table = self.table.lock();
        let numbers: Vec<u64> = table.of_owner.get(owner).into_iter().flatten().copied().collect();
        let ended = numbers.into_iter().filter(|number| {
            let picked = table.leases.get(number).is_some_and(|held| which(&held.lease.value));
            picked && table.close(*number).is_some()
        });
        ended.count()
    }

    /// The leases of an owner, in the order of opening.
    pub fn of(&self, owner: &O, now: Millis) -> Vec<Lease<O, V>>
    where
        V: Clone,
    {
        let mut table = self.table.lock();
        table.expire(now);
        let numbers = table.of_owner.get(owner).into_iter().flatten();
        numbers.filter_map(|number| table.leases.get(number)).map(|held| held.lease.clone()).collect()
    }

    /// All leases, in the order of opening.
    pub fn all(&self, now: Millis) -> Vec<Lease<O, V>>
    where
        V: Clone,
    {
        let mut table = self.table.lock();
        table.expire(now);
        table.leases.values().map(|held| held.lease.clone()).collect()
    }

    /// How many there are.
    pub fn len(&self, now: Millis) -> usize {
        let mut table = self.table.lock();
        table.expire(now);
        table.leases.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self, now: Millis) -> bool {
        self.len(now) == 0
    }
}

impl<O: Clone + Eq + Hash, V> Table<O, V> {
    fn open(&mut self, lease: Lease<O, V>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.numbers.insert(lease.id.clone(), number);
        self.of_owner.entry(lease.owner.clone()).or_default().insert(number);
        let ends_at = lease.opened_at;
        self.ends.insert((ends_at, number));
        self.leases.insert(number, Held { lease, ends_at });
        number
    }

    fn close(&mut self, number: u64) -> Option<V> {
        let Held { lease, ends_at } = self.leases.remove(&number)?;
        self.numbers.remove(&lease.id);
        self.ends.remove(&(ends_at, number));
        if let Some(numbers) = self.of_owner.get_mut(&lease.owner) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.of_owner.remove(&lease.owner);
            }
        }
        Some(lease.value)
    }

    fn expire(&mut self, now: Millis) {
        while let Some(&(ends_at, number)) = self.ends.first()
            && ends_at <= now
        {
            self.close(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn leases() -> Leases<&'static str, u32> {
        Leases::new(LeaseLimits { of_one_owner: 2, in_all: 3, lasts: MINUTE })
    }

    fn renew(
        leases: &Leases<&'static str, u32>,
        id: &str,
        owner: &'static str,
        now: i64,
    ) -> Result<u32, LeaseRejection> {
        leases.renew(
            id,
            &owner,
            Millis(now),
            || 0,
            |count| {
                *count += 1;
                *count
            },
        )
    }

    #[test]
    fn a_lease_is_opened_renewed_and_ends_after_its_time() {
        let leases = leases();
        assert_eq!(renew(&leases, "a", "ada", 0), Ok(1));
        assert_eq!(renew(&leases, "a", "ada", 59_999), Ok(2));
        assert_eq!(leases.len(Millis(119_998)), 1);
        assert_eq!(leases.len(Millis(119_999)), 0);
        assert_eq!(renew(&leases, "a", "bob", 119_999), Ok(1));
    }

    #[test]
    fn an_update_is_its_owners_and_does_not_renew() {
        let leases = leases();
        assert_eq!(renew(&leases, "a", "ada", 0), Ok(1));
        assert_eq!(leases.update("a", &"ada", Millis(59_999), |count| *count + 10), Some(11));
        assert_eq!(leases.update("a", &"bob", Millis(59_999), |count| *count), None);
        assert_eq!(leases.update("b", &"ada", Millis(59_999), |count| *count), None);
        assert_eq!(leases.update("a", &"ada", Millis(60_000), |count| *count), None);
    }

    #[test]
    fn an_id_belongs_to_one_owner_at_a_time() {
        let leases = leases();
        assert_eq!(renew(&leases, "a", "ada", 0), Ok(1));
        assert_eq!(renew(&leases, "a", "bob", 1), Err(LeaseRejection::OfAnother));
        assert_eq!(leases.end("a", &"bob"), None);
        assert_eq!(leases.end("a", &"ada"), Some(1));
        assert_eq!(renew(&leases, "a", "bob", 2), Ok(1));
    }

    #[test]
    fn the_bounds_hold_and_what_ended_makes_room() {
        let leases = leases();
        assert_eq!(renew(&leases, "a", "ada", 0), Ok(1));
        assert_eq!(renew(&leases, "b", "ada", 1), Ok(1));
        assert_eq!(renew(&leases, "c", "ada", 2), Err(LeaseRejection::OwnerIsFull));
        assert_eq!(renew(&leases, "c", "bob", 3), Ok(1));
        assert_eq!(renew(&leases, "d", "eve", 4), Err(LeaseRejection::Full));
        assert_eq!(renew(&leases, "b", "ada", 5), Ok(2));
        assert_eq!(leases.end_of(&"ada", |count| *count == 1), 1);
        assert_eq!(renew(&leases, "d", "eve", 6), Ok(1));
        let ids: Vec<_> = leases.all(Millis(6)).into_iter().map(|lease| lease.id).collect();
        assert_eq!(ids, ["b".into(), "c".into(), "d".into()] as [Arc<str>; 3]);
        assert_eq!(leases.of(&"eve", Millis(6))[0].opened_at, Millis(6));
    }
}
