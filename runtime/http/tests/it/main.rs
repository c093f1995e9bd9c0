//! The listener, driven over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod calls;
mod frames;
mod harness;
mod http2;
mod limits;
mod malformed;
mod pages;
mod room;
mod shutdown;
mod streams;
mod tls;
