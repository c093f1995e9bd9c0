//! The state that the connections of a server share, in addition to that of their requests.

use std::sync::Arc;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::TokioExecutor;

use super::census::Census;
use super::open_connections::OpenConnections;
use super::tls::Tls;
use super::unread::Unread;
use crate::exchange::connection::ServerState;

/// The state that the connections of a server share.
pub(crate) struct ListenerState<H> {
    pub(crate) server: Arc<ServerState<H>>,
    pub(crate) tls: Option<Tls>,
    pub(crate) http1: http1::Builder,
    pub(crate) http2: http2::Builder<TokioExecutor>,
    pub(crate) unread: Arc<Unread>,
    pub(crate) census: Arc<Census>,
    pub(crate) open: Arc<OpenConnections>,
}
