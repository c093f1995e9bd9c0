//! One connection as its requests see it.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;

use super::body::Room;
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

/// What the requests of all connections of a server share.
pub(crate) struct ServerState<H> {
    pub(crate) handler: H,
    pub(crate) limits: Limits,
    pub(crate) cors: Cors,
    pub(crate) proxies: Proxies,
    pub(crate) rate: Option<Rate>,
    /// The memory of request bodies.
    pub(crate) room: Arc<Room>,
    /// The memory of responses.
    pub(crate) answers: Arc<Budget>,
    pub(crate) drain: Drain,
    pub(crate) traffic: Arc<Traffic>,
}

/// What the requests of a connection share. It exists until the last of its calls has ended, and holds the connection's
/// place in the limits as long.
pub(crate) struct Connection<H: Handler> {
    pub(crate) server: Arc<ServerState<H>>,
    pub(crate) facts: ConnectionFacts,
    pub(crate) activity: Arc<Activity>,
    /// Returns the socket when it is no longer HTTP.
    pub(crate) bare: OnceLock<BareSocket>,
    /// The connection's place in the limits.
    pub(crate) _place: Box<dyn Any + Send + Sync>,
}

impl<H: Handler> Lifetime for Connection<H> {
    fn draining(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.server.drain.draining().await })
    }

    fn cut(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.server.drain.cut().await })
    }
}
