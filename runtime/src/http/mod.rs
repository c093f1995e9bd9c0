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
mod convention;
mod cors;
mod detach;
mod fields;
mod files;
mod head;
mod local;
pub mod outgoing;
mod peers;
mod rate;
mod refusal;
mod request_id;
mod route;
mod service;
mod tls;
mod trace;
mod wire;

pub use control::CONTROL;
pub use handler::{Handler, Incoming, Refusal, Reply, RouteKind, RunPath, Target};
pub(crate) use local::operator_request;
pub use options::{HttpOptions, TlsFiles};
pub use outgoing::{Body, BodySender, Broken, Ending, Gone};
pub use server::{BindError, DrainOutcome, Server, Traffic};
pub use tls::TlsError;
pub use trace::TraceParent;
