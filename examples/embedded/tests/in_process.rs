//! Functions called in process, without a server.

use convoke::serde_json::json;
use convoke::testing::TestApp;
use embedded as _;

#[test]
fn counter_counts() {
    let app = TestApp::new();
    let ada = app.user("ada");
    assert_eq!(ada.call("counters/add", json!({"name": "visits"})).value(), &json!(1));
    assert_eq!(ada.call("counters/add", json!({"name": "visits", "amount": 2})).value(), &json!(3));
}
