//! The sync protocol of the widespread clients: live queries, mutations and actions on one WebSocket.
//!
//! `messages` parses and writes messages, `session` is the state machine of the protocol, and `socket` connects a
//! session with its live queries and calls.

mod messages;
mod session;
mod socket;

pub(crate) use messages::ClientKind;
pub(crate) use socket::{Peer, serve};
