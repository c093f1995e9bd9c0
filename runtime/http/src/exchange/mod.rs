//! One request and its response. The crate rejects a request, responds itself, or passes it to the
//! [`Handler`](handler::Handler).

pub(crate) mod accept_encoding;
pub(crate) mod body;
pub(crate) mod body_stream;
pub(crate) mod browser;
pub(crate) mod client_addr;
pub(crate) mod connection;
pub(crate) mod connection_facts;
pub(crate) mod compression;
mod convex_compat;
pub(crate) mod cors;
pub(crate) mod drain;
pub(crate) mod handler;
mod headers;
pub(crate) mod operator_request;
pub(crate) mod origin;
pub(crate) mod rate;
pub(crate) mod reply;
pub(crate) mod request;
mod request_id;
pub(crate) mod response_body;
mod response_progress;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod traffic;
pub(crate) mod web_socket;
