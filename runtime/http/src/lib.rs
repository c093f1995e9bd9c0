//! The listener: from bytes on a socket to one whole, checked request, and from a [`Reply`] back to bytes.
//!
//! It owns everything of HTTP itself: connections and their limits, what is refused before anything runs, routes,
//! request ids, CORS, TLS, draining. It knows no function, no envelope's content and no credential: those belong to
//! the [`Handler`] that it passes requests to. Its rooms, each of which uses only those before it:
//!
//! - `wire`: the bytes of a connection, parsed strictly and guarded.
//! - `exchange`: one request and its response.
//! - `listener`: sockets, TLS, the limits of connections, and the drain.

mod exchange;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod listener;
mod wire;

pub use exchange::browser::Browser;
pub use exchange::client_addr::counted_as;
pub use exchange::handler::{Handler, RejectedRequest, RejectionObserver};
pub use exchange::operator_request::operator_request;
pub use exchange::origin::Origin;
pub use exchange::reply::Reply;
pub use exchange::request::{Authorization, Incoming, query_member, query_members};
pub use exchange::response_body::{Body, BodySender, Broken, Ending, Gone};
pub use exchange::routes::{Audience, BodyRule, Caching, Class, Routes};
pub use exchange::trace::TraceParent;
pub use exchange::traffic::Traffic;
pub use exchange::web_socket::{Lost, Received, Upgrade, WebSocket};
pub use listener::bind_error::BindError;
pub use listener::control::CONTROL;
pub use listener::options::HttpOptions;
pub use listener::server::{DrainOutcome, Listening, Server};
pub use listener::tls::{TlsError, TlsFiles};
