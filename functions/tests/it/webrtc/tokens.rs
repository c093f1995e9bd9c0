//! `generateParticipantAccessToken`: who gets one, what it says, and who can verify it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use convoke::Code;
use convoke::embed::RuntimeOptions;
use convoke::testing::TestApp;
use functions::meetings::webrtc::tokens::Claims;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Value, json};

use super::{active, cancel, end, only_meeting, open, promote, report, states, token};
use crate::support::{create, id_of, is_embedded, listed, media_server, meeting, scheduled, secret, system};

/// Returns the claims of a token, if this key signed it.
fn verified(grant: &Value, key: &[u8]) -> Option<Claims> {
    let mut validation = Validation::new(Algorithm::HS256);
    // The clock of a test stands still.
    validation.validate_exp = false;
    let token = grant["token"].as_str().unwrap();
    jsonwebtoken::decode::<Claims>(token, &DecodingKey::from_secret(key), &validation).ok().map(|data| data.claims)
}

/// The key that an installation makes for itself.
fn own_key(app: &TestApp) -> Vec<u8> {
    app.runtime().own_secret("ROOM_KEY").unwrap().expose().as_bytes().to_vec()
}

/// An app, and the file of its own key, if it is not made from one that nodes share.
fn app_with_key(change: impl FnOnce(&mut RuntimeOptions)) -> (TestApp, PathBuf) {
    let mut file = PathBuf::new();
    let app = TestApp::with(|options| {
        file = options.data.join("secrets/ROOM_KEY");
        change(options);
    });
    (app, file)
}

#[test]
fn host_token_grants_all_host_permissions() {
    let (app, file) = app_with_key(|_| {});
    let ada = app.user("ada");
    let ada_id = id_of(&ada);
    let id = create(&ada, json!({"recordingEnabled": true}));
    assert!(!file.exists());

    let reply = token(&ada, &id, json!({"sessionId": "tab-1"}));

    let grant = reply.value();
    let room = only_meeting(&app).room_id.clone();
    let mut rest = grant.clone();
    rest.as_object_mut().unwrap().remove("token");
    assert_eq!(
        rest,
        json!({
            "provider": "webrtc", "roomId": room, "participantId": "tab-1", "success": true,
            "permissions": {"canRecord": true, "canMute": true, "canKick": true, "canShare": true},
        })
    );
    if is_embedded() {
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let claims = verified(grant, &own_key(&app)).expect("the installation's own key made it");
    let now_s = app.now().get() / 1_000;
    assert_eq!((claims.iss.as_str(), claims.sub.as_str(), claims.name.as_str()), ("convoke", "tab-1", "ada"));
    assert_eq!((claims.iat, claims.nbf, claims.exp), (now_s, now_s, now_s + 900));
    let metadata: Value = serde_json::from_str(&claims.metadata).unwrap();
    assert_eq!(metadata, json!({"meetingId": id, "userId": ada_id, "sessionId": "tab-1", "role": "host"}));
    assert_eq!(json!(claims.attributes), json!({"role": "host", "userId": ada_id}));
    assert_eq!(
        json!(claims.video),
        json!({
            "room": room, "roomJoin": true, "canSubscribe": true, "canPublishData": true, "canPublish": true,
            "canPublishSources": ["camera", "microphone", "screen_share", "screen_share_audio"], "roomAdmin": true,
        })
    );
}

#[test]
fn rights_follow_the_role_the_type_and_recording() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let emails = ["bob@example.com"];
    let rights = |caller: &convoke::testing::TestCaller<'_>, id: &str| {
        let grant = token(caller, id, json!({})).value().clone();
        let video = verified(&grant, &own_key(&app)).unwrap().video;
        let of = |name: &str| grant["permissions"][name].as_bool().unwrap();
        let permissions = [of("canRecord"), of("canMute"), of("canKick"), of("canShare")];
        (permissions, video.can_publish, video.can_publish_sources.len(), video.room_admin)
    };
    let group = create(&ada, json!({"participantEmails": emails, "recordingEnabled": true}));
    assert_eq!(rights(&bob, &group), ([false, false, false, true], true, 4, false));
    let unrecorded = create(&ada, json!({"participantEmails": emails}));
    assert_eq!(rights(&ada, &unrecorded), ([false, true, true, true], true, 4, true));
    let webinar = create(&ada, json!({"participantEmails": emails, "meetingType": "webinar"}));
    assert_eq!(rights(&bob, &webinar), ([false; 4], false, 0, false));
    promote(&ada, &webinar, "bob", "host");
    assert_eq!(rights(&bob, &webinar), ([false, true, true, true], true, 4, true));
    promote(&bob, &webinar, "ada", "participant");
    assert_eq!(rights(&ada, &webinar), ([false; 4], false, 0, false));
}

