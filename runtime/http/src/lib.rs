//! The listener: from bytes on a socket to one whole, checked request, and from a [`Reply`] back to bytes.
//!
//! It owns everything of HTTP itself: connections and their limits, what is refused before anything runs, routes,
//! request ids, CORS, TLS, draining. It knows no function, no envelope's content and no credential: those belong to
//! the [`Handler`] it hands requests to. Its modules, in reading order:

pub mod handler;
pub mod options;
pub mod server;

mod body;
mod chunked;
mod connection;
mod control;
mod convex_compat;
mod credentials;
mod cors;
mod browser;
mod detach;
mod headers;
mod files;
mod head;
mod local;
mod origin;
pub mod response_body;
mod client_addr;
mod rate;
mod rejection;
mod request_id;
mod routes;
mod service;
mod socket;
mod tls;
mod trace;
mod unread;
mod waiting;
pub mod web_socket;
mod guarded_io;

pub use browser::Browser;
pub use client_addr::counted_as;
pub use control::CONTROL;
pub use credentials::Authorization;
pub use handler::{Handler, Incoming, RejectedRequest, RejectionObserver, Reply, query_member, query_members};
pub use local::operator_request;
pub use options::{HttpOptions, TlsFiles};
pub use origin::Origin;
pub use response_body::{Body, BodySender, Broken, Ending, Gone};
pub use routes::{Audience, BodyRule, Caching, Class, Routes};
pub use server::{BindError, DrainOutcome, Listening, Server, Traffic};
pub use tls::TlsError;
pub use trace::TraceParent;
pub use web_socket::{Lost, Received, Upgrade, WebSocket};
