//! Leases in memory, for a process that serves alone: owners, limits, order of opening and expiry.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::lease::{Lease, LeaseLimits, LeaseRejection};
use convoke_core::clock::Millis;

/// Leases by id. Each has one owner and holds one value.
pub(crate) struct HeldLeases<O, V> {
    limits: LeaseLimits,
    table: Mutex<Table<O, V>>,
}

struct Table<O, V> {
    /// Opening numbers by id.
    numbers: HashMap<Arc<str>, u64>,
    /// Leases by opening number, so in the order of opening.
    leases: BTreeMap<u64, Held<O, V>>,
    of_owner: HashMap<O, BTreeSet<u64>>,
    /// Times of expiry.
    ends: BTreeSet<(Millis, u64)>,
    next: u64,
}

struct Held<O, V> {
    lease: Lease<O, V>,
    ends_at: Millis,
}

impl<O: Clone + Eq + Hash, V> HeldLeases<O, V> {
    /// Creates an empty set of leases.
    pub(crate) fn new(limits: LeaseLimits) -> Self {
        let table = Table {
            numbers: HashMap::new(),
            leases: BTreeMap::new(),
            of_owner: HashMap::new(),
            ends: BTreeSet::new(),
            next: 0,
        };
        Self { limits, table: Mutex::new(table) }
    }

    /// Opens the lease `id` for `owner` with the value of `make`, or renews it if `owner` holds it. Then `update`
    /// receives its value. The lease expires [`LeaseLimits::lasts`] after `now`.
    ///
    /// # Errors
    /// [`LeaseRejection`]; then nothing changes.
    pub(crate) fn renew<R>(
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

    /// Calls `update` with the value of the lease `id` if `owner` holds it, without a renewal.
    pub(crate) fn update<R>(&self, id: &str, owner: &O, now: Millis, update: impl FnOnce(&mut V) -> R) -> Option<R> {
        let mut table = self.table.lock();
        table.expire(now);
        let number = *table.numbers.get(id)?;
        let held = table.leases.get_mut(&number)?;
        (held.lease.owner == *owner).then(|| update(&mut held.lease.value))
    }

    /// Ends the lease `id` if `owner` holds it.
    pub(crate) fn end(&self, id: &str, owner: &O) {
        let mut table = self.table.lock();
        let number = table.numbers.get(id).copied();
        if let Some(number) = number.filter(|number| table.leases[number].lease.owner == *owner) {
            table.close(number);
        }
    }

    pub(crate) fn end_of(&self, owner: &O, which: impl Fn(&V) -> bool) {
        let mut table = self.table.lock();
        let numbers: Vec<u64> = table.of_owner.get(owner).into_iter().flatten().copied().collect();
        for number in numbers {
            if which(&table.leases[&number].lease.value) {
                table.close(number);
            }
        }
    }

    /// Returns the leases of an owner, in the order of opening.
    pub(crate) fn of(&self, owner: &O, now: Millis) -> Vec<Lease<O, V>>
    where
        V: Clone,
    {
        let mut table = self.table.lock();
        table.expire(now);
        let numbers = table.of_owner.get(owner).into_iter().flatten();
        numbers.filter_map(|number| table.leases.get(number)).map(|held| held.lease.clone()).collect()
    }

    /// Returns all leases, in the order of opening.
    pub(crate) fn all(&self, now: Millis) -> Vec<Lease<O, V>>
    where
        V: Clone,
    {
        let mut table = self.table.lock();
        table.expire(now);
        table.leases.values().map(|held| held.lease.clone()).collect()
    }

    /// Returns the number of leases that were renewed less than `time` ago.
    pub(crate) fn renewed_within(&self, time: Duration, now: Millis) -> u64 {
        let mut table = self.table.lock();
        table.expire(now);
        let ends_after = now + self.limits.lasts.saturating_sub(time);
        table.ends.range((ends_after, u64::MAX)..).count() as u64
    }

    pub(crate) fn len(&self, now: Millis) -> usize {
        let mut table = self.table.lock();
        table.expire(now);
        table.leases.len()
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

    fn close(&mut self, number: u64) {
        let Some(Held { lease, ends_at }) = self.leases.remove(&number) else { return };
        self.numbers.remove(&lease.id);
        self.ends.remove(&(ends_at, number));
        if let Some(numbers) = self.of_owner.get_mut(&lease.owner) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.of_owner.remove(&lease.owner);
            }
        }
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

    fn leases() -> HeldLeases<&'static str, u32> {
        HeldLeases::new(LeaseLimits { of_one_owner: 2, in_all: 3, lasts: MINUTE })
    }

