//! Extractors read the parts of a request, and reject what does not fit.

use serde_json::json;

use crate::client::send;
use crate::shop::{Payment, app};

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn json_is_read_strictly() {
    let app = app();
    let server = app.serve();
    let post = |content_type: &str, body: &str| {
        send(&app, &server, "POST", "/payments", &[("content-type", content_type)], body.to_owned())
    };
    let paid = post("application/webhook+json; charset=utf-8", r#"{"order":"a","cents":7}"#);
    assert_eq!((paid.status, paid.field("content-type")), (201, "text/plain; charset=utf-8"));
    for (content_type, body, status, code, field) in [
        ("application/json", r#"{"order":"a","cents":"7"}"#, 200, "INVALID_ARGUMENT", "cents"),
        ("application/json", r#"{"order":"a"}"#, 200, "INVALID_ARGUMENT", "cents"),
        ("application/json", r#"{"order":"a","cents":7,"more":1}"#, 200, "INVALID_ARGUMENT", "more"),
        ("application/json", r#"{"order":"a","order":"b","cents":7}"#, 400, "INVALID_JSON", ""),
        ("application/json", "{", 400, "INVALID_JSON", ""),
        ("application/json", "", 400, "INVALID_JSON", ""),
        ("text/plain", r#"{"order":"a","cents":7}"#, 415, "UNSUPPORTED_MEDIA_TYPE", ""),
        ("application/x+jsonx", r#"{"order":"a","cents":7}"#, 415, "UNSUPPORTED_MEDIA_TYPE", ""),
    ] {
        let answer = post(content_type, body);
        assert_eq!((answer.status, &*answer.code(), &*answer.field_at_fault()), (status, code, field), "{body}");
        assert_eq!(answer.json()["status"], "error", "the body is an envelope");
    }
    let compressed = [JSON, ("content-encoding", "gzip")];
    assert_eq!(send(&app, &server, "POST", "/payments", &compressed, "x").status, 415);
    assert_eq!(send(&app, &server, "POST", "/payments", &[], r#"{"order":"a","cents":7}"#).status, 415);
    assert_eq!(app.count::<Payment>(), 1);
}

#[test]
fn query_and_form_have_typed_members() {
    let app = app();
    let server = app.serve();
    let form = [("content-type", "application/x-www-form-urlencoded")];
    for (sent, expected) in [
        ("", json!({ "from": 0, "order": [] })),
        ("from=7&isOpen=true&order=a%20b&order=7", json!({ "from": 7, "order": ["a b", "7"], "isOpen": true })),
    ] {
        let by_query = send(&app, &server, "GET", &format!("/payments?{sent}"), &[], "");
        let by_form = send(&app, &server, "POST", "/search", &form, sent);
        assert_eq!((by_query.status, by_query.json()), (200, expected.clone()), "{sent}");
        assert_eq!((by_form.status, by_form.json()), (200, expected), "{sent}");
    }
    for (sent, field) in [("from=seven", "from"), ("from=1&from=2", "from"), ("unknown=1", "unknown")] {
        let by_query = send(&app, &server, "GET", &format!("/payments?{sent}"), &[], "");
        assert_eq!((&*by_query.code(), &*by_query.field_at_fault()), ("INVALID_ARGUMENT", field), "{sent}");
    }
    assert_eq!(send(&app, &server, "POST", "/search", &[JSON], "{}").status, 415);
}

#[test]
fn path_has_typed_parts_with_text_around_them() {
    let app = app();
    let server = app.serve();
    send(&app, &server, "POST", "/payments", &[JSON], r#"{"order":"a b","cents":7}"#);
    let get = |path: &str| send(&app, &server, "GET", path, &[], "");
    assert_eq!(get("/receipts/a%20b.txt").text(), "a b: 7 cents");
    let missing = get("/receipts/c.txt");
    assert_eq!((missing.status, &*missing.code()), (404, "NOT_FOUND"));
    for nothing in ["/receipts/.txt", "/receipts/a", "/receipts/a.txt/b", "/receipts/a.txtx"] {
        assert_eq!((get(nothing).status, &*get(nothing).code()), (404, "ROUTE_NOT_FOUND"), "{nothing}");
    }
    let wrong = get("/ids/user_1/7");
    assert_eq!((&*wrong.code(), &*wrong.field_at_fault()), ("INVALID_ARGUMENT", "payment"));
    let number = get("/ids/payment_00000000000000000000000001/x");
    assert_eq!(&*number.code(), "INVALID_ARGUMENT");
}

#[test]
fn identity_is_that_of_a_call() {
    let app = app();
    let server = app.serve();
    let token = format!("Bearer {}", server.token("ada"));
    let known = send(&app, &server, "GET", "/payments", &[("authorization", &token)], "");
    assert_eq!(known.json()["subject"], "ada");
    let rejected = send(&app, &server, "GET", "/payments", &[("authorization", "Bearer x")], "");
    assert_eq!((rejected.status, &*rejected.code()), (401, "INVALID_CREDENTIALS"));
}

#[test]
fn body_may_be_as_large_as_the_route_says() {
    let app = app();
    let server = app.serve();
    let echoed = send(&app, &server, "PUT", "/echo/a/b", &[("x-kind", "large")], vec![7_u8; 3 << 20]);
    assert_eq!((echoed.status, echoed.body.len()), (200, 3 << 20));
    assert_eq!((echoed.field("x-rest"), echoed.field("x-kind")), ("a/b", "large"));
    assert_eq!(send(&app, &server, "PUT", "/echo/a", &[], vec![7_u8; (3 << 20) + 1]).status, 413);
    assert_eq!(send(&app, &server, "POST", "/payments", &[JSON], vec![b' '; 2 << 20]).status, 413);
}
