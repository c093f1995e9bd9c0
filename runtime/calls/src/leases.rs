//! Leases: claims of owners that expire unless renewed, within limits.
//!
//! Leases suit transient data such as subscriptions: they may end with the process, and a renewal must not cost a
//! write. An application stores its leases in [`crate::Context::memory`] and defines their values. They are in memory.
//! If several nodes serve the database, they are also rows beside it, and each node caches the rows that it uses.

use std::fmt::Display;
use std::hash::Hash;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::held_leases::HeldLeases;
pub use crate::lease::{Lease, LeaseLimits, LeaseRejection, LeaseValue};
use crate::shared_leases::SharedLeases;
use convoke_core::clock::{Clock, Millis};
use convoke_core::error::Result;
use convoke_store::Store;

/// The owner of leases. All nodes know it by its text.
pub trait LeaseOwner: Clone + Eq + Hash + Display + FromStr {}
impl<O: Clone + Eq + Hash + Display + FromStr> LeaseOwner for O {}

/// Leases by id. Each has one owner and holds one value.
pub struct Leases<O, V>(Storage<O, V>);

/// The storage of leases.
enum Storage<O, V> {
    /// In this process, which serves alone.
    Local(HeldLeases<O, V>),
    /// In rows that all nodes share.
    Shared(Arc<SharedLeases<V>>),
}

impl<O: LeaseOwner, V: LeaseValue> Leases<O, V> {
    /// Creates the leases of this kind. If the store may have several nodes, all of them share the leases.
    pub(crate) fn of(store: &Store, clock: &Arc<dyn Clock>, kind: &'static str, limits: LeaseLimits) -> Self {
        Self(match store.leases() {
            None => Storage::Local(HeldLeases::new(limits)),
            Some(_) => Storage::Shared(Arc::new(SharedLeases::new(store.clone(), clock.clone(), kind, limits))),
        })
    }

    /// Opens the lease `id` for `owner` with the value of `make`, or renews it if `owner` holds it. Then `update`
    /// receives its value. The lease expires [`LeaseLimits::lasts`] after `now`. A rejection changes nothing.
    ///
    /// # Errors
    /// `UNAVAILABLE` if the shared rows are unreachable.
    pub fn renew<R>(
        &self,
        id: &str,
        owner: &O,
        now: Millis,
        make: impl Fn() -> V,
        update: impl FnOnce(&mut V) -> R,
    ) -> Result<Result<R, LeaseRejection>> {
        match &self.0 {
            Storage::Local(leases) => Ok(leases.renew(id, owner, now, make, update)),
            Storage::Shared(leases) => leases.renew(id, &owner.to_string(), now, make, update),
        }
    }

    /// Calls `update` with the value of the lease `id` if `owner` holds it, without a renewal.
    ///
    /// # Errors
    /// As [`Leases::renew`].
    pub fn update<R>(&self, id: &str, owner: &O, now: Millis, update: impl FnOnce(&mut V) -> R) -> Result<Option<R>> {
        match &self.0 {
            Storage::Local(leases) => Ok(leases.update(id, owner, now, update)),
            Storage::Shared(leases) => leases.update(id, &owner.to_string(), now, update),
        }
    }

    /// Ends the lease `id` if `owner` holds it.
    ///
    /// # Errors
    /// As [`Leases::renew`].
    pub fn end(&self, id: &str, owner: &O) -> Result<()> {
        match &self.0 {
            Storage::Local(leases) => leases.end(id, owner),
            Storage::Shared(leases) => leases.end(&owner.to_string(), &[id.to_owned()])?,
        }
        Ok(())
    }

    /// Ends the leases of an owner for which `which` returns true.
    ///
    /// # Errors
    /// As [`Leases::renew`].
    pub fn end_of(&self, owner: &O, which: impl Fn(&V) -> bool) -> Result<()> {
        match &self.0 {
            Storage::Local(leases) => leases.end_of(owner, which),
            Storage::Shared(leases) => {
                let owner = owner.to_string();
                let all = leases.list::<O>(Some(&owner))?;
                let ids: Vec<String> =
                    all.into_iter().filter(|lease| which(&lease.value)).map(|lease| lease.id.to_string()).collect();
                leases.end(&owner, &ids)?;
            }
        }
        Ok(())
    }

    /// Returns the leases of an owner, in the order of opening.
    ///
    /// # Errors
    /// As [`Leases::renew`].
    pub fn of_owner(&self, owner: &O, now: Millis) -> Result<Vec<Lease<O, V>>> {
        match &self.0 {
            Storage::Local(leases) => Ok(leases.of(owner, now)),
            Storage::Shared(leases) => leases.list(Some(&owner.to_string())),
        }
    }

    /// Returns all leases, in the order of opening.
    ///
    /// # Errors
    /// As [`Leases::renew`].
    pub fn all(&self, now: Millis) -> Result<Vec<Lease<O, V>>> {
        match &self.0 {
            Storage::Local(leases) => Ok(leases.all(now)),
            Storage::Shared(leases) => leases.list(None),
        }
    }

    /// Returns the number of leases that were renewed less than `time` ago.
    ///
    /// # Errors
    /// As [`Leases::renew`].
    pub fn renewed_within(&self, time: Duration, now: Millis) -> Result<u64> {
        match &self.0 {
            Storage::Local(leases) => Ok(leases.renewed_within(time, now)),
            Storage::Shared(leases) => leases.renewed_within(time),
        }
    }

    /// Returns the number of leases without a request to other nodes: if several nodes serve, the number at the last
    /// opening on this node.
    pub fn known(&self, now: Millis) -> u64 {
        match &self.0 {
            Storage::Local(leases) => leases.len(now) as u64,
            Storage::Shared(leases) => leases.known(),
        }
    }
}
