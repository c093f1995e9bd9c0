//! Media sessions: tokens for the room, signals between clients, servers to relay through, and how good the connection
//! is.
//!
//! `quality`, `tokens` and `turn` are plain rules; `session` makes the moves of a session; `room_service` speaks to a
//! LiveKit server, and `media_server` has it do so. The rest is what clients call.

pub mod quality;
pub mod tokens;
pub mod turn;
pub mod settings;
pub mod keys;
pub mod session;
pub mod rooms;
pub mod index;
pub mod signaling;
pub mod connection;
pub mod room_service;
pub mod media_server;
