//! `updateSessionState`, `createSession`, `closeSession`, `getActiveSessions`: the moves of a session and who makes them.

use std::time::Duration;

use convoke::Code;
use convoke::testing::TestApp;
use schema::MediaSession;
use serde_json::{Value, json};

use super::{
    CLOSE, CREATE, active, cancel, end, only_meeting, open, promote, report, report_with, session_call, states,
};
use crate::rights::{Call, Ids};
use crate::support::{assert_consistent, create, id_of, listed, meeting, scheduled, with};

fn fresh(ids: &Ids) -> Value {
    json!({"meetingId": ids.meeting, "sessionId": "fresh"})
}

inventory::submit!(Call::new(CREATE, fresh));
inventory::submit!(Call::new("meetings/webrtc/index/updateSessionState", |ids| {
    json!({"meetingId": ids.meeting, "sessionId": ids.session, "state": "closed"})
}));
// The session does not exist yet.
inventory::submit!(
    Call::new("meetings/webrtc/index/updateSessionState", |ids| with(fresh(ids), json!({"state": "connected"})))
        .answered_as("participant")
);

const STATES: [&str; 5] = ["connecting", "connected", "disconnected", "failed", "closed"];

#[test]
fn a_session_moves_as_the_table_says() {
    let app = TestApp::new();
    let ada = app.user("ada");
    for from in [None, Some("connecting"), Some("connected"), Some("disconnected"), Some("failed"), Some("closed")] {
        for to in STATES {
            let id = meeting(&ada, &[]);
            let before = from.map(|from| {
                let made = report(&ada, &id, "s1", "connecting");
                assert_eq!(report(&ada, &id, "s1", from).value(), made.value());
                made.value().clone()
            });
            let reply = report(&ada, &id, "s1", to);
            match (from, to) {
                (None, "disconnected" | "failed" | "closed") => {
                    reply.assert_refused(Code::NotFound, "Media session not found");
                }
                (Some("closed"), "connecting" | "connected" | "disconnected" | "failed") => {
                    reply.assert_refused(Code::FailedPrecondition, "Session is closed");
                }
                (None, _) => assert!(reply.value().as_str().unwrap().starts_with("session_")),
                (Some(_), _) => assert_eq!(Some(reply.value()), before.as_ref(), "{from:?} to {to}"),
            }
            let expected = if reply.is_success() { Some(to) } else { from };
            let now = app.read(|db| Ok(db.scan::<MediaSession>().take(1_000)?));
            let now = now.iter().find(|session| session.meeting_id.to_string() == id);
            assert_eq!(now.map(|session| session.state.as_str()), expected, "{from:?} to {to}");
        }
    }
    assert_consistent(&app);
}

#[test]
fn closing_a_closed_session_changes_nothing() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    report_with(&ada, &id, "s1", "connecting", json!({"device": "laptop"})).value();
    report(&ada, &id, "s1", "closed").value();
    let row = || app.read(|db| Ok(db.scan::<MediaSession>().first()?)).unwrap();
    let before = row();
    app.advance(Duration::from_secs(1));
    report_with(&ada, &id, "s1", "closed", json!({"device": "phone"})).value();
    assert_eq!(format!("{:?}", row()), format!("{before:?}"));
}

#[test]
fn a_connection_that_stands_means_that_its_owner_has_joined() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    report(&bob, &id, "b1", "connecting").value();
    let entry = listed(&ada, &id, "bob").unwrap();
    assert_eq!(
        (&entry["presence"], &entry["webrtcConnected"], &entry["webrtcSessionCount"]),
        (&json!("invited"), &json!(false), &json!(1))
    );
    app.advance(Duration::from_secs(1));
    report(&bob, &id, "b1", "connected").value();
    let entry = listed(&ada, &id, "bob").unwrap();
    assert_eq!((&entry["presence"], &entry["webrtcConnected"]), (&json!("joined"), &json!(true)));
    assert_eq!(entry["joinedAt"], app.now().get());
    bob.call("meetings/lifecycle/leaveMeeting", json!({"meetingId": id})).value();
    assert_eq!(states(&app), [("b1".to_owned(), "closed")]);
    report(&bob, &id, "b1", "connected").assert_refused(Code::FailedPrecondition, "Session is closed");
    // A new session at once, without connecting first, joins as well.
    report(&bob, &id, "b2", "connected").value();
    assert_eq!(listed(&ada, &id, "bob").unwrap()["presence"], "joined");
}

