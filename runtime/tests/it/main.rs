//! The runtime from outside, through the doors its users take.

mod auth;
mod http;
mod store;
