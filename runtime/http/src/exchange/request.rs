//! The request that the handler receives.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Uri};

use super::body_stream::BodyStream;
use super::browser::Browser;
use super::routes::Params;
use super::web_socket::Upgrade;
use convoke_core::trace_context::TraceContext;

/// A request whose body is complete and within its limits.
#[derive(Debug)]
pub struct Incoming<E> {
    /// The endpoint of its route.
    pub endpoint: E,
    /// The method; HEAD arrives as GET.
    pub method: Method,
    /// The request target, as sent.
    pub uri: Uri,
    /// The values of the route's path parameters.
    pub(crate) params: Params,
    /// The `Authorization` field. The listener rejects a request with two of them.
    pub authorization: Option<Authorization>,
    /// True if the request came by the control socket, which only a process with access to the data folder can open.
    pub is_operator: bool,
    /// The `X-Convoke-Act-As` field of a request by the control socket or by a page of this server: the base64 JSON of
    /// an identity.
    pub act_as: Option<HeaderValue>,
    /// The client's `X-Request-Id` if it is usable, else a new id. The listener echoes it.
    pub request_id: Arc<str>,
    /// The caller's W3C trace context.
    pub trace_parent: Option<TraceContext>,
    /// The address of the client: the socket's peer, or the address that a trusted proxy reports.
    pub peer: IpAddr,
    /// True if `peer` is itself a trusted proxy, which connects for many clients.
    pub is_of_proxy: bool,
    /// The upgrade to a WebSocket, if the route's class has one.
    pub upgrade: Option<Box<Upgrade>>,
    /// The complete body. Empty if the route takes none, and in [`Handler::room`](crate::Handler::room).
    pub body: Bytes,
    /// The body in pieces, if the route takes it so.
    pub stream: Option<BodyStream>,
    /// The `Idempotency-Key` field. The listener rejects a request with two of them.
    pub idempotency_key: Option<HeaderValue>,
    /// The `If-None-Match` field: the version of a document that the client has. `None` for calls.
    pub if_none_match: Option<HeaderValue>,
    /// The `Last-Event-ID` field: the last event of a stream that the client has. `None` unless the route's class
    /// resumes streams.
    pub last_event: Option<HeaderValue>,
    /// True if the client accepts a document in gzip. False for calls.
    pub accepts_gzip: bool,
    /// The data that a browser sends about the requesting page. `None` unless the route's class is for the server's own
    /// pages.
    pub browser: Option<Box<Browser>>,
    /// All fields of the head, if the route's class reads them.
    pub headers: HeaderMap,
    /// The fields that the route's class names, in the order in which they were sent.
    pub(crate) fields: Vec<(&'static str, HeaderValue)>,
}

/// A request has a field more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated;

impl<E> Incoming<E> {
    /// Returns the path parameter number `index`, percent-decoded.
    pub fn param(&self, index: usize) -> &str {
        self.params.get(index, self.uri.path())
    }

    /// Returns the field `name`, which the route's class must name.
    ///
    /// # Errors
    /// The request has the field more than once.
    pub fn field(&self, name: &str) -> Result<Option<&HeaderValue>, Repeated> {
        let mut values = self.fields.iter().filter(|(own, _)| *own == name).map(|(_, value)| value);
        match (values.next(), values.next()) {
            (value, None) => Ok(value),
            (_, Some(_)) => Err(Repeated),
        }
    }

    /// Returns all fields `name`, which the route's class must name.
    pub fn field_all(&self, name: &'static str) -> impl Iterator<Item = &HeaderValue> {
        self.fields.iter().filter(move |(own, _)| *own == name).map(|(_, value)| value)
    }

    /// Returns the query parameter `name`, decoded: the first if there are several, `None` if it is empty.
    pub fn query(&self, name: &str) -> Option<String> {
        query_member(self.uri.query().unwrap_or_default(), name)
    }
}

/// Returns the parameter `name` of a raw query, decoded: the first if there are several, `None` if it is empty.
pub fn query_member(query: &str, name: &str) -> Option<String> {
    let (_, value) = form_urlencoded::parse(query.as_bytes()).find(|(own, _)| own == name)?;
    (!value.is_empty()).then(|| value.into_owned())
}

/// Returns the parameters `name` of a raw query that are not empty, decoded, in their order.
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

/// Hides the value: credentials must not reach a log by `{:?}`.
impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_credentials() {
        let field = HeaderValue::from_static("Convoke staging:ci|0123456789");
        assert_eq!(format!("{:?}", Authorization(field)), "Authorization(…)");
    }
}
