//! `startMeeting`, `endMeeting`, `cancelMeeting`, `updateMeeting` in every state.

use convoke::Code;
use convoke::testing::{TestApp, TestCaller};
use schema::{AuditEntry, MediaSession, Meeting, Participant, SessionState};
use serde_json::{Value, json};

use crate::rights::{Call, Ids};
use crate::support::{assert_consistent, id_of, listed, meeting, scheduled, system, with};

fn in_meeting(ids: &Ids) -> Value {
    json!({"meetingId": ids.meeting})
}

fn in_planned(ids: &Ids) -> Value {
    json!({"meetingId": ids.planned})
}

inventory::submit!(Call::new("meetings/lifecycle/startMeeting", in_planned));
inventory::submit!(Call::new("meetings/lifecycle/cancelMeeting", in_planned));
inventory::submit!(Call::new("meetings/lifecycle/leaveMeeting", in_meeting));
inventory::submit!(Call::new("meetings/lifecycle/leaveMeeting", in_planned));
inventory::submit!(Call::new("meetings/lifecycle/updateMeeting", |ids| with(
    in_meeting(ids),
    json!({"title": "Another"})
)));
inventory::submit!(Call::new("meetings/lifecycle/updateMeeting", |ids| with(
    in_planned(ids),
    json!({"title": "Another"})
)));

fn act(caller: &TestCaller<'_>, verb: &str, id: &str) -> convoke::testing::Reply {
    caller.call(&format!("meetings/lifecycle/{verb}Meeting"), json!({"meetingId": id}))
}

fn state(caller: &TestCaller<'_>, id: &str) -> Value {
    caller.call("meetings/queries/getMeeting", json!({"meetingId": id})).value()["state"].clone()
}

/// A meeting in each state.
fn in_state(app: &TestApp, ada: &TestCaller<'_>, state: &str) -> String {
    match state {
        "scheduled" => scheduled(app, ada, &[]),
        "active" => meeting(ada, &[]),
        "concluded" => {
            let id = meeting(ada, &[]);
            act(ada, "end", &id).value();
            id
        }
        _ => {
            let id = scheduled(app, ada, &[]);
            act(ada, "cancel", &id).value();
            id
        }
    }
}

#[test]
fn every_move_that_is_not_in_the_table_is_refused_and_changes_nothing() {
    let app = TestApp::new();
    let ada = app.user("ada");
    for (from, verb, message) in [
        ("active", "start", "Meeting is already active"),
        ("concluded", "start", "Cannot start a concluded or cancelled meeting"),
        ("cancelled", "start", "Cannot start a concluded or cancelled meeting"),
        ("scheduled", "end", "Can only end active meetings"),
        ("concluded", "end", "Can only end active meetings"),
        ("cancelled", "end", "Can only end active meetings"),
        ("active", "cancel", "Cannot cancel active meeting - end it instead"),
        ("concluded", "cancel", "Meeting is already concluded or cancelled"),
        ("cancelled", "cancel", "Meeting is already concluded or cancelled"),
        ("concluded", "join", "Meeting is not currently active"),
        ("cancelled", "join", "Meeting is not currently active"),
        ("concluded", "update", "Meeting is already concluded or cancelled"),
        ("cancelled", "update", "Meeting is already concluded or cancelled"),
    ] {
        let id = in_state(&app, &ada, from);
        let before = ada.call("meetings/queries/getMeeting", json!({"meetingId": id})).value().clone();
        app.advance(std::time::Duration::from_secs(1));
        act(&ada, verb, &id).assert_refused(Code::FailedPrecondition, message);
        assert_eq!(ada.call("meetings/queries/getMeeting", json!({"meetingId": id})).value(), &before);
    }
    assert_consistent(&app);
}

#[test]
fn a_scheduled_meeting_starts_and_ends() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = scheduled(&app, &ada, &[]);
    app.advance(std::time::Duration::from_secs(60));
    assert_eq!(act(&ada, "start", &id).value(), &json!({"success": true}));
    let started = app.now().get();
    app.advance(std::time::Duration::from_secs(90));
    assert_eq!(act(&ada, "end", &id).value(), &json!({"success": true, "durationMs": 90_000}));
    let meeting = ada.call("meetings/queries/getMeeting", json!({"meetingId": id}));
    assert_eq!(
        (&meeting.value()["startedAt"], &meeting.value()["endedAt"]),
        (&json!(started), &json!(started + 90_000))
    );
    let actions: Vec<String> = app
        .read(|db| Ok(db.query(AuditEntry::by_resource).eq("meeting").eq(id.as_str()).take(10)?))
        .iter()
        .map(|row| row.action.clone())
        .collect();
    assert_eq!(actions, ["meeting.created", "meeting.started", "meeting.ended"]);
}

