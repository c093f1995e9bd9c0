//! The tools of agents have the rights and rates of the functions behind them.

use convoke::testing::{TestApp, TestServer};
use serde_json::{Value, json};

/// Calls a tool over HTTP, and returns its text and true if it is an error.
fn tool(server: &TestServer<'_>, token: Option<&str>, name: &str, arguments: &Value) -> (String, bool) {
    let params = json!({ "name": name, "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let reply = server.post(token, "/mcp", body);
    let result = &reply.body["result"];
    (result["content"][0]["text"].as_str().unwrap_or_default().to_owned(), result["isError"] == true)
}

#[test]
fn tools_serve_only_whom_their_functions_serve() {
    let app = TestApp::new();
    let server = app.serve();
    let (ada, eve) = (server.token("ada"), server.token("eve"));
    let created = tool(&server, Some(&ada), "meetings_lifecycle_createMeeting", &json!({ "title": "Stand-up" }));
    assert!(!created.1, "{}", created.0);
    let meeting = serde_json::from_str::<Value>(&created.0).unwrap()["meetingId"].clone();
    for name in [
        "meetings_queries_getMeeting",
        "meetings_queries_listMeetingParticipants",
        "insights_queries_getMeetingInsights",
        "insights_index_generateInsights",
        "transcripts_queries_listTranscriptChunks",
        "notes_queries_getMeetingNotes",
        "prompts_queries_getPreCallPrompts",
    ] {
        let arguments = json!({ "meetingId": meeting });
        let (text, is_error) = tool(&server, None, name, &arguments);
        assert!(is_error && text.starts_with("UNAUTHENTICATED: "), "{name}: {text}");
        let (text, is_error) = tool(&server, Some(&eve), name, &arguments);
        assert!(is_error && text.starts_with("FORBIDDEN: "), "{name}: {text}");
        let (text, is_error) = tool(&server, Some(&ada), name, &arguments);
        // Members of an object have no order.
        let text = if is_error { text } else { serde_json::from_str::<Value>(&text).unwrap().to_string() };
        assert_eq!((text, is_error), over_http(&server, &ada, name, &arguments), "{name}");
    }
    let (listed, _) = tool(&server, Some(&ada), "meetings_queries_listUserMeetings", &json!({ "limit": 10 }));
    assert!(listed.contains("Stand-up"), "{listed}");
    let (listed, _) = tool(&server, Some(&eve), "meetings_queries_listUserMeetings", &json!({ "limit": 10 }));
    assert!(!listed.contains("Stand-up"), "{listed}");
    for hidden in ["insights_mutations_deleteInsight", "users_mutations_deactivateUser", "users_identity"] {
        assert_eq!(tool(&server, Some(&ada), hidden, &json!({})), (String::new(), false), "{hidden} is no tool");
    }
}

/// Returns the outcome of the same call on `/api/run`, in the form of a tool's outcome.
fn over_http(server: &TestServer<'_>, token: &str, name: &str, arguments: &Value) -> (String, bool) {
    let reply = server.call(Some(token), &name.replace('_', "/"), arguments);
    match reply.body["status"] == "success" {
        true => (reply.body["value"].to_string(), false),
        false => (format!("{}: {}", reply.code(), reply.body["errorMessage"].as_str().unwrap_or_default()), true),
    }
}

#[test]
fn tools_charge_the_rate_of_their_functions() {
    let app = TestApp::configured("[rates]\nwrite = 3");
    let server = app.serve();
    let ada = server.token("ada");
    let arguments = json!({ "title": "Stand-up" });
    for number in 0..4 {
        let (text, is_error) = tool(&server, Some(&ada), "meetings_lifecycle_createMeeting", &arguments);
        assert_eq!((is_error, text.starts_with("RATE_LIMITED: ")), (number == 3, number == 3), "{text}");
    }
    let other = server.call(Some(&ada), "meetings/lifecycle/createMeeting", &arguments);
    assert_eq!(other.code(), "RATE_LIMITED", "both routes share the rate");
}
