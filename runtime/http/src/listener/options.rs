//! What a listener is started with.

use std::net::SocketAddr;
use std::path::PathBuf;

use ipnet::IpNet;

use super::bind_error::BindError;
use super::tls::{Tls, TlsFiles};
use crate::exchange::cors::Cors;
use convoke_core::limits::Limits;

/// What a [`Server`](crate::Server) is started with.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Where calls are served. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where `/metrics`, `/healthz` and `/readyz` are served apart from the calls. Without it `/metrics` answers this
    /// machine only.
    pub ops_listen: Option<SocketAddr>,
    /// Where the control socket is made, through which the holder of the data folder is the operator.
    pub control: Option<PathBuf>,
    /// Certificate and key; without them the listener speaks clear text. The ops listener always does.
    pub tls: Option<TlsFiles>,
    /// Origins whose pages may call, each as browsers send it (`https://app.example.com`), or `*` for every one.
    /// Empty: CORS is off.
    pub cors_origins: Vec<String>,
    /// Networks whose `X-Forwarded-For` is believed. Nobody else's is.
    pub trusted_proxies: Vec<IpNet>,
    /// The bounds to keep.
    pub limits: Limits,
    /// Development: pages of loopback origins may call.
    pub dev: bool,
}

impl HttpOptions {
    /// Clear text on `listen`, with the default limits and nothing else.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            ops_listen: None,
            control: None,
            tls: None,
            cors_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            limits: Limits::default(),
            dev: false,
        }
    }

    /// Reads and checks what a start would, without listening: the certificate and its key, the origins.
    ///
    /// # Errors
    /// [`BindError`], which says what to change.
    pub fn check(&self) -> Result<(), BindError> {
        self.tls.clone().map(Tls::open).transpose()?;
        Cors::new(&self.cors_origins, self.dev).map_err(BindError::Origin)?;
        Ok(())
    }
}
