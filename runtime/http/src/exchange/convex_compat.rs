//! What the HTTP clients of the widespread convention expect beyond the envelope.
//!
//! They take a success and a function's own error as everybody does. Of any other status they read `code` and `message`
//! beside each other at the top of the body; for a client that says that it is such a one, they stand there too.

use hyper::HeaderMap;
use hyper::header::HeaderName;
use serde_json::{Map, Value};

use super::reply::{JSON, Reply};

/// The field by which such a client names itself and its version.
const CLIENT: HeaderName = HeaderName::from_static("convex-client");

/// Whether a request comes from such a client.
pub(crate) fn is_convex_client(headers: &HeaderMap) -> bool {
    headers.contains_key(CLIENT)
}

/// The reply with what such a client reads of it.
pub(crate) fn in_convex_form(reply: Reply) -> Reply {
    if reply.status < 400 || reply.content_type != JSON {
        return reply;
    }
    let envelope = reply.body.whole().and_then(|body| serde_json::from_slice::<Map<String, Value>>(&body).ok());
    let Some(mut envelope) = envelope else { return reply };
    let code = envelope.get("errorData").and_then(|data| data.get("code")).cloned();
    let (Some(code), Some(message)) = (code, envelope.get("errorMessage").cloned()) else { return reply };
    envelope.insert("code".to_owned(), code);
    envelope.insert("message".to_owned(), message);
    Reply { body: Value::Object(envelope).to_string().into(), ..reply }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_gets_its_code_and_message_at_the_top_and_a_function_s_error_stays_as_it_is() {
        let body = r#"{"status":"error","errorMessage":"No","errorData":{"code":"FORBIDDEN","a":1},"logLines":[]}"#;
        let told: Value =
            serde_json::from_slice(&in_convex_form(Reply::json(503, body)).body.whole().unwrap()).unwrap();
        assert_eq!(
            told,
            json!({
                "status": "error", "errorMessage": "No", "errorData": { "code": "FORBIDDEN", "a": 1 }, "logLines": [],
                "code": "FORBIDDEN", "message": "No",
            })
        );
        let unchanged = |status, body: &'static str| {
            *in_convex_form(Reply::json(status, body)).body.whole().unwrap() == *body.as_bytes()
        };
        assert!(unchanged(200, body) && unchanged(503, r#"{"status":"not ready"}"#));
    }
}
