//! What a lease is, and how many there may be.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use convoke_core::clock::Millis;

/// The bounds of leases of one kind.
#[derive(Clone, Copy, Debug)]
pub struct LeaseLimits {
    /// Leases of one owner. Where several nodes open some at the same moment, one more each.
    pub of_one_owner: usize,
    /// Leases in all. Where several nodes serve, those that the others have opened within the last second come on top.
    pub in_all: usize,
    /// How long after its last renewal a lease ends.
    pub lasts: Duration,
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

/// What a lease may hold: known to all nodes as JSON.
pub trait LeaseValue: Clone + Serialize + DeserializeOwned + Send + 'static {
    /// What holds after two nodes have changed `before` at the same time.
    #[must_use]
    fn merge(before: &Self, mine: Self, theirs: Self) -> Self;
}
