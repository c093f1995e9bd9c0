//! What is known of a connection before its first request.

use std::net::{IpAddr, SocketAddr};

use super::routes::Listener;

/// What is known of a connection before its first request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionFacts {
    /// The listener that accepted it.
    pub(crate) listener: Listener,
    /// The address of the other end.
    pub(crate) peer: IpAddr,
    /// The address and port that it was made to; `None` by the control socket.
    pub(crate) local: Option<SocketAddr>,
    /// True if this server ends its TLS.
    pub(crate) is_encrypted: bool,
    /// True if the other end is a trusted proxy.
    pub(crate) is_of_proxy: bool,
    /// True if it was accepted while the server drains: every call is refused.
    pub(crate) is_late: bool,
}
