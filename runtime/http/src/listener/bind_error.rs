//! The errors for which a server cannot start.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use super::tls::TlsError;

/// The errors for which a server cannot start.
#[derive(Debug, Error)]
pub enum BindError {
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: {source}; {}", advice(source))]
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

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "end the process that listens there, or choose another port (0 picks a free one)",
        io::ErrorKind::PermissionDenied => "choose a port of 1024 or above, or allow this user the lower ones",
        io::ErrorKind::AddrNotAvailable => "choose an address that this machine has",
        _ => "choose another address or port",
    }
}
