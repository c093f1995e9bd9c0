//! `health`: checks that a running server would serve a call.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::durations::duration;
use super::executor::executor;
use super::failure::Failure;
use super::output;
use convoke_server::auth::Environment;
use convoke_server::config::{Config, Flags};

/// Check that a running server would serve a call; for health checks of containers and load balancers
///
/// Requests /readyz from the server that these settings would start on this machine, or from --url. Prints `ready` and
/// exits with 0, or prints the reason and exits with 1.
///
///   convoke health
///   convoke health --url https://api.example.com
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Health {
    /// Address of the server [default: the listen address in the settings, on this machine]
    #[arg(long, value_name = "URL", env = "CONVOKE_URL")]
    url: Option<String>,
    /// Timeout of the request
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = duration)]
    timeout: Duration,
    /// Settings file [default: convoke.toml, if it exists]
    #[arg(long, value_name = "FILE", env = "CONVOKE_CONFIG")]
    config: Option<PathBuf>,
    #[arg(long, env = "CONVOKE_LISTEN", hide = true)]
    listen: Option<SocketAddr>,
    #[arg(long, env = "CONVOKE_OPS_LISTEN", hide = true)]
    ops_listen: Option<SocketAddr>,
    #[arg(long, env = "CONVOKE_TLS_CERT", hide = true)]
    tls_cert: Option<PathBuf>,
    #[arg(long, env = "CONVOKE_TLS_KEY", hide = true)]
    tls_key: Option<PathBuf>,
}

impl Health {
    pub(super) fn run(self) -> Result<(), Failure> {
        let timeout = self.timeout;
        let (url, is_own) = self.url()?;
        // This machine is reached by its IP address, which no certificate names.
        let client = reqwest::Client::builder().timeout(timeout).tls_danger_accept_invalid_certs(is_own).build()?;
        let (is_ready, text) = executor()?.block_on(async {
            let reply = client.get(format!("{url}/readyz")).send().await?;
            Ok::<_, reqwest::Error>((reply.status().is_success(), reply.text().await?))
        })?;
        if !is_ready {
            return Err(Failure(format!("{url} is not ready: {}", text.trim())));
        }
        output::line("ready").map(drop)
    }

    /// Returns the address, and true if it comes from the settings of this machine.
    fn url(self) -> Result<(String, bool), Failure> {
        if let Some(url) = self.url {
            return Ok((url.trim_end_matches('/').to_owned(), false));
        }
        let Self { config, listen, ops_listen, tls_cert, tls_key, .. } = self;
        let flags = Flags { config, listen, ops_listen, tls_cert, tls_key, ..Flags::default() };
        let http = Config::resolve(&flags, None, Environment::Production)?.http;
        // The ops listener speaks clear text, and a flood of calls does not reach it.
        let (scheme, address) = match (http.ops_listen, &http.tls) {
            (Some(ops), _) => ("http", ops),
            (None, Some(_)) => ("https", http.listen),
            (None, None) => ("http", http.listen),
        };
        Ok((format!("{scheme}://{}", here(address)), true))
    }
}

/// Returns the loopback address for a listener on all addresses of this machine.
fn here(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(ip) if ip.is_unspecified() => (Ipv6Addr::LOCALHOST, address.port()).into(),
        IpAddr::V4(_) | IpAddr::V6(_) => address,
    }
}
