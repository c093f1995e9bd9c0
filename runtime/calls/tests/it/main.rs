//! Functions and how they run: in process, and over a real port where the response itself is tested.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cache;
mod call;
mod log_streams;
mod outbound;
mod performance;
mod scheduler;
mod webhooks;
mod workflow;
