//! The checks of requests from browsers: the host must be this server, and a request that changes data must come from
//! its own pages.
//!
//! The host check blocks DNS rebinding. The origin check blocks forms and scripts of other sites (CSRF). Both compare
//! the whole value.

use std::net::{IpAddr, SocketAddr};

use hyper::Method;

use convoke_http::{Browser, Origin};

const HOST: &str = "The Host of the request is not a host of this console; add it with --console-host";
const ORIGIN: &str = "The Origin of the request is not this console: only its own pages can change data";

/// Checks host and origin of a request.
///
/// # Errors
/// The reason of the rejection.
pub(super) fn check(browser: &Browser, method: &Method, hosts: &[String]) -> Result<(), &'static str> {
    let host = browser.host.as_deref().ok_or(HOST)?;
    let scheme = if browser.is_secure { "https" } else { "http" };
    let own = Origin::of(scheme, host).ok_or(HOST)?;
    let is_known = hosts.iter().any(|allowed| Origin::of(scheme, allowed).as_ref() == Some(&own))
        || names_loopback(host)
        || browser.local.is_some_and(|local| is_own_address(host, local));
    if !is_known {
        return Err(HOST);
    }
    if matches!(*method, Method::GET | Method::HEAD) {
        return Ok(());
    }
    let origin = browser.origin.as_ref().and_then(|origin| Origin::parse(origin.to_str().ok()?));
    if origin == Some(own) { Ok(()) } else { Err(ORIGIN) }
}

/// Returns true if the host is a loopback name, with any port: a tunnel may use another port than the server.
fn names_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

/// Returns true if the host is the local address of the connection, in the form of browsers.
fn is_own_address(host: &str, local: SocketAddr) -> bool {
    let address = match local.ip().to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    let port = local.port();
    host == format!("{address}:{port}") || (matches!(port, 80 | 443) && host == address)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn browser(host: &str, origin: Option<&'static str>) -> Browser {
        Browser {
            host: Some(host.to_owned()),
            local: Some("10.0.0.7:3210".parse().unwrap()),
            origin: origin.map(HeaderValue::from_static),
            cookies: String::new(),
            secret: None,
            is_secure: false,
            is_local: true,
        }
    }

    #[test]
    fn host_is_local_address_loopback_name_or_allowed() {
        let hosts = ["console.example.com".to_owned()];
        for (host, is_accepted) in [
            ("10.0.0.7:3210", true),
            ("10.0.0.7", false),
            ("10.0.0.7:80", false),
            ("10.0.0.8:3210", false),
            ("localhost:3210", true),
            ("localhost:9000", true),
            ("127.0.0.1:3210", true),
            ("127.0.0.2:3210", false),
            ("[::1]:3210", true),
            ("localhost.example.com:3210", false),
            ("127.0.0.1.example.com", false),
            ("console.example.com", true),
            ("console.example.com:80", true),
            ("console.example.com:443", false),
            ("console.example.com:3210", false),
            ("evil.example.com", false),
        ] {
            let checked = check(&browser(host, None), &Method::GET, &hosts);
            assert_eq!(checked.is_ok(), is_accepted, "{host}");
        }
        let two_hosts = Browser { host: None, ..browser("localhost", None) };
        assert_eq!(check(&two_hosts, &Method::GET, &hosts), Err(HOST));
    }

    #[test]
    fn default_port_is_optional() {
        let hosts = ["console.example.com".to_owned()];
        for host in ["console.example.com", "console.example.com:443"] {
            let browser = Browser { is_secure: true, ..browser(host, Some("https://console.example.com")) };
            assert_eq!(check(&browser, &Method::POST, &hosts), Ok(()), "{host}");
        }
    }

    #[test]
    fn change_needs_exactly_this_origin() {
        let host = "localhost:3210";
        for (origin, is_secure, is_accepted) in [
            (Some("http://localhost:3210"), false, true),
            (Some("https://localhost:3210"), true, true),
            (Some("https://localhost:3210"), false, false),
            (Some("http://localhost:3211"), false, false),
            (Some("HTTP://LOCALHOST:3210"), false, true),
            (Some("http://localhost"), false, false),
            (Some("http://127.0.0.1:3210"), false, false),
            (Some("null"), false, false),
            (None, false, false),
        ] {
            let browser = Browser { is_secure, ..browser(host, origin) };
            for method in [Method::POST, Method::PATCH, Method::DELETE] {
                assert_eq!(check(&browser, &method, &[]).is_ok(), is_accepted, "{origin:?}");
            }
            assert!(check(&browser, &Method::GET, &[]).is_ok());
        }
    }
}