#[test]
fn only_hosts_start_end_cancel_and_edit() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = scheduled(&app, &ada, &["bob"]);
    for verb in ["start", "end", "cancel", "update"] {
        act(&bob, verb, &id).assert_refused(Code::Forbidden, "Requires host role");
    }
    assert_eq!(state(&bob, &id), "scheduled");
}

#[test]
fn end_marks_joined_participants_as_left_and_closes_sessions() {
    let app = TestApp::new();
    let (ada, bob, cleo) = (app.user("ada"), app.user("bob"), app.user("cleo"));
    let bob_id = id_of(&bob);
    id_of(&cleo);
    let id = meeting(&ada, &["bob", "cleo", "dora"]);
    act(&bob, "join", &id).value();
    for (session, state) in [("s1", "connected"), ("s2", "disconnected"), ("s3", "failed")] {
        let args = json!({"meetingId": id, "userId": bob_id, "sessionId": session, "state": state});
        system(&app).call("probes/putSession", args).value();
    }
    app.advance(std::time::Duration::from_secs(5));

    act(&ada, "end", &id).value();

    let ended = app.now().get();
    let bobs = listed(&ada, &id, "bob").unwrap();
    assert_eq!(
        (&bobs["presence"], &bobs["leftAt"], &bobs["webrtcSessionCount"]),
        (&json!("left"), &json!(ended), &json!(0))
    );
    assert_eq!(listed(&ada, &id, "cleo").unwrap()["presence"], "invited", "who never came did not leave");
    let states: Vec<SessionState> =
        app.read(|db| Ok(db.scan::<MediaSession>().take(9)?)).iter().map(|row| row.state).collect();
    assert_eq!(states, [SessionState::Closed, SessionState::Closed, SessionState::Failed]);
    assert_eq!(app.count::<schema::Invitation>(), 0);
    assert_eq!(app.count::<Participant>(), 3);
    assert_consistent(&app);
}

#[test]
fn two_ends_at_once_end_once() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let (one, other) = app.block_on(async {
        let end = || ada.call_async("meetings/lifecycle/endMeeting", json!({"meetingId": id}));
        tokio::join!(end(), end())
    });
    assert!(one.is_success() != other.is_success());
}

#[test]
fn a_meeting_is_edited_field_by_field() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = scheduled(&app, &ada, &[]);
    let update = |args: Value| ada.call("meetings/lifecycle/updateMeeting", with(json!({"meetingId": id}), args));
    let later = app.now().get() + 7_200_000;
    assert_eq!(update(json!({"title": "New", "description": "D", "scheduledAt": later})).value(), &Value::Null);
    update(json!({"duration": 5, "recordingEnabled": true, "transcriptionEnabled": false, "maxParticipants": 4}))
        .value();
    let row = app.read(|db| Ok(db.scan::<Meeting>().first()?)).unwrap();
    assert_eq!((row.title.as_str(), row.scheduled_at, row.duration.get()), ("New", Some(convoke::Millis(later)), 5));
    assert_eq!((row.recording_enabled, row.transcription_enabled, row.max_participants.get()), (true, false, 4));
    update(json!({"description": ""})).value();
    assert_eq!(app.read(|db| Ok(db.scan::<Meeting>().first()?)).unwrap().description, None);
    update(json!({"title": " "})).assert_refused(Code::InvalidArgument, "Meeting title cannot be empty");
    act(&ada, "start", &id).value();
    assert_eq!(update(json!({"scheduledAt": later})).code(), "FAILED_PRECONDITION");
}

#[test]
fn a_room_does_not_become_smaller_than_those_in_it() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    for caller in [&ada, &bob] {
        act(caller, "join", &id).value();
    }
    let size =
        |max: i64| ada.call("meetings/lifecycle/updateMeeting", json!({"meetingId": id, "maxParticipants": max}));
    assert_eq!(size(1).code(), "FAILED_PRECONDITION");
    size(2).value();
    act(&bob, "leave", &id).value();
    size(1).value();
}

#[test]
fn a_meeting_of_two_thousand_people_ends_in_one_transaction() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    for batch in 0..20 {
        let subjects: Vec<String> = (0..100).map(|i| format!("guest-{batch}-{i}")).collect();
        system(&app).call("probes/putPeople", json!({"meetingId": id, "subjects": subjects})).value();
    }
    act(&ada, "end", &id).value();
    let open = app.read(|db| Ok(db.query(MediaSession::by_state_updated).eq(SessionState::Connected).count()?));
    assert_eq!((open, app.count::<Participant>()), (0, 2_001));
    assert_consistent(&app);
}
