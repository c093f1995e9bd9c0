//! The listener, driven over real sockets.

mod calls;
mod harness;
mod http2;
mod limits;
mod malformed;
mod pages;
mod shutdown;
mod streams;
mod tls;
