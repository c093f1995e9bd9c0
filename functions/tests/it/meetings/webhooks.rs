//! `meetings/webhooks`: endpoints of an organization, and the events of its meetings.

use convoke::Code;
use convoke::testing::{TestApp, TestCaller};
use serde_json::{Value, json};

use crate::insights::{generate, write};
use crate::support::{admin, meeting, member};

fn created(caller: &TestCaller<'_>, args: Value) -> String {
    let reply = caller.call("meetings/webhooks/createEndpoint", args);
    assert!(reply.value()["secret"].as_str().unwrap().starts_with("whsec_"));
    reply.value()["endpoint"]["id"].as_str().unwrap().to_owned()
}

fn events(app: &TestApp) -> Vec<(String, String)> {
    app.deliveries().iter().map(|row| (row.endpoint.to_string(), row.event.clone())).collect()
}

#[test]
fn end_of_a_meeting_reaches_the_endpoints_of_its_organization() {
    let app = TestApp::new();
    let (ada, bob) = (admin(&app, "ada", "acme"), member(&app, "bob", "acme"));
    let other = admin(&app, "eve", "other");
    let own = created(&ada, json!({ "url": "https://a.example/", "events": ["meeting.ended"] }));
    created(&ada, json!({ "url": "https://b.example/", "events": ["insights.ready"] }));
    created(&other, json!({ "url": "https://c.example/" }));
    let id = meeting(&bob, &[]);
    assert!(events(&app).is_empty());
    bob.call("meetings/lifecycle/endMeeting", json!({ "meetingId": id })).value();
    assert_eq!(events(&app), [(own.clone(), "meeting.ended".to_owned())]);
    let body: Value = serde_json::from_str(&app.deliveries()[0].body).unwrap();
    assert_eq!((&body["type"], &body["data"]["meetingId"]), (&json!("meeting.ended"), &json!(id)));
    assert_eq!(body["data"]["endedAt"], json!(app.now()));

    let listed = ada.call("meetings/webhooks/listDeliveries", json!({ "endpointId": own }));
    assert_eq!(listed.value()["items"][0]["event"], "meeting.ended");
    for refused in ["listDeliveries", "deleteEndpoint", "redeliver", "updateEndpoint", "rotateEndpointSecret"] {
        let reply = other.call(&format!("meetings/webhooks/{refused}"), json!({ "endpointId": own }));
        reply.assert_refused(Code::NotFound, "No webhook endpoint has this id");
    }
}

#[test]
fn generated_insights_are_announced() {
    let app = TestApp::new();
    let ada = admin(&app, "ada", "acme");
    let own = created(&ada, json!({ "url": "https://a.example/", "events": ["insights.ready"] }));
    let id = meeting(&ada, &[]);
    ada.call("meetings/lifecycle/joinMeeting", json!({ "meetingId": id })).value();
    generate(&ada, &id).value();
    assert!(events(&app).is_empty(), "a meeting without transcript and notes has no insights");
    write(&ada, &id, "We ship on Friday. Ada writes the release notes.");
    generate(&ada, &id).value();
    assert_eq!(events(&app), [(own, "insights.ready".to_owned())]);
    generate(&ada, &id).value();
    assert_eq!(events(&app).len(), 1, "insights of the same material are not announced again");
}

#[test]
fn admin_changes_rotates_and_deletes_an_endpoint() {
    let app = TestApp::new();
    let ada = admin(&app, "ada", "acme");
    let id = created(&ada, json!({ "url": "https://a.example/" }));
    let on = |name: &str, more: Value| {
        let mut args = json!({ "endpointId": id });
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ada.call(&format!("meetings/webhooks/{name}"), args)
    };
    let changed = on("updateEndpoint", json!({ "enabled": false, "events": ["meeting.ended"] }));
    assert_eq!(
        (&changed.value()["state"], &changed.value()["disabledReason"]),
        (&json!("disabled"), &json!("disabled by request"))
    );
    assert_eq!(on("updateEndpoint", json!({ "enabled": true })).value()["state"], "enabled");
    assert_eq!(on("updateEndpoint", json!({ "url": "https://10.0.0.1/" })).field(), Some("url"));
    assert_eq!(on("updateEndpoint", json!({ "events": ["meeting.endd"] })).field(), Some("events[0]"));
    let rotated = on("rotateEndpointSecret", json!({}));
    assert!(rotated.value()["secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!(on("redeliver", json!({})).value()["redelivered"], 0);
    on("deleteEndpoint", json!({})).value();
    let listed = ada.call("meetings/webhooks/listEndpoints", json!({}));
    assert_eq!(listed.value(), &json!([]));
    let nobody = member(&app, "bob", "acme").call("meetings/webhooks/listEndpoints", json!({}));
    assert_eq!(nobody.code(), "FORBIDDEN");
}
