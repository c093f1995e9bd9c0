//! Media sessions: room tokens, signals between clients, relay servers, and connection quality.
//!
//! `quality`, `tokens` and `turn` are pure rules. `session` implements the transitions of a session. `room_service`
//! calls a LiveKit server, and `media_server` schedules the calls; `livekit` receives its events. The other modules are functions for clients.

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
pub mod livekit_signature;
pub mod livekit;
