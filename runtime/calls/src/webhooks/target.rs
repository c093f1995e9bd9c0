//! The rules for the URL of an endpoint.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::Url;

use super::address::{self, RefusedAddress};
use super::settings::WebhookSettings;
use crate::outbound::address::reason;
use convoke_core::error::{Error, Result};

/// Maximum bytes of a URL.
const URL_BYTES_MAX: usize = 2_048;
/// Longest wait for the DNS before an endpoint is created.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(3);

/// Reads the URL of an endpoint. `is_development` permits `http`.
///
/// # Errors
/// `INVALID_ARGUMENT` with the field `url`.
pub(super) fn read(text: &str, settings: &WebhookSettings, is_development: bool) -> Result<Url> {
    let refuse = |reason: String| Error::invalid_argument("url", format!("url: {reason}"));
    if text.len() > URL_BYTES_MAX {
        return Err(refuse(format!("must have at most {URL_BYTES_MAX} bytes (got {})", text.len())));
    }
    let url = Url::parse(text).map_err(|error| refuse(format!("{}; write https://HOST/PATH", reason(error))))?;
    // The parser repairs these; the stored text is shown to operators as it is.
    let is_as_written = text.split_once("://").is_some_and(|(_, rest)| !rest.starts_with(['/', '\\']));
    if !is_as_written || text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(refuse(format!("must be written as {url}")));
    }
    if url.port() == Some(0) {
        return Err(refuse("must not have the port 0".to_owned()));
    }
    match url.scheme() {
        "https" => {}
        "http" if is_development => {}
        "http" => return Err(refuse("must begin with https://; http:// is accepted by `convoke dev` only".to_owned())),
        other => return Err(refuse(format!("must begin with https:// (got {other}://)"))),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse(
            "must not contain a user name or a password; the signature identifies the sender".to_owned(),
        ));
    }
    if url.fragment().is_some() {
        return Err(refuse("must not contain a fragment (#…), which is never sent".to_owned()));
    }
    check_host(&url, settings).map_err(|error| refuse(error.to_string()))?;
    Ok(url)
}

/// As [`read`], and resolves the name. A name that cannot be resolved now is accepted.
pub(super) async fn check(text: &str, settings: &WebhookSettings, is_development: bool) -> Result<()> {
    let url = read(text, settings, is_development)?;
    let host = url.host_str().unwrap_or_default();
    let found = match tokio::time::timeout(RESOLVE_TIMEOUT, tokio::net::lookup_host((host, 0))).await {
        Ok(Ok(found)) => found.collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    let checked = address::reachable(found, settings);
    checked.map(|_| ()).map_err(|error| Error::invalid_argument("url", format!("url: {host}: {error}")))
}

/// Checks a host that is an address or `localhost`. Other names are resolved and checked for each connection.
pub(super) fn check_host(url: &Url, settings: &WebhookSettings) -> Result<(), RefusedAddress> {
    let host = url.host_str().unwrap_or_default();
    // The parser has written an address in its usual form, IPv6 in brackets.
    if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return address::check(address, settings);
    }
    if is_localhost(host) {
        let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
        let loopback = loopback.map(|address| SocketAddr::new(address, 0));
        return address::reachable(loopback, settings).map(|_| ());
    }
    Ok(())
}

/// RFC 6761 §6.3: these names always mean this machine.
fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_https_unless_the_server_is_for_development() {
        let settings = WebhookSettings::default();
        assert!(read("https://a.example/hooks?tenant=1", &settings, false).is_ok());
        assert!(read("http://a.example/hooks", &settings, false).is_err());
        assert!(read("http://a.example/hooks", &settings, true).is_ok());
        for invalid in [
            "",
            "a.example",
            "ftp://a.example/",
            "https://",
            "https://user:password@a.example/",
            "https://a.example/#part",
            "file:///etc/passwd",
            &format!("https://a.example/{}", "x".repeat(3_000)),
        ] {
            assert_eq!(read(invalid, &settings, true).unwrap_err().field(), Some("url"), "{invalid}");
        }
    }

    #[test]
    fn special_address_is_refused_in_each_spelling() {
        let settings = WebhookSettings::default();
        for host in [
            "127.0.0.1",
            "127.1",
            "0x7f.1",
            "0x7f000001",
            "2130706433",
            "0177.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[64:ff9b::7f00:1]",
            "[fe80::1]",
            "169.254.169.254",
            "10.0.0.1",
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "0",
            "[::]",
            "127。0。0。1",
            "１２７.0.0.1",
        ] {
            let error = read(&format!("https://{host}/"), &settings, true).unwrap_err();
            assert!(error.message().contains("webhooks.allow"), "{host}: {error:?}");
        }
        let allowed: WebhookSettings = toml::from_str(r#"allow = ["127.0.0.0/8"]"#).unwrap();
        for host in ["127.0.0.1", "2130706433", "localhost:8080"] {
            assert!(read(&format!("http://{host}/"), &allowed, true).is_ok(), "{host}");
        }
    }
}
