//! Tests of the functions, called as clients call them.

use convoke::serde_json::json;
use convoke::testing::TestApp;

#[test]
fn added_book_is_listed_by_title() {
    let app = TestApp::new();
    for title in ["SICP", "  The Mythical Man-Month "] {
        let reply = app.nobody().call("books/add", json!({ "title": title }));
        assert!(reply.is_success());
    }
    let reply = app.nobody().call("books/add", json!({ "title": "Gödel" }));
    let list = app.nobody().call("books/list", json!({}));
    assert_eq!(list.value()[0]["_id"], *reply.value());
    assert_eq!(list.value()[2]["title"], "The Mythical Man-Month");
}

#[test]
fn book_without_a_title_is_rejected() {
    let app = TestApp::new();
    let reply = app.nobody().call("books/add", json!({ "title": " " }));
    assert_eq!(reply.code(), "INVALID_ARGUMENT");
    assert_eq!(reply.field(), Some("title"));
    assert_eq!(reply.message(), "A book has a title");
}
