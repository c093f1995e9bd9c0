//! Why a server cannot start.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use super::tls::TlsError;

/// Why a server cannot start.
#[derive(Debug, Error)]
pub enum BindError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Not an origin as browsers send it.
    #[error("`{0}` is not an origin: write scheme, host and port only, such as https://app.example.com, or *")]
    Origin(String),
}
