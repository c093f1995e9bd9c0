//! The runtime from outside, through the doors its users take.

mod auth;
mod call;
mod http;
mod store;
