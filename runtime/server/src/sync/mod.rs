//! The sync protocol of the widespread clients: live queries, mutations and actions on one WebSocket.
//!
//! `messages` is how it is written, `session` what may follow what and at which version a client is, and `socket` brings
//! a session, its live queries and its calls together.

mod messages;
mod session;
mod socket;

pub(crate) use messages::ClientKind;
pub(crate) use socket::{Peer, serve};
