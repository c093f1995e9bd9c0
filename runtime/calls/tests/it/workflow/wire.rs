//! One-time URLs over a real port.

use convoke::prelude::*;
use convoke::testing::TestApp;
use serde_json::json;

use super::functions::texts;

#[test]
fn callback_url_answers_an_external_service_by_its_status() {
    let app = TestApp::new();
    let server = app.serve();
    let run: Id<Run> =
        serde_json::from_value(server.call(None, "workflow/waits/startAsk", &json!({})).value().clone()).unwrap();
    app.run_due();
    let url = texts(&app).remove(0);
    let url = url.strip_prefix(&format!("http://{}", server.address())).unwrap();
    let unknown = server.post(None, "/api/callback/AAAA", "1");
    assert_eq!((unknown.status, unknown.code()), (404, "NOT_FOUND"));
    let broken = server.post(None, url, "{");
    assert_eq!((broken.status, broken.code()), (400, "INVALID_JSON"));
    let used = server.post(None, url, "42");
    assert_eq!((used.status, used.body), (200, json!({})));
    let again = server.post(None, url, "43");
    assert_eq!((again.status, again.code()), (409, "CONFLICT"));
    app.run_due();
    assert_eq!(app.workflow(run).value::<i64>(), 42);
}
