//! The runtime from outside, through the doors its users take.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admin;
mod auth;
mod cache;
mod call;
mod http;
mod live;
mod observe;
mod openapi;
mod outbound;
mod performance;
mod scheduler;
