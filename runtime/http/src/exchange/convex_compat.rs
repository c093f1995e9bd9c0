//! The error form that Convex HTTP clients expect in addition to the envelope.
//!
//! They read a success and a function's own error from the envelope. For any other status they read `code` and
//! `message` at the top level of the body, so a request with their header gets both there too.

use hyper::HeaderMap;
use hyper::header::HeaderName;
use serde_json::{Map, Value};

use super::reply::{JSON, Reply};

/// The field with the name and the version of such a client.
const CLIENT: HeaderName = HeaderName::from_static("convex-client");

/// True if a request comes from such a client.
pub(crate) fn is_convex_client(headers: &HeaderMap) -> bool {
    headers.contains_key(CLIENT)
}

/// Adds `code` and `message` at the top level of an error reply.
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
    fn rejection_gets_code_and_message_at_the_top_and_a_function_s_error_is_unchanged() {
        let body = r#"{"status":"error","errorMessage":"No","errorData":{"code":"FORBIDDEN","a":1},"logLines":[]}"#;
        let converted: Value =
            serde_json::from_slice(&in_convex_form(Reply::json(503, body)).body.whole().unwrap()).unwrap();
        assert_eq!(
            converted,
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
