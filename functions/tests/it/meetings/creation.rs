//! `meetings/lifecycle/createMeeting`.

use convoke::Code;
use convoke::testing::TestApp;
use schema::{AuditEntry, Invitation, Meeting, MeetingState, Note, Participant};
use serde_json::{Value, json};

use crate::support::{assert_consistent, emails, id_of, media_server, secret, with};

const CREATE: &str = "meetings/lifecycle/createMeeting";

fn only(app: &TestApp) -> convoke::Doc<Meeting> {
    app.read(|db| Ok(db.scan::<Meeting>().first()?)).unwrap()
}

#[test]
fn a_title_alone_makes_an_active_meeting_with_its_defaults() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let reply = ada.call(CREATE, json!({"title": "  Planning "}));
    let row = only(&app);
    assert_eq!(
        reply.value(),
        &json!({
            "meetingId": row.id().to_string(), "webrtcReady": true, "videoProvider": "webrtc",
            "features": {"recording": false, "transcription": true, "maxParticipants": 10},
        })
    );
    assert_eq!(
        (row.title.as_str(), row.duration.get(), row.meeting_type.as_str()),
        ("Planning", 1_800_000, "small-group")
    );
    assert_eq!((row.state, row.started_at, row.empty_since), (MeetingState::Active, Some(app.now()), None));
    assert_eq!(row.room_id.len(), 32);
    let participants = app.read(|db| Ok(db.scan::<Participant>().take(10)?));
    assert_eq!(participants.len(), 1);
    assert_eq!((participants[0].role.as_str(), participants[0].presence.as_str()), ("host", "invited"));
    let notes = app.read(|db| Ok(db.scan::<Note>().take(10)?));
    assert_eq!((notes.len(), notes[0].version, notes[0].sequence, notes[0].units), (1, 0, 0, 0));
    let audit = app.read(|db| Ok(db.scan::<AuditEntry>().take(10)?));
    assert_eq!((audit.len(), audit[0].action.as_str()), (1, "meeting.created"));
    assert_consistent(&app);
}

#[test]
fn created_meeting_has_all_requested_properties() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let bob = id_of(&app.user("bob"));
    let at = app.now().get() + 3_600_000;
    let reply = ada.call(
        CREATE,
        json!({
            "title": "T", "description": "D", "scheduledAt": at, "duration": 60_000, "recordingEnabled": true,
            "transcriptionEnabled": false, "meetingType": "webinar", "maxParticipants": 300,
            "participantEmails": emails(&["bob", "cleo"]),
        }),
    );
    assert_eq!(reply.value()["features"], json!({"recording": true, "transcription": false, "maxParticipants": 300}));
    let row = only(&app);
    assert_eq!(
        (row.state, row.started_at, row.scheduled_at),
        (MeetingState::Scheduled, None, Some(convoke::Millis(at)))
    );
    assert_eq!((row.duration.get(), row.meeting_type.as_str()), (60_000, "webinar"));
    let participants = app.read(|db| Ok(db.scan::<Participant>().take(10)?));
    assert_eq!(participants.len(), 2);
    assert_eq!((participants[1].user_id.to_string(), participants[1].role.as_str()), (bob, "participant"));
    let invitations = app.read(|db| Ok(db.scan::<Invitation>().take(10)?));
    assert_eq!(invitations[0].email.as_str(), "cleo@example.com");
    assert_eq!(invitations.len(), 1);
}

#[test]
fn a_meeting_of_a_near_or_past_time_begins_at_once() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let now = app.now().get();
    for (at, state) in [(0, "active"), (now, "active"), (now + 300_000, "active"), (now + 300_001, "scheduled")] {
        let id = ada.call(CREATE, json!({"title": "x", "scheduledAt": at})).value()["meetingId"].clone();
        let meeting = ada.call("meetings/queries/getMeeting", json!({"meetingId": id}));
        assert_eq!((&meeting.value()["state"], &meeting.value()["scheduledAt"]), (&json!(state), &json!(at)));
    }
}

#[test]
fn type_and_size_follow_from_each_other() {
    let app = TestApp::new();
    let ada = app.user("ada");
    for (sent, kind, max) in [
        (json!({"maxParticipants": 2}), "one-on-one", 2),
        (json!({"maxParticipants": 3}), "small-group", 3),
        (json!({"maxParticipants": 11}), "large-meeting", 11),
        (json!({"meetingType": "one-on-one"}), "one-on-one", 2),
        (json!({"meetingType": "large-meeting"}), "large-meeting", 100),
        (json!({"meetingType": "webinar"}), "webinar", 500),
        (json!({"meetingType": "one-on-one", "maxParticipants": 1000}), "one-on-one", 1000),
    ] {
        let made = ada.call(CREATE, with(json!({"title": "x"}), sent));
        assert_eq!(made.value()["features"]["maxParticipants"], max);
        let meeting = ada.call("meetings/queries/getMeeting", json!({"meetingId": made.value()["meetingId"]}));
        assert_eq!(meeting.value()["meetingType"], kind);
    }
}

