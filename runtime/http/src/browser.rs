//! What a browser says of the page that asks, for routes that only the server's own pages use.

use std::net::SocketAddr;

use hyper::header::{COOKIE, HeaderName, HeaderValue};
use hyper::http::request::Parts;

use super::connection::Connection;
use super::handler::Handler;
use super::headers::Headers;
use super::origin::Origin;
use super::routes::Listener;
use super::service::is_asked_by_loopback_name;

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
    pub(super) fn of<H: Handler>(connection: &Connection<H>, parts: &Parts, fields: &Headers<'_>) -> Self {
        let cookies = parts.headers.get_all(COOKIE).iter().filter_map(|field| field.to_str().ok());
        Self {
            host: host(parts, fields),
            local: connection.local,
            origin: fields.origin.once().cloned(),
            cookies: cookies.collect::<Vec<_>>().join("; "),
            secret: once(parts, &X_CONVOKE_CONSOLE).cloned(),
            is_secure: scheme(connection, parts) == Some("https"),
            is_local: connection.peer.is_loopback()
                && !fields.is_forwarded
                && is_asked_by_loopback_name(&parts.uri, fields),
        }
    }
}

/// True if the origin is that of this server, as the client reached it.
pub(super) fn is_own<H: Handler>(
    connection: &Connection<H>,
    parts: &Parts,
    fields: &Headers<'_>,
    origin: &HeaderValue,
) -> bool {
    let origin = origin.to_str().ok().and_then(Origin::parse);
    let own = host(parts, fields).map(|host| (scheme(connection, parts), host));
    origin.zip(own).is_some_and(|(origin, (scheme, host))| origin.is_own(scheme, &host))
}

/// The scheme by which the client reached this server. `None` if that is not known: over clear text, a proxy that is not
/// trusted, or does not say so, may have ended TLS.
fn scheme<H: Handler>(connection: &Connection<H>, parts: &Parts) -> Option<&'static str> {
    if connection.server.tls.is_some() && connection.listener != Listener::Ops {
        return Some("https");
    }
    let said = once(parts, &X_FORWARDED_PROTO).filter(|_| connection.server.proxies.trust(connection.peer))?.as_bytes();
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
