//! A request that is refused before it reaches the handler, and the envelope that says so.

use bytes::Bytes;

use super::handler::Reply;
use convoke_core::error::Code;

/// Why a request went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    /// What the client switches on; it decides the status.
    pub(super) code: Code,
    /// What the client reads.
    pub(super) message: &'static str,
}

impl Rejection {
    /// The envelope:
    /// `{"status":"error","errorMessage":"…","errorData":{"code":"ROUTE_NOT_FOUND"},"logLines":[]}`.
    pub(super) fn reply(self) -> Reply {
        let body = format!(
            r#"{{"status":"error","errorMessage":{},"errorData":{{"code":"{}"}},"logLines":[]}}"#,
            serde_json::Value::from(self.message),
            self.code
        );
        let retry_after_s = matches!(self.code.status(), 429 | 503).then_some(1);
        Reply { retry_after_s, ..Reply::json(self.code.status(), Bytes::from(body)) }
    }

    /// Whether the connection ends with it: what the client sends next can no longer be told apart from what was
    /// refused, or is not wanted.
    pub(super) fn closes(self) -> bool {
        matches!(
            self.code,
            Code::BadRequest | Code::HeadersTooLarge | Code::RequestTimeout | Code::PayloadTooLarge | Code::NotReady
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_an_envelope_with_its_codes_status() {
        let reply = Rejection { code: Code::TooManyRequests, message: "Say \"please\"." }.reply();
        assert_eq!(reply.status, 429);
        assert_eq!(reply.retry_after_s, Some(1));
        assert_eq!(
            *reply.body.whole().unwrap(),
            *br#"{"status":"error","errorMessage":"Say \"please\".","errorData":{"code":"TOO_MANY_REQUESTS"},"logLines":[]}"#
        );
    }
}
