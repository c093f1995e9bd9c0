//! What a browser says of the page that asks, for routes that only the server's own pages use.

use std::net::SocketAddr;

use hyper::Uri;
use hyper::header::{COOKIE, HeaderName, HeaderValue};
use hyper::http::request::Parts;

use super::client_addr;
use super::connection_facts::ConnectionFacts;
use super::headers::Headers;
use super::origin::Origin;

/// In which an own page sends the secret that it keeps beside its cookie.
const X_CONVOKE_CONSOLE: HeaderName = HeaderName::from_static("x-convoke-console");
/// In which a trusted proxy says how it was spoken to.
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// What a browser says of the page that asks, and what is known of the way between.
#[derive(Clone, Debug)]
pub struct Browser {
    /// The host that it asked, with its port if it is not the usual one; none if a request names two.
    pub host: Option<String>,
    /// The address that its connection was made to.
    pub local: Option<SocketAddr>,
    /// The origin of the page.
    pub origin: Option<HeaderValue>,
    /// The cookies, as sent.
    pub cookies: String,
    /// The secret that the page keeps.
    pub secret: Option<HeaderValue>,
    /// Whether nobody on the way can read along: TLS to here, or to a trusted proxy.
    pub is_secure: bool,
    /// Whether the request was made on this machine, to one of its own names, by no proxy.
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

/// True if the request was made on this machine, to one of its own names, by no proxy.
pub(crate) fn is_local(connection: &ConnectionFacts, parts: &Parts, fields: &Headers<'_>) -> bool {
    connection.peer.is_loopback() && !fields.is_forwarded && is_asked_by_loopback_name(&parts.uri, fields)
}

/// True if the origin is that of this server, as the client reached it.
pub(crate) fn is_own(connection: &ConnectionFacts, parts: &Parts, fields: &Headers<'_>, origin: &HeaderValue) -> bool {
    let origin = origin.to_str().ok().and_then(Origin::parse);
    let own = host(parts, fields).map(|host| (scheme(connection, parts), host));
    origin.zip(own).is_some_and(|(origin, (scheme, host))| origin.is_own(scheme, &host))
}

/// The scheme by which the client reached this server. `None` if that is not known: over clear text, a proxy that is not
/// trusted, or does not say so, may have ended TLS.
fn scheme(connection: &ConnectionFacts, parts: &Parts) -> Option<&'static str> {
    if connection.is_encrypted {
        return Some("https");
    }
    let said = once(parts, &X_FORWARDED_PROTO).filter(|_| connection.is_of_proxy)?.as_bytes();
    let schemes = ["http", "https"];
    schemes.into_iter().find(|scheme| said.eq_ignore_ascii_case(scheme.as_bytes()))
}

/// Returns the field if the request has it once.
fn once<'a>(parts: &'a Parts, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = parts.headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// The host of the target and of the `Host` field, which must not differ.
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

/// Whether the host that a request names, in its target or its `Host` field, is this machine as seen by itself. A proxy
/// in front is asked by another name, and so is a browser that a page made ask (DNS rebinding).
fn is_asked_by_loopback_name(uri: &Uri, fields: &Headers<'_>) -> bool {
    let target = uri.authority().map(|authority| authority.as_str());
    let field = fields.host.once().map(|host| host.to_str().unwrap_or_default());
    let mut named = target.into_iter().chain(field).peekable();
    named.peek().is_some() && named.all(client_addr::names_this_machine)
}
