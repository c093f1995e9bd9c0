//! Access to every media function, and the order of checks.

use convoke::Code;
use convoke::testing::TestApp;
use serde_json::{Value, json};

use super::remove;
use crate::support::{admin, id_of, meeting};

/// Every function of this part that belongs to a meeting, with arguments that are well formed.
fn calls(meeting: &str) -> Vec<(&'static str, Value)> {
    let one = json!({ "meetingId": meeting });
    let session = json!({"meetingId": meeting, "sessionId": "s1"});
    vec![
        ("meetings/webrtc/rooms/generateParticipantAccessToken", one.clone()),
        (
            "meetings/webrtc/index/updateSessionState",
            json!({"meetingId": meeting, "sessionId": "s1", "state": "connecting"}),
        ),
        ("meetings/webrtc/signaling/getActiveSessions", one.clone()),
        ("meetings/webrtc/signaling/createSession", session.clone()),
        ("meetings/webrtc/signaling/closeSession", session),
        (
            "meetings/webrtc/signaling/sendSignal",
            json!({"meetingId": meeting, "sessionId": "s1", "kind": "ice", "payload": {}}),
        ),
        ("meetings/webrtc/signaling/listSignals", one.clone()),
        ("meetings/lifecycle/getMeetingConnectionInfo", one),
        ("realtime/batchedOperations/batchUpdatePresence", json!({"meetingId": meeting, "presence": "joined"})),
    ]
}

const ACKNOWLEDGE: &str = "meetings/webrtc/signaling/acknowledgeSignals";

#[test]
fn anonymous_callers_are_rejected() {
    let app = TestApp::new();
    let id = meeting(&app.user("ada"), &[]);
    for (path, args) in calls(&id).into_iter().chain([(ACKNOWLEDGE, json!({"signalIds": []}))]) {
        app.nobody().call(path, args).assert_refused(Code::Unauthenticated, "Authentication required");
    }
}

#[test]
fn stranger_and_removed_participant_get_no_information() {
    let app = TestApp::new();
    let (ada, bob, eve) = (app.user("ada"), app.user("bob"), admin(&app, "eve", "org"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    remove(&ada, &id, "bob");
    let missing = "meeting_00000000000000000000000000";
    for stranger in [&bob, &eve] {
        for id in [id.as_str(), missing] {
            for (path, args) in calls(id) {
                let reply = stranger.call(path, args);
                assert_eq!(reply.message(), "Access denied: Not a meeting participant", "{path}");
                assert_eq!(reply.code(), "FORBIDDEN");
            }
        }
    }
}

#[test]
fn deactivated_account_is_rejected_by_all_calls() {
    let app = TestApp::new();
    let (ada, bob, root) = (app.user("ada"), app.user("bob"), app.deploy_key(&["admin"]));
    let bob_id = id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    root.call("users/mutations/deactivateUser", json!({"userId": bob_id})).value();
    for (path, args) in calls(&id).into_iter().chain([(ACKNOWLEDGE, json!({"signalIds": []}))]) {
        bob.call(path, args).assert_refused(Code::Forbidden, "Account is deactivated");
    }
}

#[test]
fn a_deploy_key_has_to_act_as_a_user() {
    let app = TestApp::new();
    let id = meeting(&app.user("ada"), &[]);
    let key = app.deploy_key(&["admin"]);
    for (path, args) in calls(&id).into_iter().chain([(ACKNOWLEDGE, json!({"signalIds": []}))]) {
        key.call(path, args).assert_refused(Code::Forbidden, "Deploy key must act as a user");
    }
    let as_ada = key.acting_as("ada");
    let args = json!({"meetingId": id, "sessionId": "s1", "state": "connecting"});
    as_ada.call("meetings/webrtc/index/updateSessionState", args).value();
    let audit = key.call("system/audit/listAuditEntries", json!({"actor": "deploy-key:test"}));
    assert_eq!(audit.value()["items"][0]["action"], "meetings/webrtc/index/updateSessionState");
}

#[test]
fn the_form_of_the_arguments_is_checked_before_the_caller() {
    let app = TestApp::new();
    let id = meeting(&app.user("ada"), &[]);
    let update = |session: &str, state: &str| json!({"meetingId": id, "sessionId": session, "state": state});
    for (args, field) in [
        (update("", "connecting"), "sessionId"),
        (update("a b", "connecting"), "sessionId"),
        (update(&"x".repeat(129), "connecting"), "sessionId"),
        (update("s1", "joined"), "state"),
        (
            json!({"meetingId": "user_00000000000000000000000000", "sessionId": "s1", "state": "connecting"}),
            "meetingId",
        ),
    ] {
        let reply = app.nobody().call("meetings/webrtc/index/updateSessionState", args);
        assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some(field)));
    }
}
