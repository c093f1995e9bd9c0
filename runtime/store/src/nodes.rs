//! State that the nodes of a database share besides the rows of tables: leases and turns. A single node has both in
//! memory.

use std::time::Duration;

use super::error::StoreError;
use convoke_core::clock::Millis;

/// The leases of one kind, as rows. Each lease has an id and one owner, and expires some time after its last renewal,
/// by the clock of the database.
pub trait LeaseRows: Send + Sync {
    /// Returns the lease with this id, unless it has expired.
    ///
    /// # Errors
    /// Errors of the engine; [`StoreError::Unreachable`].
    fn get(&self, kind: &str, id: &str) -> Result<Option<LeaseRow>, StoreError>;

    /// Opens a lease, unless it exists or its owner has reached the limit. Returns the existing lease, if there is one.
    ///
    /// # Errors
    /// Like [`LeaseRows::get`]. The outcome is then unknown.
    fn open(&self, lease: &NewLease<'_>) -> Result<Opened, StoreError>;

    /// Writes changes of leases, each only if the lease has not been written since. Returns the ids of the written
    /// leases.
    ///
    /// # Errors
    /// Like [`LeaseRows::get`]. The outcome is then unknown.
    fn write(&self, kind: &str, lasts: Duration, renewals: &[Renewal]) -> Result<Vec<String>, StoreError>;

    /// Ends the leases with these ids that this owner holds.
    ///
    /// # Errors
    /// Like [`LeaseRows::get`].
    fn end(&self, kind: &str, owner: &str, ids: &[String]) -> Result<(), StoreError>;

    /// Returns the leases of an owner, or all leases, in the order of opening.
    ///
    /// # Errors
    /// Like [`LeaseRows::get`].
    fn list(&self, kind: &str, owner: Option<&str>) -> Result<Vec<LeaseRow>, StoreError>;

    /// Counts the leases that expire later than `more` from now.
    ///
    /// # Errors
    /// Like [`LeaseRows::get`].
    fn count(&self, kind: &str, more: Duration) -> Result<u64, StoreError>;
}

/// A stored lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRow {
    /// Its id.
    pub id: String,
    /// Its owner.
    pub owner: String,
    /// Distinguishes it from earlier and later leases with the same id.
    pub number: i64,
    /// Number of its writes.
    pub version: i64,
    /// Time of opening.
    pub opened_at: Millis,
    /// Its value.
    pub value: String,
}

/// A lease to open.
#[derive(Clone, Copy, Debug)]
pub struct NewLease<'a> {
    /// Kind of the lease.
    pub kind: &'a str,
    /// Its id.
    pub id: &'a str,
    /// Its owner.
    pub owner: &'a str,
    /// Most leases of one owner.
    pub of_one_owner: usize,
    /// Time until it expires.
    pub lasts: Duration,
    /// Its value.
    pub value: &'a str,
}

/// The result of opening a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// This lease exists; another owner may hold it.
    There(LeaseRow),
    /// The owner has reached the limit.
    OwnerIsFull,
}

/// A change of a lease since it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// Its id.
    pub id: String,
    /// See [`LeaseRow`].
    pub number: i64,
    /// The version that was read.
    pub version: i64,
    /// Time since its renewal, if it was renewed.
    pub age: Option<Duration>,
    /// Its value.
    pub value: String,
}

/// Turns over all nodes, as rows. One node has a turn at a time, until it releases the turn or does not respond for so
/// long that it counts as dead ([`super::Nodes`]).
pub trait TurnRows: Send + Sync {
    /// Takes a turn that no other node has. `None`: another node has it. A node can take its own turn again: it
    /// coordinates its own callers itself.
    ///
    /// # Errors
    /// Errors of the engine; [`StoreError::Unreachable`]. The outcome is then unknown.
    fn take(&self, turn: &TurnName) -> Result<Option<TurnRow>, StoreError>;

    /// Releases the turn that was taken with this number, and stores `value` for the next node. Does nothing if another
    /// node has the turn by now.
    ///
    /// # Errors
    /// Like [`TurnRows::take`].
    fn leave(&self, turn: &TurnName, number: i64, value: Option<&str>) -> Result<(), StoreError>;

    /// Gives up a turn that this node may or may not have, without working under it.
    ///
    /// # Errors
    /// Like [`TurnRows::take`].
    fn give_up(&self, turn: &TurnName) -> Result<(), StoreError>;
}

/// The name of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TurnName {
    /// Kind of work, e.g. `insights`.
    pub kind: &'static str,
    /// Object of the work.
    pub id: String,
}

/// A turn that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRow {
    /// Its fencing token, which is greater than all earlier ones.
    pub number: i64,
    /// The value stored at the last release, if there was one recently.
    pub left: Option<String>,
    /// True if the previous node was declared dead and did not release it.
    pub is_interrupted: bool,
}
