//! Properties of a connection that are known before its first request.

use std::net::{IpAddr, SocketAddr};

use super::routes::Listener;

/// Properties of a connection that are known before its first request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionFacts {
    /// The listener that accepted the connection.
    pub(crate) listener: Listener,
    /// The address of the peer.
    pub(crate) peer: IpAddr,
    /// The local address and port; `None` for the control socket.
    pub(crate) local: Option<SocketAddr>,
    /// True if this server ends the TLS of the connection.
    pub(crate) is_encrypted: bool,
    /// True if the peer is a trusted proxy.
    pub(crate) is_of_proxy: bool,
    /// True if the connection was accepted during the drain. Its calls are rejected.
    pub(crate) is_late: bool,
}
