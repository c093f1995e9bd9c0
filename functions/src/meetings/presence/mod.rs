//! The presence of participants.
//!
//! [`join`] and [`leave`] are the transitions, for all functions that cause them (joinMeeting, leaveMeeting, a
//! connected session, batchUpdatePresence). In reading order: the rows that every transition writes, the transitions,
//! the expiry of a presence, and leases.

pub mod register;
pub mod moves;
pub mod expiry;
pub mod lease;

pub use lease::{end_lease, lease, leave};
pub use moves::join;
pub use register::{joined, require_room, update_empty_since, update_empty_since_after, write};
