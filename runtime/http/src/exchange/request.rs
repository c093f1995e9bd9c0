//! One request as the handler gets it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderValue;
use hyper::{Method, Uri};

use super::browser::Browser;
use super::routes::Params;
use super::trace::TraceParent;
use super::web_socket::Upgrade;

/// One request whose body is whole and within its limits.
#[derive(Debug)]
pub struct Incoming<E> {
    /// What its route leads to.
    pub endpoint: E,
    /// Its method; HEAD arrives as GET.
    pub method: Method,
    /// What it is addressed to, as sent.
    pub uri: Uri,
    /// What stands in the path where the route leaves it open.
    pub(crate) params: Params,
    /// The `Authorization` field; a request with two of them never gets here.
    pub authorization: Option<Authorization>,
    /// Whether it came by the control socket: a process that can open that holds the data folder.
    pub is_operator: bool,
    /// The `X-Convoke-Act-As` field, of a request by the control socket or by an own page: the base64 JSON of an
    /// identity.
    pub act_as: Option<HeaderValue>,
    /// The caller's `X-Request-Id` if it had a usable one, else one made here. The listener echoes it.
    pub request_id: Arc<str>,
    /// The caller's W3C trace context.
    pub trace_parent: Option<TraceParent>,
    /// The client: the socket's peer, or what a trusted proxy says it forwards for.
    pub peer: IpAddr,
    /// Whether the client is as far as is known a trusted proxy itself: it stands for many.
    pub is_of_proxy: bool,
    /// What turns the connection into a WebSocket, where the route's class says so.
    pub upgrade: Option<Box<Upgrade>>,
    /// The whole body. Empty where the route takes none, and in [`Handler::room`](crate::Handler::room).
    pub body: Bytes,
    /// The `Idempotency-Key` field; a request with two of them never gets here.
    pub idempotency_key: Option<HeaderValue>,
    /// What the client has of a document already: its `If-None-Match`. Not read of a call.
    pub if_none_match: Option<HeaderValue>,
    /// What the client has of a stream already: its `Last-Event-ID`. Read where the route's class says so.
    pub last_event: Option<HeaderValue>,
    /// Whether the client takes a document in gzip. Not read of a call.
    pub accepts_gzip: bool,
    /// What a browser says of the page that asks. Read where the route's class says so.
    pub browser: Option<Box<Browser>>,
}

impl<E> Incoming<E> {
    /// What stands in the path where the route leaves it open, number `place` of those; percent-decoded.
    pub fn param(&self, place: usize) -> &str {
        self.params.get(place, self.uri.path())
    }

    /// The member `name` of the query, decoded; the first if there are several, none if it is empty.
    pub fn query(&self, name: &str) -> Option<String> {
        query_member(self.uri.query().unwrap_or_default(), name)
    }
}

/// The member `name` of a query as sent, decoded; the first if there are several, none if it is empty.
pub fn query_member(query: &str, name: &str) -> Option<String> {
    let (_, value) = form_urlencoded::parse(query.as_bytes()).find(|(own, _)| own == name)?;
    (!value.is_empty()).then(|| value.into_owned())
}

/// Every member `name` of a query that is not empty, decoded, in their order.
pub fn query_members(query: &str, name: &str) -> Vec<String> {
    let members = form_urlencoded::parse(query.as_bytes());
    members.filter(|(own, value)| own == name && !value.is_empty()).map(|(_, value)| value.into_owned()).collect()
}

/// The value of an `Authorization` field. The handler decides whether it is valid.
#[derive(Clone)]
pub struct Authorization(pub(crate) HeaderValue);

impl Authorization {
    /// The scheme and the credentials, as sent.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Shows nothing of the value: credentials must not reach a log by `{:?}`.
impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        let field = HeaderValue::from_static("Convoke staging:ci|0123456789");
        assert_eq!(format!("{:?}", Authorization(field)), "Authorization(…)");
    }
}
