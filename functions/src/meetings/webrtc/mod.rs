//! Media sessions: tokens for the room, servers to relay through, and how good the connection is.

pub mod quality;
pub mod tokens;
pub mod turn;