    fn renew(
        leases: &HeldLeases<&'static str, u32>,
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
    fn lease_is_opened_renewed_and_expires() {
        let leases = leases();
        assert_eq!(renew(&leases, "a", "ada", 0), Ok(1));
        assert_eq!(renew(&leases, "a", "ada", 59_999), Ok(2));
        assert_eq!(leases.len(Millis(119_998)), 1);
        assert_eq!(leases.len(Millis(119_999)), 0);
        assert_eq!(renew(&leases, "a", "bob", 119_999), Ok(1));
    }

    #[test]
    fn recently_renewed_leases_are_counted() {
        let leases = leases();
        assert_eq!(renew(&leases, "a", "ada", 0), Ok(1));
        assert_eq!(renew(&leases, "b", "ada", 20_000), Ok(1));
        let lately = |now: i64| leases.renewed_within(Duration::from_secs(30), Millis(now));
        assert_eq!((lately(29_999), lately(30_000), lately(49_999), lately(50_000)), (2, 1, 1, 0));
    }

    #[test]
    fn only_the_owner_updates_a_lease_and_an_update_does_not_renew_it() {
        let leases = leases();
        assert_eq!(renew(&leases, "a", "ada", 0), Ok(1));
        assert_eq!(leases.update("a", &"ada", Millis(59_999), |count| *count + 10), Some(11));
        assert_eq!(leases.update("a", &"bob", Millis(59_999), |count| *count), None);
        assert_eq!(leases.update("b", &"ada", Millis(59_999), |count| *count), None);
        assert_eq!(leases.update("a", &"ada", Millis(60_000), |count| *count), None);
    }

    #[test]
    fn id_belongs_to_one_owner_at_a_time() {
        let leases = leases();
        assert_eq!(renew(&leases, "a", "ada", 0), Ok(1));
        assert_eq!(renew(&leases, "a", "bob", 1), Err(LeaseRejection::OfAnother));
        leases.end("a", &"bob");
        assert_eq!(leases.len(Millis(1)), 1);
        leases.end("a", &"ada");
        assert_eq!(renew(&leases, "a", "bob", 2), Ok(1));
    }

    #[test]
    fn limits_hold_and_expired_leases_make_room() {
        let leases = leases();
        assert_eq!(renew(&leases, "a", "ada", 0), Ok(1));
        assert_eq!(renew(&leases, "b", "ada", 1), Ok(1));
        assert_eq!(renew(&leases, "c", "ada", 2), Err(LeaseRejection::OwnerIsFull));
        assert_eq!(renew(&leases, "c", "bob", 3), Ok(1));
        assert_eq!(renew(&leases, "d", "eve", 4), Err(LeaseRejection::Full));
        assert_eq!(renew(&leases, "b", "ada", 5), Ok(2));
        leases.end_of(&"ada", |count| *count == 1);
        assert_eq!(renew(&leases, "d", "eve", 6), Ok(1));
        let ids: Vec<_> = leases.all(Millis(6)).into_iter().map(|lease| lease.id).collect();
        assert_eq!(ids, ["b".into(), "c".into(), "d".into()] as [Arc<str>; 3]);
        assert_eq!(leases.of(&"eve", Millis(6))[0].opened_at, Millis(6));
    }
}
