//! The listener, driven over real sockets.

mod calls;
mod frames;
mod harness;
mod http2;
mod limits;
mod malformed;
mod opening;
mod pages;
mod room;
mod shutdown;
mod streams;
mod tls;
