//! What goes back to the client: a reply, also the one to a request that was refused before it reached the handler.

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};

use super::response_body::Body;
use crate::wire::rejection::Rejection;

/// What goes back. For `/api/*` the body is always an envelope.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body: whole, or a stream.
    pub body: Body,
    /// As it stands in `Content-Type`.
    pub content_type: &'static str,
    /// The challenge of a 401 (RFC 6750 §3).
    pub www_authenticate: Option<String>,
    /// Seconds after which a retry makes sense.
    pub retry_after_s: Option<u32>,
    /// Further fields, which stand in place of those that the listener would set.
    pub fields: Vec<(HeaderName, HeaderValue)>,
}

/// The content type of every envelope.
pub(crate) const JSON: &str = "application/json";

impl Reply {
    /// A JSON body with this status.
    pub fn json(status: u16, body: impl Into<Body>) -> Self {
        Self::of(status, JSON, body.into())
    }

    /// A body of this type, which may be a stream.
    pub fn of(status: u16, content_type: &'static str, body: Body) -> Self {
        Self { status, body, content_type, www_authenticate: None, retry_after_s: None, fields: vec![] }
    }
}

impl From<Rejection> for Reply {
    /// The envelope:
    /// `{"status":"error","errorMessage":"…","errorData":{"code":"ROUTE_NOT_FOUND"},"logLines":[]}`.
    fn from(rejection: Rejection) -> Self {
        let body = format!(
            r#"{{"status":"error","errorMessage":{},"errorData":{{"code":"{}"}},"logLines":[]}}"#,
            serde_json::Value::from(rejection.message),
            rejection.code
        );
        let status = rejection.code.status();
        let retry_after_s = matches!(status, 429 | 503).then_some(1);
        Self { retry_after_s, ..Self::json(status, Bytes::from(body)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_core::error::Code;

    #[test]
    fn a_refusal_is_an_envelope_with_its_codes_status() {
        let reply = Reply::from(Rejection { code: Code::TooManyRequests, message: "Say \"please\"." });
        assert_eq!(reply.status, 429);
        assert_eq!(reply.retry_after_s, Some(1));
        assert_eq!(
            *reply.body.whole().unwrap(),
            *br#"{"status":"error","errorMessage":"Say \"please\".","errorData":{"code":"TOO_MANY_REQUESTS"},"logLines":[]}"#
        );
    }
}