#[test]
fn every_call_mints_another_token_and_the_key_stays() {
    let mut app = TestApp::new();
    let id = meeting(&app.user("ada"), &[]);
    let first = token(&app.user("ada"), &id, json!({"sessionId": "s1"})).value().clone();
    let second = token(&app.user("ada"), &id, json!({"sessionId": "s1"})).value().clone();
    assert_ne!(first["token"], second["token"]);
    let key = own_key(&app);
    app.restart();
    let third = token(&app.user("ada"), &id, json!({"sessionId": "s1"})).value().clone();
    for grant in [&first, &second, &third] {
        assert!(verified(grant, &key).is_some());
        assert!(verified(grant, b"another key").is_none());
    }
    if !is_embedded() {
        // The nodes of all tests share one.
        return;
    }
    // Another installation has another key.
    let other = TestApp::new();
    let grant = token(&other.user("ada"), &meeting(&other.user("ada"), &[]), json!({})).value().clone();
    assert_ne!(own_key(&other), key);
    assert!(verified(&grant, &key).is_none());
}

#[test]
fn the_name_in_the_token_is_the_one_that_others_see() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let ada_id = id_of(&ada);
    ada.call("users/mutations/updateUserProfile", json!({"userId": ada_id, "displayName": "Ada \"L\" 🦀"})).value();
    let grant = token(&ada, &meeting(&ada, &[]), json!({})).value().clone();
    assert_eq!(verified(&grant, &own_key(&app)).unwrap().name, "Ada \"L\" 🦀");
}

#[test]
fn a_token_makes_the_session_that_it_is_for() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let generated = token(&ada, &id, json!({})).value()["participantId"].as_str().unwrap().to_owned();
    assert_eq!(open(&ada, &id), std::slice::from_ref(&generated));
    assert_ne!(token(&ada, &id, json!({})).value()["participantId"], generated.as_str());
    assert_eq!(listed(&ada, &id, "ada").unwrap()["presence"], "invited", "a token is not yet an arrival");

    report(&ada, &id, &generated, "connected").value();
    app.advance(Duration::from_secs(1));
    token(&ada, &id, json!({ "sessionId": generated })).value();
    let refreshed = active(&ada, &id).into_iter().find(|session| session["sessionId"] == generated.as_str()).unwrap();
    assert_eq!((&refreshed["state"], &refreshed["updatedAt"]), (&json!("connected"), &json!(app.now().get())));
    for ending in ["closed", "failed"] {
        report(&ada, &id, &generated, ending).value();
        token(&ada, &id, json!({ "sessionId": generated })).value();
        assert!(states(&app).contains(&(generated.clone(), "connecting")));
    }
}

#[test]
fn only_a_meeting_that_goes_on_has_tokens_and_a_hosts_request_starts_it() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let refused = "Cannot generate token for inactive meeting";
    let id = scheduled(&app, &ada, &["bob"]);
    token(&bob, &id, json!({})).assert_refused(Code::FailedPrecondition, refused);
    assert_eq!(states(&app), []);
    token(&ada, &id, json!({})).value();
    assert_eq!(only_meeting(&app).state.as_str(), "active");
    token(&bob, &id, json!({})).value();
    end(&ada, &id);
    token(&ada, &id, json!({})).assert_refused(Code::FailedPrecondition, refused);
    let off = scheduled(&app, &ada, &[]);
    cancel(&ada, &off);
    token(&ada, &off, json!({})).assert_refused(Code::FailedPrecondition, refused);
}

#[test]
fn full_meeting_admits_hosts_and_returning_participants() {
    let app = TestApp::new();
    let (ada, bob, cleo) = (app.user("ada"), app.user("bob"), app.user("cleo"));
    for user in [&bob, &cleo] {
        id_of(user);
    }
    let emails = ["bob@example.com", "cleo@example.com"];
    let id = create(&ada, json!({"maxParticipants": 1, "participantEmails": emails}));
    report(&bob, &id, "b1", "connected").value();
    token(&cleo, &id, json!({})).assert_refused(Code::FailedPrecondition, "Meeting is full");
    token(&bob, &id, json!({})).value();
    token(&ada, &id, json!({})).value();
}

