//! `getMeetingConnectionInfo`.

use convoke::Code;
use convoke::testing::{TestApp, TestCaller};
use serde_json::{Value, json};

use super::{end, only_meeting};
use crate::support::{create, id_of, media_server, meeting, scheduled, secret};

fn info(caller: &TestCaller<'_>, meeting: &str) -> Value {
    caller.call("meetings/lifecycle/getMeetingConnectionInfo", json!({"meetingId": meeting})).value().clone()
}

#[test]
fn without_any_setting_clients_find_each_other() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = create(&ada, json!({"maxParticipants": 4, "transcriptionEnabled": false}));
    assert_eq!(
        info(&ada, &id),
        json!({
            "videoProvider": "webrtc", "roomId": only_meeting(&app).room_id,
            "iceServers": [{"urls": ["stun:stun.l.google.com:19302"]}],
            "expiresAt": app.now().get() + 3_600_000,
            "features": {"recording": false, "transcription": false, "maxParticipants": 4},
        })
    );
    info(&ada, &scheduled(&app, &ada, &[]));
}

#[test]
fn a_relay_gets_credentials_of_the_caller_that_last_an_hour() {
    let app = TestApp::with(|options| {
        options.settings =
            "[stun]\nurls = []\n[turn]\nurls = [\"turn:a.test:3478\", \"turns:a.test:5349\"]\n".parse().unwrap();
        secret(options, "TURN_SECRET", "north\n");
    });
    let ada = app.user("ada");
    let ada_id = id_of(&ada);
    let id = meeting(&ada, &[]);
    let info = info(&ada, &id);
    let servers = info["iceServers"].as_array().unwrap();
    assert_eq!(servers.len(), 1);
    assert_eq!(servers[0]["urls"], json!(["turn:a.test:3478", "turns:a.test:5349"]));
    let username = servers[0]["username"].as_str().unwrap();
    assert_eq!(username, format!("{}:{ada_id}", app.now().get() / 1_000 + 3_600));
    assert_eq!(info["expiresAt"], app.now().get() + 3_600_000);
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, b"north");
    let tag = aws_lc_rs::hmac::sign(&key, username.as_bytes());
    let credential = {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(tag)
    };
    assert_eq!(servers[0]["credential"], credential);
}

#[test]
fn a_meeting_that_is_over_gives_no_relay_away() {
    let app = TestApp::with(|options| {
        options.settings = "[turn]\nurls = [\"turn:a.test:3478\"]\n".parse().unwrap();
        secret(options, "TURN_SECRET", "north");
    });
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    assert_eq!(info(&ada, &id)["iceServers"].as_array().unwrap().len(), 2);
    end(&ada, &id);
    let servers = info(&ada, &id)["iceServers"].clone();
    assert_eq!(servers, json!([{"urls": ["stun:stun.l.google.com:19302"]}]));
}

#[test]
fn a_relay_without_its_secret_fails_and_tells_the_client_nothing() {
    let app = TestApp::with(|options| {
        options.settings = "[turn]\nurls = [\"turn:a.test:3478\"]\n".parse().unwrap();
    });
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    ada.call("meetings/lifecycle/getMeetingConnectionInfo", json!({"meetingId": id}))
        .assert_refused(Code::Internal, convoke_core::error::INTERNAL_MESSAGE);
}

#[test]
fn a_meeting_on_a_server_says_where_it_is() {
    let app = TestApp::with(|options| {
        media_server(options, "wss://media.test");
        secret(options, "LIVEKIT_API_SECRET", "s");
    });
    let ada = app.user("ada");
    let large = info(&ada, &create(&ada, json!({"maxParticipants": 100})));
    assert_eq!((&large["videoProvider"], &large["serverUrl"]), (&json!("livekit"), &json!("wss://media.test")));
    assert_eq!(info(&ada, &create(&ada, json!({"maxParticipants": 2}))).get("serverUrl"), None);
}
