//! HTTP routes from outside: extractors, responses, signatures, deliveries and descriptions, over real sockets.
//!
//! The routes of this program need secrets at start, so they are not part of another test program.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod deliveries;
mod described;
mod extractors;
mod in_process;
mod responses;
mod shop;
mod signatures;
mod start;
