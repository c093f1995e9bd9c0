//! The listeners: sockets, TLS, the limits of connections, and the drain.

pub(crate) mod bind_error;
mod census;
mod connection;
pub(crate) mod control;
mod detach;
mod drive;
mod files;
mod http1;
mod open_connections;
pub(crate) mod options;
pub(crate) mod server;
mod socket;
mod state;
pub(crate) mod tls;
mod unread;
mod unread_review;
