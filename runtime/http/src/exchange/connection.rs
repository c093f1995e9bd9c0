//! The state of a connection that its requests use.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;

use super::body::BodyMemory;
use super::client_addr::Proxies;
use super::connection_facts::ConnectionFacts;
use super::cors::Cors;
use super::drain::Drain;
use super::handler::Handler;
use super::rate::Rate;
use super::traffic::Traffic;
use super::web_socket::{BareSocket, Lifetime};
use crate::wire::activity::Activity;
use convoke_core::answer::budget::Budget;
use convoke_core::limits::Limits;

/// The state that the requests of all connections of a server share.
pub(crate) struct ServerState<H> {
    pub(crate) handler: H,
    pub(crate) limits: Limits,
    pub(crate) cors: Cors,
    pub(crate) proxies: Proxies,
    pub(crate) rate: Option<Rate>,
    /// The memory for request bodies.
    pub(crate) body_memory: Arc<BodyMemory>,
    /// The memory for responses.
    pub(crate) answers: Arc<Budget>,
    /// True if responses are compressed.
    pub(crate) compression: bool,
    pub(crate) drain: Drain,
    pub(crate) traffic: Arc<Traffic>,
}

/// The state that the requests of a connection share. It lives until the last call of the connection has ended, and
/// holds the connection's slots in the limits until then.
pub(crate) struct Connection<H: Handler> {
    pub(crate) server: Arc<ServerState<H>>,
    pub(crate) facts: ConnectionFacts,
    pub(crate) activity: Arc<Activity>,
    /// Returns the socket of an upgraded connection.
    pub(crate) bare: OnceLock<BareSocket>,
    /// The connection's slots in the limits.
    pub(crate) _slots: Box<dyn Any + Send + Sync>,
}

impl<H: Handler> Lifetime for Connection<H> {
    fn draining(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.server.drain.draining().await })
    }

    fn cut(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.server.drain.cut().await })
    }
}
