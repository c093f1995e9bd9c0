//! The data that a browser sends about the requesting page, for routes that only the server's own pages use.

use std::net::SocketAddr;

use hyper::Uri;
use hyper::header::{COOKIE, HeaderName, HeaderValue};
use hyper::http::request::Parts;

use super::client_addr;
use super::connection_facts::ConnectionFacts;
use super::headers::Headers;
use super::origin::Origin;

/// The header in which a page of this server sends its secret, in addition to its cookie.
const X_CONVOKE_CONSOLE: HeaderName = HeaderName::from_static("x-convoke-console");
/// The header in which a trusted proxy reports the scheme of the client's request.
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The data that a browser sends about the requesting page, and the properties of its connection.
#[derive(Clone, Debug)]
pub struct Browser {
    /// The requested host, with its port if that is not the default. `None` if the request names two hosts.
    pub host: Option<String>,
    /// The local address of the connection.
    pub local: Option<SocketAddr>,
    /// The origin of the page.
    pub origin: Option<HeaderValue>,
    /// The cookies, as sent.
    pub cookies: String,
    /// The secret of the page.
    pub secret: Option<HeaderValue>,
    /// True if the connection is encrypted up to this server or up to a trusted proxy.
    pub is_secure: bool,
    /// True if the request comes from this machine, to one of its loopback names, without a proxy.
    pub is_local: bool,
}

impl Browser {
    pub(crate) fn of(connection: &ConnectionFacts, parts: &Parts, fields: &Headers<'_>) -> Self {
        let cookies = parts.headers.get_all(COOKIE).iter().filter_map(|field| field.to_str().ok());
        Self {
            host: host(parts, fields),
            local: connection.local,
            origin: fields.origin.once().cloned(),
            cookies: cookies.collect::<Vec<_>>().join("; "),
            secret: once(parts, &X_CONVOKE_CONSOLE).cloned(),
            is_secure: scheme(connection, parts) == Some("https"),
            is_local: is_local(connection, parts, fields),
        }
    }
}

/// True if the request comes from this machine, to one of its loopback names, without a proxy.
pub(crate) fn is_local(connection: &ConnectionFacts, parts: &Parts, fields: &Headers<'_>) -> bool {
    connection.peer.is_loopback() && !fields.is_forwarded && has_loopback_host(&parts.uri, fields)
}

/// True if the origin is that of this server, as the client reached it.
pub(crate) fn is_own(connection: &ConnectionFacts, parts: &Parts, fields: &Headers<'_>, origin: &HeaderValue) -> bool {
    let origin = origin.to_str().ok().and_then(Origin::parse);
    let own = host(parts, fields).map(|host| (scheme(connection, parts), host));
    origin.zip(own).is_some_and(|(origin, (scheme, host))| origin.is_own(scheme, &host))
}

/// The scheme of the client's request. `None` if it is unknown: before clear text, a proxy that is not trusted, or that
/// does not report the scheme, may have ended TLS.
fn scheme(connection: &ConnectionFacts, parts: &Parts) -> Option<&'static str> {
    if connection.is_encrypted {
        return Some("https");
    }
    let said = once(parts, &X_FORWARDED_PROTO).filter(|_| connection.is_of_proxy)?.as_bytes();
    let schemes = ["http", "https"];
    schemes.into_iter().find(|scheme| said.eq_ignore_ascii_case(scheme.as_bytes()))
}

/// Returns the field if the request has it exactly once.
fn once<'a>(parts: &'a Parts, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = parts.headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// The host of the target or the `Host` field; `None` if the two differ.
fn host(parts: &Parts, fields: &Headers<'_>) -> Option<String> {
    let target = parts.uri.authority().map(|authority| authority.as_str());
    let field = match fields.host.once() {
        Some(host) => Some(host.to_str().ok()?),
        None => None,
    };
    match (target, field) {
        (Some(target), Some(field)) if target != field => None,
        (target, field) => target.or(field).map(str::to_ascii_lowercase),
    }
}

/// Returns true if the target and the `Host` field of a request name this machine by a loopback name. A request through
/// a proxy has another host, and so has a request that a foreign page caused by DNS rebinding.
fn has_loopback_host(uri: &Uri, fields: &Headers<'_>) -> bool {
    let target = uri.authority().map(|authority| authority.as_str());
    let field = fields.host.once().map(|host| host.to_str().unwrap_or_default());
    let mut named = target.into_iter().chain(field).peekable();
    named.peek().is_some() && named.all(client_addr::names_this_machine)
}
