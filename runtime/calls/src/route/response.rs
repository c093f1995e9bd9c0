//! The response of a route.

use std::fmt;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue};

use super::request::ByteStream;
use convoke_core::error::{Error, Result};

/// Headers that the listener sets: they frame the message or belong to the connection (RFC 9110 §7.6.1).
const OF_THE_LISTENER: [&str; 9] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-request-id",
];

/// A response: status, headers and body.
///
/// ```
/// # use convoke::prelude::*;
/// # fn main() -> Result<()> {
/// let page = Response::text("Hello").status(201).header("x-greeting", "yes")?;
/// # let _ = page; Ok(()) }
/// ```
pub struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: ResponseBody,
}

pub(crate) enum ResponseBody {
    Whole(Bytes),
    Stream(ByteStream),
}

impl Response {
    /// Returns a response with the status 200 and this body, without a content type.
    pub fn bytes(body: impl Into<Bytes>) -> Self {
        Self { status: 200, headers: Vec::new(), body: ResponseBody::Whole(body.into()) }
    }

    /// Returns a response without a body, with the status 204.
    pub fn empty() -> Self {
        Self::bytes(Bytes::new()).status(204)
    }

    /// Returns a response with a text, as `text/plain`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::bytes(text.into()).content_type(const { HeaderValue::from_static("text/plain; charset=utf-8") })
    }

    /// Returns a response with a page, as `text/html`.
    pub fn html(page: impl Into<String>) -> Self {
        Self::bytes(page.into()).content_type(const { HeaderValue::from_static("text/html; charset=utf-8") })
    }

    /// Returns a response with a value as JSON.
    ///
    /// # Errors
    /// `INTERNAL`: the value has no JSON form.
    pub fn json(value: &impl serde::Serialize) -> Result<Self> {
        let body = serde_json::to_vec(value).map_err(Error::internal)?;
        Ok(Self::bytes(body).content_type(const { HeaderValue::from_static("application/json") }))
    }

    /// Returns a response whose body is made while it is sent. Only an action can return it. An error of the stream
    /// breaks the response off, so that the client does not take a part for the whole.
    pub fn stream(stream: impl Stream<Item = Result<Bytes>> + Send + 'static) -> Self {
        Self { status: 200, headers: Vec::new(), body: ResponseBody::Stream(stream.boxed()) }
    }

    /// Sets the status, from 200 to 599. Another status makes the call fail with `INTERNAL`.
    #[must_use]
    pub fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Adds a header. Headers of the same name are all sent, except for the one `Content-Type`. A header of the server,
    /// such as `Cache-Control`, is replaced.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: the name or the value has characters that a header cannot have, such as a line break, or the
    /// server sets this header.
    pub fn header(mut self, name: &str, value: impl AsRef<str>) -> Result<Self> {
        let invalid = |what: String| Error::invalid_argument(name, what);
        let field = HeaderName::try_from(name).map_err(|_| invalid(format!("{name:?} cannot be a header's name")))?;
        if OF_THE_LISTENER.contains(&field.as_str()) {
            return Err(invalid(format!("the server sets the header {field}; a response cannot")));
        }
        let value = HeaderValue::try_from(value.as_ref()).map_err(|_| {
            invalid(format!("the value of the header {field} has a character that a header cannot have"))
        })?;
        if field == CONTENT_TYPE {
            return Ok(self.content_type(value));
        }
        self.headers.push((field, value));
        Ok(self)
    }

    fn content_type(mut self, content_type: HeaderValue) -> Self {
        self.headers.retain(|(name, _)| name != CONTENT_TYPE);
        self.headers.push((CONTENT_TYPE, content_type));
        self
    }
}

/// Shows the status.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Response({})", self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_core::error::Code;

    #[test]
    fn header_that_would_inject_another_one_is_rejected() {
        for (name, value) in [
            ("x-a", "b\r\nset-cookie: c=d"),
            ("x-a", "b\nc"),
            ("x a", "b"),
            ("", "b"),
            ("content-length", "7"),
            ("Transfer-Encoding", "chunked"),
        ] {
            let error = Response::empty().header(name, value).unwrap_err();
            assert_eq!((error.code(), error.field()), (Code::InvalidArgument, Some(name)), "{name:?} {value:?}");
        }
        assert_eq!(Response::empty().header("Set-Cookie", "a=b").unwrap().headers[0].0, http::header::SET_COOKIE);
    }
}