#[test]
fn a_hosts_connection_starts_a_scheduled_meeting_and_a_participants_waits() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = scheduled(&app, &ada, &["bob"]);
    let state = || only_meeting(&app).state.as_str();
    report(&bob, &id, "b1", "connected").value();
    assert_eq!((state(), &listed(&ada, &id, "bob").unwrap()["presence"]), ("scheduled", &json!("joined")));
    report(&ada, &id, "a1", "connecting").value();
    assert_eq!(state(), "scheduled");
    report(&ada, &id, "a1", "connected").value();
    assert_eq!(state(), "active");
    assert_consistent(&app);
}

#[test]
fn waiting_participant_made_host_starts_the_meeting_on_next_report() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = scheduled(&app, &ada, &["bob"]);
    report(&bob, &id, "b1", "connected").value();
    promote(&ada, &id, "bob", "host");
    report(&bob, &id, "b1", "connected").value();
    assert_eq!(only_meeting(&app).state.as_str(), "active");
}

#[test]
fn nothing_opens_in_a_meeting_that_is_over_and_closing_always_works() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let over = meeting(&ada, &[]);
    report(&ada, &over, "s1", "connected").value();
    report(&ada, &over, "s2", "failed").assert_refused(Code::NotFound, "Media session not found");
    report(&ada, &over, "s2", "connecting").value();
    report(&ada, &over, "s2", "failed").value();
    end(&ada, &over);
    assert_eq!(active(&ada, &over), [] as [Value; 0]);
    for state in ["connecting", "connected"] {
        let refused = "Meeting is not currently active";
        report(&ada, &over, "s3", state).assert_refused(Code::FailedPrecondition, refused);
        report(&ada, &over, "s2", state).assert_refused(Code::FailedPrecondition, refused);
    }
    report(&ada, &over, "s1", "closed").value();
    report(&ada, &over, "s2", "failed").value();
    report(&ada, &over, "s2", "closed").value();
    session_call(&ada, CLOSE, &over, "s2").value();
    let off = scheduled(&app, &ada, &[]);
    cancel(&ada, &off);
    report(&ada, &off, "s1", "connected").assert_refused(Code::FailedPrecondition, "Meeting is not currently active");
    assert_consistent(&app);
}

#[test]
fn a_full_meeting_opens_no_sessions_for_newcomers() {
    let app = TestApp::new();
    let (ada, bob, cleo) = (app.user("ada"), app.user("bob"), app.user("cleo"));
    for user in [&bob, &cleo] {
        id_of(user);
    }
    let id = create(&ada, json!({"maxParticipants": 1, "participantEmails": ["bob@example.com", "cleo@example.com"]}));
    report(&bob, &id, "b1", "connected").value();
    for state in ["connecting", "connected"] {
        report(&cleo, &id, "c1", state).assert_refused(Code::FailedPrecondition, "Meeting is full");
    }
    session_call(&cleo, CREATE, &id, "c1").assert_refused(Code::FailedPrecondition, "Meeting is full");
    report(&ada, &id, "a1", "connected").value();
    for session in ["b1", "a1"] {
        let owner = if session == "b1" { &bob } else { &ada };
        report(owner, &id, session, "closed").value();
    }
    bob.call("meetings/lifecycle/leaveMeeting", json!({"meetingId": id})).value();
    ada.call("meetings/lifecycle/leaveMeeting", json!({"meetingId": id})).value();
    report(&cleo, &id, "c1", "connected").value();
    // Bob was in before.
    report(&bob, &id, "b2", "connected").value();
}

