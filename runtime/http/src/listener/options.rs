//! The options of a listener.

use std::net::SocketAddr;
use std::path::PathBuf;

use ipnet::IpNet;

use super::bind_error::BindError;
use super::tls::{Tls, TlsFiles};
use crate::exchange::cors::Cors;
use convoke_core::limits::Limits;

/// The options of a [`Server`](crate::Server).
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Address for calls. Port 0 selects a free port.
    pub listen: SocketAddr,
    /// Separate address for `/metrics`, `/healthz` and `/readyz`. Without it, `/metrics` is served to this machine
    /// only.
    pub ops_listen: Option<SocketAddr>,
    /// Path of the control socket. A process that can open it has the rights of the operator.
    pub control: Option<PathBuf>,
    /// Certificate and key. Without them, the listener uses clear text. The ops listener always uses clear text.
    pub tls: Option<TlsFiles>,
    /// Origins whose pages may call, each as browsers send it (`https://app.example.com`), or `*` for all. If empty,
    /// CORS is off.
    pub cors_origins: Vec<String>,
    /// Networks of the proxies whose `X-Forwarded-For` is used. It is ignored from other addresses.
    pub trusted_proxies: Vec<IpNet>,
    /// The limits.
    pub limits: Limits,
    /// True if large responses of text are compressed by `Accept-Encoding`.
    pub compression: bool,
    /// Development mode: pages of loopback origins may call.
    pub dev: bool,
}

impl HttpOptions {
    /// Creates options for clear text on `listen`, with the default limits.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            ops_listen: None,
            control: None,
            tls: None,
            cors_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            limits: Limits::default(),
            compression: true,
            dev: false,
        }
    }

    /// Checks the options without listening: reads the certificate and its key, and parses the origins.
    ///
    /// # Errors
    /// [`BindError`], which explains what to change.
    pub fn check(&self) -> Result<(), BindError> {
        self.tls.clone().map(Tls::open).transpose()?;
        Cors::new(&self.cors_origins, self.dev).map_err(BindError::Origin)?;
        Ok(())
    }
}
