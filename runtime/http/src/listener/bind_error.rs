//! The errors for which a server cannot start.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use super::tls::TlsError;

/// The errors for which a server cannot start.
#[derive(Debug, Error)]
pub enum BindError {
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A configured origin is not one that browsers send.
    #[error("`{0}` is not an origin: write scheme, host and port only, such as https://app.example.com, or *")]
    Origin(String),
}