#[test]
fn at_the_limit_the_oldest_that_is_not_connected_makes_room() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    for number in 1..=8 {
        report(&ada, &id, &format!("s{number}"), "connecting").value();
    }
    report(&ada, &id, "s1", "connected").value();
    report(&ada, &id, "s3", "disconnected").value();
    report(&ada, &id, "s9", "connecting").value();
    assert_eq!(open(&ada, &id), ["s1", "s3", "s4", "s5", "s6", "s7", "s8", "s9"]);
    session_call(&ada, CREATE, &id, "s10").value();
    assert_eq!(open(&ada, &id), ["s1", "s4", "s5", "s6", "s7", "s8", "s9", "s10"]);
    for number in [4, 5, 6, 7, 8, 9, 10] {
        report(&ada, &id, &format!("s{number}"), "connected").value();
    }
    let refused = "Too many open sessions";
    report(&ada, &id, "s11", "connecting").assert_refused(Code::FailedPrecondition, refused);
    session_call(&ada, CREATE, &id, "s11").assert_refused(Code::FailedPrecondition, refused);
    // What is open already needs no room.
    report(&ada, &id, "s10", "connecting").value();
    session_call(&ada, CREATE, &id, "s1").value();
    // Another person's sessions do not count.
    let bob = app.user("bob");
    id_of(&bob);
    ada.call("meetings/lifecycle/addParticipant", json!({"meetingId": id, "userId": "bob"})).value();
    report(&bob, &id, "b1", "connected").value();
    assert_eq!(open(&ada, &id).len(), 9);
}

#[test]
fn the_limit_is_a_setting() {
    let app = TestApp::with(|options| options.settings = "[quotas]\nopen_sessions_per_user = 1\n".parse().unwrap());
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    report(&ada, &id, "s1", "connecting").value();
    report(&ada, &id, "s2", "connected").value();
    assert_eq!(open(&ada, &id), ["s2"]);
    report(&ada, &id, "s3", "connected").assert_refused(Code::FailedPrecondition, "Too many open sessions");
}

#[test]
fn session_id_belongs_to_its_first_user_in_the_meeting() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    report(&ada, &id, "tab", "connected").value();
    for state in ["connecting", "connected", "disconnected", "failed"] {
        report(&bob, &id, "tab", state).assert_refused(Code::Conflict, "Session ID is already in use");
    }
    session_call(&bob, CREATE, &id, "tab").assert_refused(Code::Conflict, "Session ID is already in use");
    session_call(&bob, CLOSE, &id, "tab").assert_refused(Code::NotFound, "Media session not found");
    report(&ada, &id, "tab", "closed").value();
    report(&bob, &id, "tab", "connecting").assert_refused(Code::Conflict, "Session ID is already in use");
    // Another meeting, other ids.
    let other = meeting(&bob, &[]);
    report(&bob, &other, "tab", "connecting").value();
}

#[test]
fn a_host_closes_anybodys_session_and_nothing_else() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let bob_id = id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    let made = report(&bob, &id, "b1", "connected");
    report(&ada, &id, "a1", "connected").value();

    let refused = report(&bob, &id, "a1", "closed");
    refused.assert_refused(Code::Forbidden, "Requires host role");
    assert_eq!(refused.data()["requiredRole"], "host");
    assert_eq!(refused.data()["currentRole"], "participant");
    report(&ada, &id, "b1", "failed").assert_refused(Code::Conflict, "Session ID is already in use");

    assert_eq!(report(&ada, &id, "b1", "closed").value(), made.value());
    assert_eq!(report(&ada, &id, "b1", "closed").value(), made.value());
    assert_eq!(open(&ada, &id), ["a1"]);
    let audit = app.deploy_key(&["admin"]).call("system/audit/listAuditEntries", json!({"resourceId": id}));
    let entries = audit.value()["items"].as_array().unwrap().clone();
    let closed: Vec<&Value> = entries.iter().filter(|entry| entry["action"] == "session.closed").collect();
    assert_eq!(closed.len(), 1);
    assert_eq!(closed[0]["metadata"], json!({"sessionId": "b1", "userId": bob_id}));
    // A demoted host is one no more.
    promote(&ada, &id, "bob", "host");
    promote(&bob, &id, "ada", "participant");
    report(&bob, &id, "b2", "connecting").value();
    report(&ada, &id, "b2", "closed").assert_refused(Code::Forbidden, "Requires host role");
}

