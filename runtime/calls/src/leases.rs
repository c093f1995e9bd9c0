//! Leases: things that somebody holds as long as they renew them, within bounds.
//!
//! Subscriptions and the like are figures, not facts: they may end with the process, and a renewal must not cost a write. An
//! application keeps its leases in [`crate::Context::memory`] and says what each holds. They are in memory; where several
//! nodes serve the database they are rows beside it, of which each node remembers what it has to do with.

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

/// Who may hold leases: known to all nodes by their text.
pub trait LeaseOwner: Clone + Eq + Hash + Display + FromStr {}
impl<O: Clone + Eq + Hash + Display + FromStr> LeaseOwner for O {}

/// Leases by their id, each of one owner and holding one value.
pub struct Leases<O, V>(Kept<O, V>);

/// Where they are.
enum Kept<O, V> {
    /// In this process, which serves alone.
    Here(HeldLeases<O, V>),
    /// Rows that all nodes know.
    Together(Arc<SharedLeases<V>>),
}

impl<O: LeaseOwner, V: LeaseValue> Leases<O, V> {
    /// Those of this kind, which are those of all nodes of the store if it may have several.
    pub(crate) fn of(store: &Store, clock: &Arc<dyn Clock>, kind: &'static str, limits: LeaseLimits) -> Self {
        Self(match store.leases() {
            None => Kept::Here(HeldLeases::new(limits)),
            Some(_) => Kept::Together(Arc::new(SharedLeases::new(store.clone(), clock.clone(), kind, limits))),
        })
    }

    /// Opens the lease `id` for `owner` with the value that `make` gives, or renews the one they hold; then `update`
    /// sees its value. It ends the agreed time after `now`. Nothing changes where it is rejected.
    ///
    /// # Errors
    /// `UNAVAILABLE` if other nodes cannot be asked.
    pub fn renew<R>(
        &self,
        id: &str,
        owner: &O,
        now: Millis,
        make: impl Fn() -> V,
        update: impl FnOnce(&mut V) -> R,
    ) -> Result<Result<R, LeaseRejection>> {
        match &self.0 {
            Kept::Here(leases) => Ok(leases.renew(id, owner, now, make, update)),
            Kept::Together(leases) => leases.renew(id, &owner.to_string(), now, make, update),
        }
    }

    /// Lets `update` see what the lease `id` holds if `owner` holds it, without renewing it.
    ///
    /// # Errors
    /// As [`Leases::renew`].
    pub fn update<R>(&self, id: &str, owner: &O, now: Millis, update: impl FnOnce(&mut V) -> R) -> Result<Option<R>> {
        match &self.0 {
            Kept::Here(leases) => Ok(leases.update(id, owner, now, update)),
            Kept::Together(leases) => leases.update(id, &owner.to_string(), now, update),
        }
    }

    /// Ends the lease `id` if `owner` holds it.
    ///
    /// # Errors
    /// As [`Leases::renew`].
    pub fn end(&self, id: &str, owner: &O) -> Result<()> {
        match &self.0 {
            Kept::Here(leases) => leases.end(id, owner),
            Kept::Together(leases) => leases.end(&owner.to_string(), &[id.to_owned()])?,
        }
        Ok(())
    }

    /// Ends the leases of an owner that `which` picks.
    ///
    /// # Errors
    /// As [`Leases::renew`].
    pub fn end_of(&self, owner: &O, which: impl Fn(&V) -> bool) -> Result<()> {
        match &self.0 {
            Kept::Here(leases) => leases.end_of(owner, which),
            Kept::Together(leases) => {
                let owner = owner.to_string();
                let all = leases.list::<O>(Some(&owner))?;
                let ids: Vec<String> =
                    all.into_iter().filter(|lease| which(&lease.value)).map(|lease| lease.id.to_string()).collect();
                leases.end(&owner, &ids)?;
            }
        }
        Ok(())
    }

    /// The leases of an owner, in the order of opening.
    ///
    /// # Errors
    /// As [`Leases::renew`].
    pub fn of_owner(&self, owner: &O, now: Millis) -> Result<Vec<Lease<O, V>>> {
        match &self.0 {
            Kept::Here(leases) => Ok(leases.of(owner, now)),
            Kept::Together(leases) => leases.list(Some(&owner.to_string())),
        }
    }

    /// All leases, in the order of opening.
    ///
    /// # Errors
    /// As [`Leases::renew`].
    pub fn all(&self, now: Millis) -> Result<Vec<Lease<O, V>>> {
        match &self.0 {
            Kept::Here(leases) => Ok(leases.all(now)),
            Kept::Together(leases) => leases.list(None),
        }
    }

    /// How many were renewed less than so long ago.
    ///
    /// # Errors
    /// As [`Leases::renew`].
    pub fn renewed_within(&self, time: Duration, now: Millis) -> Result<u64> {
        match &self.0 {
            Kept::Here(leases) => Ok(leases.renewed_within(time, now)),
            Kept::Together(leases) => leases.renewed_within(time),
        }
    }

    /// How many there are, without asking anybody: where several nodes serve, when one was last opened here.
    pub fn known(&self, now: Millis) -> u64 {
        match &self.0 {
            Kept::Here(leases) => leases.len(now) as u64,
            Kept::Together(leases) => leases.known(),
        }
    }
}
