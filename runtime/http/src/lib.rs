//! The listener: it turns the bytes of a socket into complete, checked requests, and each [`Reply`] into bytes.
//!
//! This crate owns HTTP: connections and their limits, early rejections, routes, request ids, CORS, TLS, draining. It
//! knows no function, no content of an envelope and no credential: those belong to the [`Handler`] to which it passes
//! requests. Each of its modules uses only those before it:
//!
//! - `wire`: the bytes of a connection, with strict parsing and timeouts.
//! - `exchange`: one request and its response.
//! - `listener`: sockets, TLS, the limits of connections, and the drain.

mod exchange;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod listener;
mod wire;

pub use exchange::accept_encoding::{Coding, preferred};
pub use exchange::body_stream::{BodyStream, Cut};
pub use exchange::browser::Browser;
pub use exchange::client_addr::counted_as;
pub use exchange::compression::is_compressible;
pub use exchange::handler::{Handler, RejectedRequest, RejectionObserver};
pub use exchange::operator_request::operator_request;
pub use exchange::origin::Origin;
pub use exchange::reply::Reply;
pub use exchange::request::{Authorization, Incoming, Repeated, query_member, query_members};
pub use exchange::response_body::{Body, BodySender, Broken, Ending, Gone};
pub use exchange::routes::{Audience, BodyRule, Caching, Class, Routes};
pub use exchange::traffic::Traffic;
pub use exchange::web_socket::{Lost, Received, Upgrade, WebSocket};
pub use listener::bind_error::BindError;
pub use listener::control::CONTROL;
pub use listener::options::HttpOptions;
pub use listener::server::{DrainOutcome, Listening, Server};
pub use listener::tls::{TlsError, TlsFiles};
