//! Events of a LiveKit server: signed as it signs them, each with its effect once.

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use convoke::testing::{RouteReply, TestApp, TestCaller};
use jsonwebtoken::{EncodingKey, Header};
use serde_json::{Value, json};

use super::{only_meeting, open, states, token};
use crate::support::{assert_consistent, listed, media_server, meeting, secret};

fn app() -> TestApp {
    TestApp::with(|options| {
        media_server(options, "wss://media.example.org");
        secret(options, "LIVEKIT_API_SECRET", "the secret of key1, which is long enough");
        secret(options, "LIVEKIT_PREVIOUS_API_SECRET", "the secret of key0, which is long enough");
    })
}

/// The parts of a signature that a test changes.
struct Signed<'a> {
    key: &'a str,
    secret: &'a str,
    body: &'a str,
    valid_s: i64,
}

const KEY: Signed<'static> =
    Signed { key: "key1", secret: "the secret of key1, which is long enough", body: "", valid_s: 300 };

fn send_signed(app: &TestApp, event: &Value, signed: &Signed<'_>) -> RouteReply {
    let body = event.to_string();
    let signed_body = if signed.body.is_empty() { &body } else { signed.body };
    let now_s = app.now().get() / 1_000;
    let claims = json!({
        "iss": signed.key, "nbf": now_s, "exp": now_s + signed.valid_s,
        "sha256": STANDARD.encode(digest::digest(&digest::SHA256, signed_body.as_bytes())),
    });
    let key = EncodingKey::from_secret(signed.secret.as_bytes());
    let token = jsonwebtoken::encode(&Header::default(), &claims, &key).unwrap();
    let request = app.request("POST", "/hooks/livekit").header("authorization", token);
    request.header("content-type", "application/webhook+json").body(body).send()
}

fn send(app: &TestApp, event: &Value) -> RouteReply {
    send_signed(app, event, &KEY)
}

fn event(app: &TestApp, id: &str, kind: &str, identity: Option<&str>) -> Value {
    let participant = identity.map(|identity| json!({ "sid": "PA_1", "identity": identity, "state": "ACTIVE" }));
    json!({
        "event": kind, "id": id, "createdAt": "1767225600", "participant": participant,
        "room": { "sid": "RM_1", "name": only_meeting(app).room_id, "emptyTimeout": 300 },
    })
}

fn presence(caller: &TestCaller<'_>, meeting: &str, name: &str) -> Value {
    listed(caller, meeting, name).unwrap()["presence"].clone()
}

#[test]
fn participant_is_present_between_join_and_leave() {
    let app = app();
    let (ada, grace) = (app.user("ada"), app.user("grace"));
    let id = meeting(&ada, &["grace"]);
    for (caller, session) in [(&ada, "tab-a"), (&grace, "tab-g"), (&grace, "phone")] {
        token(caller, &id, json!({ "sessionId": session })).value();
    }
    for (number, session) in ["tab-g", "phone"].into_iter().enumerate() {
        let joined = send(&app, &event(&app, &format!("EV_{number}"), "participant_joined", Some(session)));
        assert_eq!((joined.status, joined.text()), (204, ""));
    }
    assert_eq!(presence(&ada, &id, "grace"), "joined");
    send(&app, &event(&app, "EV_2", "participant_left", Some("tab-g")));
    assert_eq!(presence(&ada, &id, "grace"), "joined", "another session is still open");
    send(&app, &event(&app, "EV_3", "participant_left", Some("phone")));
    assert_eq!(presence(&ada, &id, "grace"), "left");
    assert_eq!(open(&ada, &id), ["tab-a"]);
    // A late event does not open a session again.
    send(&app, &event(&app, "EV_4", "participant_joined", Some("phone")));
    assert_eq!(presence(&ada, &id, "grace"), "left");
    assert_consistent(&app);
}

#[test]
fn finished_room_has_no_participants() {
    let app = app();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    token(&ada, &id, json!({ "sessionId": "tab-a" })).value();
    send(&app, &event(&app, "EV_1", "participant_joined", Some("tab-a")));
    send(&app, &event(&app, "EV_2", "room_finished", None));
    assert_eq!(presence(&ada, &id, "ada"), "left");
    assert_eq!(states(&app), [("tab-a".to_owned(), "closed")]);
    assert_eq!(only_meeting(&app).empty_since, Some(app.now()));
    assert_consistent(&app);
}

#[test]
fn event_counts_once_and_unknown_ones_change_nothing() {
    let app = app();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    token(&ada, &id, json!({ "sessionId": "tab-a" })).value();
    let joined = event(&app, "EV_1", "participant_joined", Some("tab-a"));
    assert!(!send(&app, &joined).is_replayed);
    send(&app, &event(&app, "EV_2", "participant_left", Some("tab-a")));
    token(&ada, &id, json!({ "sessionId": "tab-a" })).value();
    let again = send(&app, &joined);
    assert_eq!((again.status, again.is_replayed), (204, true));
    assert_eq!(states(&app), [("tab-a".to_owned(), "connecting")]);
    for other in [
        event(&app, "EV_3", "track_published", Some("tab-a")),
        event(&app, "EV_4", "participant_joined", Some("unknown")),
        json!({ "event": "room_started", "id": "EV_5", "room": { "name": "unknown" } }),
        json!({ "event": "egress_started", "id": "EV_6", "egressInfo": {} }),
    ] {
        assert_eq!(send(&app, &other).status, 204, "{other}");
    }
    assert_eq!(states(&app), [("tab-a".to_owned(), "connecting")]);
    assert_eq!(send(&app, &json!({ "event": "room_started" })).code(), "INVALID_ARGUMENT");
}

#[test]
fn only_the_configured_keys_sign_events() {
    let app = app();
    let started = json!({ "event": "room_started", "id": "EV_1" });
    let previous = Signed { key: "key0", secret: "the secret of key0, which is long enough", ..KEY };
    assert_eq!(send_signed(&app, &started, &previous).status, 204);
    for wrong in [
        Signed { key: "key2", ..KEY },
        Signed { key: "key0", ..KEY },
        Signed { secret: "another secret", ..KEY },
        Signed { body: "{}", ..KEY },
        Signed { valid_s: -31, ..KEY },
    ] {
        let reply = send_signed(&app, &started, &wrong);
        assert_eq!((reply.status, &*reply.code()), (401, "INVALID_SIGNATURE"));
    }
    let unsigned = app.request("POST", "/hooks/livekit").json(&started).send();
    assert_eq!(unsigned.status, 401);
    let without_a_server = TestApp::new();
    assert_eq!(send(&without_a_server, &started).status, 401);
}
