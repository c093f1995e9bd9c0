//! Who is there.
//!
//! [`join`] and [`leave`] are the moves of a caller, whatever brought them about (joinMeeting, leaveMeeting, a connected
//! session, batchUpdatePresence). In reading order: the register that every move writes, the moves, the end of a presence
//! by the clock, and the leases that such a presence has.

pub mod register;
pub mod moves;
pub mod expiry;
pub mod lease;

pub use lease::{end_lease, lease, leave};
pub use moves::join;
pub use register::{joined, require_room, settle, settle_after, write};
