//! Invalid arguments are rejected with their path, the expected form, and the received value.

use convoke::testing::TestApp;
use serde_json::json;

const ECHO: &str = "call/functions/echo";

#[test]
fn each_argument_error_has_a_message_and_a_path() {
    let app = TestApp::new();
    let cases = [
        (json!({ "parts": [] }), "age", "Missing required argument: age"),
        (json!({ "age": 20, "parts": [], "surprise": 1 }), "surprise", "Unknown argument: surprise"),
        (json!({ "age": 7, "parts": [] }), "age", "age: must be an integer between 13 and 120 (got 7)"),
        (json!({ "age": 20.5, "parts": [] }), "age", "age: must be an integer between 13 and 120 (got 20.5)"),
        (json!({ "age": "20", "parts": [] }), "age", "age: must be an integer between 13 and 120 (got \"20\")"),
        (json!({ "age": null, "parts": [] }), "age", "age: must be an integer between 13 and 120 (got null)"),
        (
            json!({ "age": 20, "parts": [{ "color": "green" }, { "color": "zzz" }] }),
            "parts[1].color",
            "parts[1].color: must be one of dark-red, green (got \"zzz\")",
        ),
        (json!({ "age": 20, "parts": [{}] }), "parts[0].color", "Missing required argument: parts[0].color"),
        (
            json!({ "age": 20, "parts": [{ "color": "green", "weight": 1 }] }),
            "parts[0].weight",
            "Unknown argument: parts[0].weight",
        ),
    ];
    for (args, field, message) in cases {
        let reply = app.nobody().call(ECHO, args.clone());
        assert_eq!(
            (reply.code(), reply.field(), reply.message()),
            ("INVALID_ARGUMENT", Some(field), message),
            "{args}"
        );
    }
    for args in [json!({ "age": 20, "parts": {} }), json!({ "age": 20, "parts": [["green"]] })] {
        assert_eq!(app.nobody().call(ECHO, args.clone()).code(), "INVALID_ARGUMENT", "{args}");
    }
}

#[test]
fn integers_accept_whole_floats_and_options_accept_null() {
    let app = TestApp::new();
    for args in [
        json!({ "age": 31, "parts": [{ "color": "dark-red", "size": null }] }),
        json!({ "age": 31.0, "parts": [{ "color": "dark-red" }], "at": null }),
        json!({ "age": 3.1e1, "parts": [{ "color": "dark-red" }], "counter": null, "at": 8_640_000_000_000_000_i64 }),
    ] {
        assert_eq!(app.nobody().call(ECHO, args).value(), &json!([{ "color": "dark-red" }]));
    }
}

#[test]
fn id_of_another_table_is_rejected() {
    let app = TestApp::new();
    let args = json!({ "age": 20, "parts": [], "counter": "person_01h455vb4pex5vsknk084sn02q" });
    let reply = app.nobody().call(ECHO, args);
    assert_eq!(reply.field(), Some("counter"));
    assert!(reply.message().starts_with("counter: must be an id of counters (counter_…)"), "{}", reply.message());
}

#[test]
fn function_without_arguments_takes_only_an_empty_object() {
    let app = TestApp::new();
    assert_eq!(app.nobody().call("call/functions/nothing", json!({})).value(), &json!(null));
    assert_eq!(app.nobody().call("call/functions/nothing", json!({ "x": 1 })).message(), "Unknown argument: x");
}

#[test]
fn error_is_short_for_a_long_name() {
    let app = TestApp::new();
    let name = "ü".repeat(100_000);
    let reply = app.nobody().call("call/functions/charged", json!({ name: 1 }));
    assert_eq!(reply.code(), "INVALID_ARGUMENT");
    assert!(reply.message().len() < 500 && reply.data().to_string().len() < 500, "{}", reply.message());
}