#[test]
fn session_id_of_another_user_is_rejected_without_starting_the_meeting() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = scheduled(&app, &ada, &["bob"]);
    report(&bob, &id, "tab", "connecting").value();
    token(&ada, &id, json!({"sessionId": "tab"})).assert_refused(Code::Conflict, "Session ID is already in use");
    assert_eq!(only_meeting(&app).state.as_str(), "scheduled");
}

#[test]
fn at_the_limit_the_oldest_that_is_not_connected_makes_room() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    for number in 1..=9 {
        token(&ada, &id, json!({"sessionId": format!("s{number}")})).value();
    }
    assert_eq!(open(&ada, &id), ["s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"]);
    for number in 2..=9 {
        report(&ada, &id, &format!("s{number}"), "connected").value();
    }
    token(&ada, &id, json!({})).assert_refused(Code::FailedPrecondition, "Too many open sessions");
    token(&ada, &id, json!({"sessionId": "s5"})).value();
}

#[test]
fn tokens_have_a_rate_of_their_own() {
    let app = TestApp::with(|options| options.settings = "[rates]\ntokens = 2\n".parse().unwrap());
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    token(&ada, &id, json!({})).value();
    ada.call("meetings/lifecycle/getMeetingConnectionInfo", json!({"meetingId": id})).value();
    let refused = token(&ada, &id, json!({}));
    assert_eq!(refused.code(), "RATE_LIMITED");
    assert!(refused.data()["retryAfterMs"].as_i64().unwrap() > 0);
    assert_eq!(open(&ada, &id).len(), 1, "other classes go on");
    app.advance(Duration::from_secs(30));
    token(&ada, &id, json!({})).value();
}

#[test]
fn how_long_a_token_is_good_is_a_setting_within_bounds() {
    let app = TestApp::configured("[rooms]\ntoken_valid_s = 60\n");
    let ada = app.user("ada");
    let grant = token(&ada, &meeting(&ada, &[]), json!({})).value().clone();
    let claims = verified(&grant, &own_key(&app)).unwrap();
    assert_eq!(claims.exp - claims.iat, 60);

    let data = tempfile::tempdir().unwrap();
    let mut options = RuntimeOptions::in_folder(data.path(), convoke::embed::default_engine());
    options.settings = "[rooms]\ntoken_valid_s = 59\n".parse().unwrap();
    let refused = convoke::embed::Runtime::start(options).err().expect("59 s are too short").to_string();
    assert!(refused.contains("[rooms]") && refused.contains("between 60 and 21600"), "{refused}");
}

#[test]
fn a_room_on_a_server_has_tokens_of_the_servers_key() {
    let (app, own_key) = app_with_key(|options| {
        media_server(options, "wss://media.test");
        secret(options, "LIVEKIT_API_SECRET", "the server's secret\n");
    });
    let ada = app.user("ada");
    let large = create(&ada, json!({"maxParticipants": 100}));
    let grant = token(&ada, &large, json!({})).value().clone();
    assert_eq!(grant["provider"], "livekit");
    assert_eq!(verified(&grant, b"the server's secret").expect("the server's key made it").iss, "key1");
    assert!(!own_key.exists());
    let small = create(&ada, json!({"maxParticipants": 2}));
    assert_eq!(token(&ada, &small, json!({})).value()["provider"], "webrtc");
}

#[test]
fn missing_server_secret_is_an_internal_error_until_it_is_set() {
    let mut kept = None;
    let app = TestApp::with(|options| {
        media_server(options, "wss://media.test");
        kept = Some(options.clone());
    });
    let ada = app.user("ada");
    let id = create(&ada, json!({"maxParticipants": 100}));
    let failed = token(&ada, &id, json!({"sessionId": "s1"}));
    assert_eq!((failed.code(), failed.message()), ("INTERNAL", convoke_core::error::INTERNAL_MESSAGE));
    secret(&kept.unwrap(), "LIVEKIT_API_SECRET", "s");
    token(&ada, &id, json!({"sessionId": "s1"})).value();
}

#[test]
fn meeting_without_its_media_server_returns_an_error() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    system(&app).call("probes/moveToServer", json!({"meetingId": id})).value();
    let gone = "The media server of this meeting is not configured";
    token(&ada, &id, json!({})).assert_refused(Code::ProviderError, gone);
    ada.call("meetings/lifecycle/getMeetingConnectionInfo", json!({"meetingId": id}))
        .assert_refused(Code::ProviderError, gone);
}
