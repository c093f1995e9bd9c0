//! `joinMeeting`, `leaveMeeting`, and the presence rows that they write.

use convoke::Code;
use convoke::testing::{TestApp, TestCaller};
use schema::{Meeting, Participant};
use serde_json::{Value, json};

use crate::support::{assert_consistent, create, id_of, listed, meeting, scheduled, system};

fn join(caller: &TestCaller<'_>, id: &str) -> convoke::testing::Reply {
    caller.call("meetings/lifecycle/joinMeeting", json!({"meetingId": id}))
}

fn leave(caller: &TestCaller<'_>, id: &str) -> convoke::testing::Reply {
    caller.call("meetings/lifecycle/leaveMeeting", json!({"meetingId": id}))
}

fn report(caller: &TestCaller<'_>, id: &str, presence: &str, metadata: Value) -> convoke::testing::Reply {
    caller.call("probes/reportPresence", json!({"meetingId": id, "presence": presence, "metadata": metadata}))
}

fn empty_since(app: &TestApp) -> Option<i64> {
    app.read(|db| Ok(db.scan::<Meeting>().first()?)).unwrap().empty_since.map(convoke::Millis::get)
}

#[test]
fn people_come_leave_and_come_back() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    let added = app.now().get();
    let times = || {
        let entry = listed(&ada, &id, "bob").unwrap();
        (entry["presence"].as_str().unwrap().to_owned(), entry["joinedAt"].as_i64(), entry["leftAt"].as_i64())
    };
    assert_eq!(times(), ("invited".to_owned(), Some(added), None));
    app.advance(std::time::Duration::from_secs(1));
    assert_eq!(join(&bob, &id).value(), &json!({"success": true, "webrtcReady": true}));
    assert_eq!(times(), ("joined".to_owned(), Some(added + 1_000), None));
    app.advance(std::time::Duration::from_secs(1));
    join(&bob, &id).value();
    assert_eq!(times(), ("joined".to_owned(), Some(added + 1_000), None), "the same again is no new arrival");
    assert_eq!(leave(&bob, &id).value(), &json!({"success": true}));
    assert_eq!(times(), ("left".to_owned(), Some(added + 1_000), Some(added + 2_000)));
    app.advance(std::time::Duration::from_secs(1));
    leave(&bob, &id).value();
    assert_eq!(times().2, Some(added + 2_000), "he left once");
    join(&bob, &id).value();
    assert_eq!(times(), ("joined".to_owned(), Some(added + 3_000), Some(added + 2_000)), "when he left last stays");
}

#[test]
fn leaving_works_in_every_state_of_the_meeting_and_without_having_joined() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let waiting = scheduled(&app, &ada, &[]);
    leave(&ada, &waiting).value();
    assert_eq!(listed(&ada, &waiting, "ada").unwrap()["leftAt"], app.now().get());
    let over = meeting(&ada, &[]);
    ada.call("meetings/lifecycle/endMeeting", json!({"meetingId": over})).value();
    leave(&ada, &over).value();
    let off = scheduled(&app, &ada, &[]);
    ada.call("meetings/lifecycle/cancelMeeting", json!({"meetingId": off})).value();
    leave(&ada, &off).value();
    assert_eq!(leave(&app.user("eve"), &over).code(), "FORBIDDEN");
}

#[test]
fn leaving_closes_ones_own_sessions() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let (ada_id, bob_id) = (id_of(&ada), id_of(&bob));
    let id = meeting(&ada, &["bob"]);
    for (user, session) in [(&ada_id, "a1"), (&bob_id, "b1"), (&bob_id, "b2")] {
        let args = json!({"meetingId": id, "userId": user, "sessionId": session, "state": "connected"});
        system(&app).call("probes/putSession", args).value();
    }
    leave(&bob, &id).value();
    assert_eq!(listed(&ada, &id, "bob").unwrap()["webrtcSessionCount"], 0);
    assert_eq!(listed(&ada, &id, "ada").unwrap()["webrtcSessionCount"], 1);
}

