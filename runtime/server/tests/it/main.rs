//! The server from outside: credentials, the administration, live queries, OpenAPI and metrics, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admin;
mod auth;
mod files;
mod live;
mod mcp;
mod observe;
mod openapi;
mod opening;
mod settings;
mod site;
mod telemetry;
mod work;
