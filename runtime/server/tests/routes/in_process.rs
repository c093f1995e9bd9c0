//! Routes in the test's process, without a socket.

use convoke::prelude::Code;
use serde_json::json;

use crate::shop::{Payment, app};

#[test]
fn request_takes_the_steps_of_a_real_one() {
    let app = app();
    let paid = app.request("POST", "/payments").json(&json!({ "order": "a", "cents": 7 })).send();
    assert_eq!((paid.status, paid.header("x-order")), (201, Some("kept")));
    assert_eq!(app.request("GET", "/receipts/a.txt").send().text(), "a: 7 cents");
    assert_eq!(app.user("ada").request("GET", "/payments?from=7").send().json()["subject"], "ada");
    assert_eq!(app.request("GET", "/count/3").send().text(), "0\n1\n2\n");
    let unsigned = app.request("POST", "/hooks/payments").json(&json!({})).send();
    assert_eq!((unsigned.status, &*unsigned.code()), (401, Code::InvalidSignature.as_str()));
    assert_eq!(&*app.request("GET", "/payments/7").send().code(), "ROUTE_NOT_FOUND");
    assert_eq!(app.count::<Payment>(), 1);
}