#[test]
fn a_session_is_created_again_under_its_id_after_it_ended() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    assert_eq!(session_call(&ada, CREATE, &id, "s1").value(), &json!({"sessionId": "s1"}));
    let first = active(&ada, &id)[0]["_id"].clone();
    for ending in ["closed", "failed"] {
        report(&ada, &id, "s1", ending).value();
        assert_eq!(open(&ada, &id), [] as [&str; 0]);
        session_call(&ada, CREATE, &id, "s1").value();
        let again = &active(&ada, &id)[0];
        assert_eq!((&again["_id"], &again["state"]), (&first, &json!("connecting")));
    }
    report(&ada, &id, "s1", "connected").value();
    session_call(&ada, CREATE, &id, "s1").value();
    assert_eq!(active(&ada, &id)[0]["state"], "connected", "what is open stays as it is");
    assert_eq!(session_call(&ada, CLOSE, &id, "s1").value(), &Value::Null);
    assert_eq!(session_call(&ada, CLOSE, &id, "s1").value(), &Value::Null);
    session_call(&ada, CLOSE, &id, "s2").assert_refused(Code::NotFound, "Media session not found");
    let waiting = scheduled(&app, &ada, &[]);
    session_call(&ada, CREATE, &waiting, "s1")
        .assert_refused(Code::FailedPrecondition, "Meeting is not currently active");
}

#[test]
fn a_meeting_is_empty_from_the_moment_its_last_session_ends() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let empty_since = || only_meeting(&app).empty_since.map(convoke::Millis::get);
    report(&ada, &id, "s1", "connected").value();
    ada.call("meetings/lifecycle/leaveMeeting", json!({"meetingId": id})).value();
    let left = app.now().get();
    assert_eq!(empty_since(), Some(left));
    for ending in ["closed", "failed"] {
        app.advance(Duration::from_secs(1));
        session_call(&ada, CREATE, &id, ending).value();
        assert_eq!(empty_since(), None);
        report(&ada, &id, ending, ending).value();
        assert_eq!(empty_since(), Some(app.now().get()));
    }
    session_call(&ada, CREATE, &id, "failed").value();
    assert_eq!(empty_since(), None);
    session_call(&ada, CLOSE, &id, "failed").value();
    assert_eq!(empty_since(), Some(app.now().get()));
}

#[test]
fn open_sessions_are_listed_with_their_owners_oldest_first() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let (ada_id, bob_id) = (id_of(&ada), id_of(&bob));
    let id = meeting(&ada, &["bob"]);
    let made = app.now().get();
    let first = report_with(&ada, &id, "a1", "connecting", json!({"device": "laptop"}));
    app.advance(Duration::from_secs(1));
    report_with(&bob, &id, "b1", "connected", json!({"latency": 20})).value();
    report(&ada, &id, "a2", "connecting").value();
    report(&ada, &id, "a2", "failed").value();
    report(&ada, &id, "a1", "disconnected").value();
    let list = active(&bob, &id);
    assert_eq!(
        list[0],
        json!({
            "_id": first.value(), "_creationTime": made, "createdAt": made, "updatedAt": made + 1_000,
            "meetingId": id, "sessionId": "a1", "userId": ada_id, "state": "disconnected",
            "user": {"_id": ada_id, "displayName": "ada", "avatarUrl": ""}, "metadata": {"device": "laptop"},
        })
    );
    assert_eq!(list[1]["user"]["_id"], bob_id);
    assert_eq!((&list[1]["connectionQuality"], &list[1]["lastMetricsAt"]), (&json!("excellent"), &json!(made + 1_000)));
    assert_eq!(list.len(), 2);
}

#[test]
fn session_id_reported_concurrently_belongs_to_one_user() {
    let app = TestApp::new();
    let names = ["bob", "cleo", "dan", "eve"];
    let callers: Vec<_> = names.iter().map(|name| app.user(name)).collect();
    callers.iter().for_each(|caller| {
        id_of(caller);
    });
    let id = meeting(&app.user("ada"), &names);
    let args = json!({"meetingId": id, "sessionId": "tab", "state": "connecting"});
    let replies = app.block_on(async {
        futures_util::future::join_all(callers.iter().map(|caller| caller.call_async(super::UPDATE, args.clone())))
            .await
    });
    assert_eq!(replies.iter().filter(|reply| reply.is_success()).count(), 1);
    for refused in replies.iter().filter(|reply| !reply.is_success()) {
        refused.assert_refused(Code::Conflict, "Session ID is already in use");
    }
    assert_eq!(app.count::<MediaSession>(), 1);
}