#[test]
fn host_starts_a_scheduled_meeting_and_participants_wait() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = scheduled(&app, &ada, &["bob"]);
    join(&bob, &id).assert_refused(Code::FailedPrecondition, "Meeting is not currently active");
    report(&bob, &id, "joined", Value::Null).value();
    let state = |caller: &TestCaller<'_>| {
        caller.call("meetings/queries/getMeeting", json!({"meetingId": id})).value()["state"].clone()
    };
    assert_eq!(
        (state(&bob), listed(&bob, &id, "bob").unwrap()["presence"].clone()),
        (json!("scheduled"), json!("joined"))
    );
    join(&ada, &id).value();
    assert_eq!(state(&bob), "active");
    join(&bob, &id).value();
    let other = scheduled(&app, &ada, &[]);
    report(&ada, &other, "joined", Value::Null).value();
    let meeting = ada.call("meetings/queries/getMeeting", json!({"meetingId": other}));
    assert_eq!((&meeting.value()["state"], &meeting.value()["startedAt"]), (&json!("active"), &json!(app.now().get())));
    assert_consistent(&app);
}

#[test]
fn full_room_admits_hosts_and_returning_participants() {
    let app = TestApp::new();
    let callers: Vec<_> = ["ada", "bob", "cleo"].iter().map(|name| app.user(name)).collect();
    let [ada, bob, cleo] = &callers[..] else { panic!("three callers") };
    id_of(bob);
    id_of(cleo);
    let id = create(ada, json!({"maxParticipants": 1, "participantEmails": crate::support::emails(&["bob", "cleo"])}));
    join(bob, &id).value();
    join(cleo, &id).assert_refused(Code::FailedPrecondition, "Meeting is full");
    report(cleo, &id, "joined", Value::Null).assert_refused(Code::FailedPrecondition, "Meeting is full");
    join(bob, &id).value();
    leave(bob, &id).value();
    join(cleo, &id).value();
    join(bob, &id).value();
    join(ada, &id).value();
}

#[test]
fn metadata_replaces_the_old_where_it_is_given() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let metadata = || {
        let row = app.read(|db| Ok(db.scan::<Participant>().first()?)).unwrap();
        serde_json::to_value(&row.presence_metadata).unwrap()
    };
    report(&ada, &id, "joined", json!({"device": "laptop", "muted": true})).value();
    report(&ada, &id, "joined", Value::Null).value();
    assert_eq!(metadata(), json!({"device": "laptop", "muted": true}));
    report(&ada, &id, "left", json!({"reason": "tired"})).value();
    assert_eq!(metadata(), json!({"reason": "tired"}));
    report(&ada, &id, "invited", Value::Null).code();
    assert_eq!(report(&ada, &id, "invited", Value::Null).field(), Some("presence"));
}

#[test]
fn the_last_of_many_updates_wins_and_leaves_one_row() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    app.block_on(async {
        let calls = (0..200).map(|i| {
            let presence = if i % 2 == 0 { "joined" } else { "left" };
            ada.call_async(
                "probes/reportPresence",
                json!({"meetingId": id, "presence": presence, "metadata": {"i": i}}),
            )
        });
        assert!(futures_util::future::join_all(calls).await.iter().all(convoke::testing::Reply::is_success));
    });
    report(&ada, &id, "joined", Value::Null).value();
    assert_eq!(app.count::<Participant>(), 1);
    assert_eq!(empty_since(&app), None);
    assert_consistent(&app);
}

#[test]
fn a_meeting_knows_since_when_it_is_empty() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let bob_id = id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    let session = |state: &str| {
        let args = json!({"meetingId": id, "userId": bob_id, "sessionId": "s", "state": state});
        system(&app).call("probes/putSession", args).value();
    };
    leave(&ada, &id).value();
    session("connecting");
    session("closed");
    assert_eq!(empty_since(&app), None, "nobody ever joined it");
    join(&bob, &id).value();
    app.advance(std::time::Duration::from_secs(1));
    leave(&bob, &id).value();
    let empty = app.now().get();
    assert_eq!(empty_since(&app), Some(empty));
    app.advance(std::time::Duration::from_secs(1));
    leave(&bob, &id).value();
    assert_eq!(empty_since(&app), Some(empty), "it has been so all the time");
    session("connecting");
    assert_eq!(empty_since(&app), None, "somebody connects");
    session("failed");
    assert_eq!(empty_since(&app), Some(empty + 1_000));
    join(&ada, &id).value();
    assert_eq!(empty_since(&app), None);
    ada.call("meetings/lifecycle/updateParticipantRole", json!({"meetingId": id, "userId": "bob", "newRole": "host"}))
        .value();
    let removed = json!({"meetingId": id, "userId": "ada"});
    bob.call("meetings/lifecycle/removeParticipant", removed).value();
    assert_eq!(empty_since(&app), Some(empty + 1_000), "the removed one was the last");
}
