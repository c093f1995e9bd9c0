//! What the nodes of a database share beside its rows of tables: leases, and turns. Where one node serves alone it keeps
//! both in its memory.

use std::time::Duration;

use super::error::StoreError;
use convoke_core::clock::Millis;

/// The leases of one kind of thing, as rows: each by its id, of one owner, until some time after its last renewal. Time is
/// the database's.
pub trait LeaseRows: Send + Sync {
    /// The one of this id, unless it has ended.
    ///
    /// # Errors
    /// The engine's; [`StoreError::Unreachable`].
    fn get(&self, kind: &str, id: &str) -> Result<Option<LeaseRow>, StoreError>;

    /// Opens one, unless it is there or its owner has as many as they may; returns the one of this id then, if there is one.
    ///
    /// # Errors
    /// As [`LeaseRows::get`]; whether it was opened is not known then.
    fn open(&self, lease: &NewLease<'_>) -> Result<Opened, StoreError>;

    /// Writes what was done to leases, each if nobody has written it since; returns the ids of those that are written.
    ///
    /// # Errors
    /// As [`LeaseRows::get`]; what was written is not known then.
    fn write(&self, kind: &str, lasts: Duration, renewals: &[Renewal]) -> Result<Vec<String>, StoreError>;

    /// Ends those of these ids that this owner holds.
    ///
    /// # Errors
    /// As [`LeaseRows::get`].
    fn end(&self, kind: &str, owner: &str, ids: &[String]) -> Result<(), StoreError>;

    /// Those of an owner, or all, in the order of opening.
    ///
    /// # Errors
    /// As [`LeaseRows::get`].
    fn list(&self, kind: &str, owner: Option<&str>) -> Result<Vec<LeaseRow>, StoreError>;

    /// How many end in more than `more` from now.
    ///
    /// # Errors
    /// As [`LeaseRows::get`].
    fn count(&self, kind: &str, more: Duration) -> Result<u64, StoreError>;
}

/// A lease as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRow {
    /// Its id.
    pub id: String,
    /// Who holds it.
    pub owner: String,
    /// Tells it from others that had the same id before or after it.
    pub number: i64,
    /// How often it was written.
    pub version: i64,
    /// When it was opened.
    pub opened_at: Millis,
    /// What it holds.
    pub value: String,
}

/// A lease to be opened.
#[derive(Clone, Copy, Debug)]
pub struct NewLease<'a> {
    /// Of what.
    pub kind: &'a str,
    /// Its id.
    pub id: &'a str,
    /// For whom.
    pub owner: &'a str,
    /// Leases of one owner at most.
    pub of_one_owner: usize,
    /// How long it lasts.
    pub lasts: Duration,
    /// What it holds.
    pub value: &'a str,
}

/// What came of a [`NewLease`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// This lease is there; who holds it is another question.
    There(LeaseRow),
    /// The owner has as many as they may.
    OwnerIsFull,
}

/// What was done to a lease since it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// Its id.
    pub id: String,
    /// See [`LeaseRow`].
    pub number: i64,
    /// That of the lease as it was read.
    pub version: i64,
    /// How long ago it was renewed, if it was.
    pub age: Option<Duration>,
    /// What it holds.
    pub value: String,
}

/// Turns over all nodes, as rows: of each one node has it at a time, until it leaves it or has not been heard of for so long
/// that it counts as gone ([`super::Nodes`]).
pub trait TurnRows: Send + Sync {
    /// Takes a turn that no other node has; `None` if one has it. A node whose own it is takes it anew: it keeps its own
    /// callers apart itself.
    ///
    /// # Errors
    /// The engine's; [`StoreError::Unreachable`]. Whether it was taken is not known then.
    fn take(&self, turn: &TurnName) -> Result<Option<TurnRow>, StoreError>;

    /// Leaves the turn that was taken under this number, and this to whoever takes it next. Nothing happens if another one
    /// has it meanwhile.
    ///
    /// # Errors
    /// As [`TurnRows::take`].
    fn leave(&self, turn: &TurnName, number: i64, value: Option<&str>) -> Result<(), StoreError>;

    /// Gives up a turn of which this node does not know whether it has it, and does nothing under it.
    ///
    /// # Errors
    /// As [`TurnRows::take`].
    fn give_up(&self, turn: &TurnName) -> Result<(), StoreError>;
}

/// Of what, and of which.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TurnName {
    /// What is done, e.g. `insights`.
    pub kind: &'static str,
    /// To what it is done.
    pub id: String,
}

/// A turn that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRow {
    /// Its fencing token: a greater one than all before it.
    pub number: i64,
    /// What was left with it last, if anything was lately.
    pub left: Option<String>,
    /// Whether the node that had it before was given up, and has not left it.
    pub is_interrupted: bool,
}
