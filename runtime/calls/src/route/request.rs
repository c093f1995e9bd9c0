//! The request of a route.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderMap, Method, Uri};
use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The bytes of a response that are made while it is sent.
pub type ByteStream = Pin<Box<dyn Stream<Item = convoke_core::error::Result<Bytes>> + Send>>;

/// A request as it was sent. Clones share it.
#[derive(Clone)]
pub struct RouteRequest(Arc<Inner>);

struct Inner {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    path_values: Vec<(&'static str, String)>,
    /// The schemas of the function's parameters.
    schemas: Arc<[Value]>,
    /// The stream of the response, between the function and the listener.
    stream: Mutex<Option<ByteStream>>,
}

impl RouteRequest {
    /// Creates a request. `path_values` are the decoded parameters of the path, and `schemas` those of the function's
    /// parameters in their order.
    pub fn new(
        method: Method,
        uri: Uri,
        headers: HeaderMap,
        body: Bytes,
        path_values: Vec<(&'static str, String)>,
        schemas: Arc<[Value]>,
    ) -> Self {
        Self(Arc::new(Inner { method, uri, headers, body, path_values, schemas, stream: Mutex::default() }))
    }

    /// Returns the method. A `HEAD` request has the method `GET`.
    pub fn method(&self) -> &Method {
        &self.0.method
    }

    /// Returns the target: the path and the query, as sent.
    pub fn uri(&self) -> &Uri {
        &self.0.uri
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// Returns the body.
    pub fn body(&self) -> &Bytes {
        &self.0.body
    }

    /// Returns a parameter of the path, decoded.
    pub fn path_value(&self, name: &str) -> Option<&str> {
        self.0.path_values.iter().find(|(own, _)| *own == name).map(|(_, value)| &**value)
    }

    pub(crate) fn schema(&self, place: usize) -> &Value {
        self.0.schemas.get(place).unwrap_or(&Value::Null)
    }

    /// Returns a digest of the method, the target and the body, in hex.
    pub(crate) fn digest(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(format!("{} {}\n", self.0.method, self.0.uri));
        digest.update(&self.0.body);
        hex::encode(digest.finalize())
    }

    pub(crate) fn put_stream(&self, stream: ByteStream) {
        *self.0.stream.lock() = Some(stream);
    }

    /// Returns the stream of the response, once.
    pub fn take_stream(&self) -> Option<ByteStream> {
        self.0.stream.lock().take()
    }
}

/// Shows the method and the path. Headers and bodies may have secrets.
impl fmt::Debug for RouteRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} {})", self.0.method, self.0.uri.path())
    }
}
