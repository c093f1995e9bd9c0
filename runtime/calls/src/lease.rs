//! Leases and their limits.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use convoke_core::clock::Millis;

/// The limits of the leases of one kind.
#[derive(Clone, Copy, Debug)]
pub struct LeaseLimits {
    /// Maximum leases of one owner. Nodes that open leases at the same moment may exceed it by one lease each.
    pub of_one_owner: usize,
    /// Maximum leases in total. Other nodes may exceed it by the leases that they opened within the last second.
    pub in_all: usize,
    /// Time from the last renewal to the expiry of a lease.
    pub lasts: Duration,
}

/// Reason why a lease is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseRejection {
    /// Another owner holds a lease with this id.
    OfAnother,
    /// The owner holds the maximum number of leases.
    OwnerIsFull,
    /// The total limit is reached.
    Full,
}

/// A snapshot of a lease.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease<O, V> {
    /// Its id.
    pub id: Arc<str>,
    /// Owner.
    pub owner: O,
    /// Value.
    pub value: V,
    /// Time at which it was opened.
    pub opened_at: Millis,
}

/// The value of a lease. All nodes know it as JSON.
pub trait LeaseValue: Clone + Serialize + DeserializeOwned + Send + 'static {
    /// Merges two concurrent changes of `before` by two nodes.
    #[must_use]
    fn merge(before: &Self, mine: Self, theirs: Self) -> Self;
}