#[test]
fn invalid_argument_is_rejected_with_its_message() {
    let app = TestApp::new();
    let ada = app.user("ada");
    id_of(&ada);
    for (change, field, message) in [
        (json!({"title": " \u{a0}"}), "title", "Meeting title cannot be empty"),
        (json!({"title": null}), "title", "Missing required argument: title"),
        (json!({"maxParticipants": 0}), "maxParticipants", "Maximum participants must be at least 1"),
        (
            json!({"participantEmails": ["a@b.example", "nope"]}),
            "participantEmails[1]",
            "Invalid participant email: nope",
        ),
        (json!({"participantEmails": [""]}), "participantEmails[0]", "Invalid participant email: "),
        (
            json!({"meetingType": "party"}),
            "meetingType",
            "meetingType: must be one of one-on-one, small-group, large-meeting, webinar (got \"party\")",
        ),
    ] {
        let reply = ada.call(CREATE, with(json!({"title": "x"}), change));
        assert_eq!((reply.code(), reply.field(), reply.message()), ("INVALID_ARGUMENT", Some(field), message));
    }
    for (change, field) in [
        (json!({"title": "x".repeat(201)}), "title"),
        (json!({"description": "x".repeat(5001)}), "description"),
        (json!({"duration": 0}), "duration"),
        (json!({"duration": 86_400_001}), "duration"),
        (json!({"duration": 1.5}), "duration"),
        (json!({"scheduledAt": -1}), "scheduledAt"),
        (json!({"scheduledAt": 8_640_000_000_000_001i64}), "scheduledAt"),
        (json!({"maxParticipants": 1001}), "maxParticipants"),
        (json!({"recordingEnabled": "yes"}), "recordingEnabled"),
        (json!({"participantEmails": vec!["a@b.example"; 501]}), "participantEmails"),
    ] {
        let reply = ada.call(CREATE, with(json!({"title": "x"}), change));
        assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some(field)));
    }
    assert_eq!(app.count::<Meeting>(), 0);
}

#[test]
fn a_null_argument_is_an_absent_one() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let args = json!({
        "title": "x", "description": null, "scheduledAt": null, "duration": null, "participantEmails": null,
        "recordingEnabled": null, "transcriptionEnabled": null, "meetingType": null, "maxParticipants": null,
        "idempotencyKey": null,
    });
    let made = ada.call(CREATE, args);
    assert_eq!(made.value()["features"], json!({"recording": false, "transcription": true, "maxParticipants": 10}));
}

#[test]
fn the_same_key_makes_one_meeting() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let args = json!({"title": "x", "idempotencyKey": "k", "participantEmails": emails(&["bob"])});
    let replies: Vec<Value> = app.block_on(async {
        let calls = (0..10).map(|_| ada.call_async(CREATE, args.clone()));
        futures_util::future::join_all(calls).await.iter().map(|reply| reply.value().clone()).collect()
    });
    assert!(replies.iter().all(|reply| *reply == replies[0]));
    assert_eq!((app.count::<Meeting>(), app.count::<Invitation>()), (1, 1));
    ada.call(CREATE, with(args.clone(), json!({"title": "y"})))
        .assert_refused(Code::IdempotencyKeyReused, "The idempotency key was used before with other arguments");
    app.user("cleo").call(CREATE, args).value();
    assert_eq!(app.count::<Meeting>(), 2);
}

#[test]
fn large_recorded_and_webinar_meetings_use_the_media_server() {
    let app = TestApp::with(|options| {
        media_server(options, "wss://media.test");
        secret(options, "LIVEKIT_API_SECRET", "s");
    });
    let ada = app.user("ada");
    for (sent, provider) in [
        (json!({"maxParticipants": 8}), "webrtc"),
        (json!({"maxParticipants": 9}), "livekit"),
        (json!({"maxParticipants": 8, "recordingEnabled": true}), "livekit"),
        (json!({"maxParticipants": 8, "meetingType": "webinar"}), "livekit"),
    ] {
        let made = ada.call(CREATE, with(json!({"title": "x"}), sent));
        assert_eq!((&made.value()["videoProvider"], &made.value()["webrtcReady"]), (&json!(provider), &json!(true)));
    }
}

#[test]
fn a_server_without_its_secret_is_not_ready() {
    let app = TestApp::with(|options| media_server(options, "wss://media.test"));
    let ada = app.user("ada");
    let made = ada.call(CREATE, json!({"title": "x", "maxParticipants": 9}));
    assert_eq!((&made.value()["videoProvider"], &made.value()["webrtcReady"]), (&json!("livekit"), &json!(false)));
    let small = ada.call(CREATE, json!({"title": "x", "maxParticipants": 8}));
    assert_eq!(small.value()["webrtcReady"], true);
}
