//! The reply to the client, also for a request that was rejected before it reached the handler.

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};

use super::response_body::Body;
use crate::wire::rejection::Rejection;

/// A response to a request. For `/api/*` the body is always an envelope.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body: complete bytes, or a stream.
    pub body: Body,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// The challenge of a 401 (RFC 6750 §3).
    pub www_authenticate: Option<String>,
    /// Seconds after which a retry is useful.
    pub retry_after_s: Option<u32>,
    /// Further fields. They replace those that the listener sets. Several of one name are all sent.
    pub fields: Vec<(HeaderName, HeaderValue)>,
}

/// The content type of every envelope.
pub(crate) const JSON: &str = "application/json";

impl Reply {
    /// Creates a reply with a JSON body.
    pub fn json(status: u16, body: impl Into<Body>) -> Self {
        Self::of(status, JSON, body.into())
    }

    /// Creates a reply with a body of this type, which may be a stream.
    pub fn of(status: u16, content_type: &'static str, body: Body) -> Self {
        Self { status, body, content_type, www_authenticate: None, retry_after_s: None, fields: vec![] }
    }
}

impl From<Rejection> for Reply {
    /// The envelope: `{"status":"error","errorMessage":"…","errorData":{"code":"ROUTE_NOT_FOUND"},"logLines":[]}`.
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
    fn rejection_is_an_envelope_with_the_status_of_its_code() {
        let reply = Reply::from(Rejection { code: Code::TooManyRequests, message: "Say \"please\"." });
        assert_eq!(reply.status, 429);
        assert_eq!(reply.retry_after_s, Some(1));
        assert_eq!(
            *reply.body.whole().unwrap(),
            *br#"{"status":"error","errorMessage":"Say \"please\".","errorData":{"code":"TOO_MANY_REQUESTS"},"logLines":[]}"#
        );
    }
}
