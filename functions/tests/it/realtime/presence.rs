//! `batchUpdatePresence`.

use std::time::Duration;

use convoke::Code;
use convoke::testing::{Reply, TestApp, TestCaller};
use schema::{Meeting, Participant, Presence};
use serde_json::{Value, json};

use crate::support::{assert_consistent, cases, create, id_of, listed, meeting, scheduled, with};

const BATCH: &str = "realtime/batchedOperations/batchUpdatePresence";

fn send(caller: &TestCaller<'_>, meeting: &str, presence: &str, changes: Value) -> Reply {
    caller.call(BATCH, with(json!({"meetingId": meeting, "presence": presence}), changes))
}

fn row(app: &TestApp, name: &str) -> convoke::Doc<Participant> {
    let subject = |id| app.read(|db| Ok(db.get::<schema::User>(id)?)).unwrap().subject.clone();
    let rows = app.read(|db| Ok(db.scan::<Participant>().take(100)?));
    rows.into_iter().find(|row| subject(row.user_id) == name).unwrap()
}

#[test]
fn presence_update_returns_its_batch_size() {
    let app = TestApp::new();
    let callers = ["ada", "bob", "cleo"].map(|name| app.user(name));
    callers.iter().for_each(|caller| {
        id_of(caller);
    });
    let id = meeting(&callers[0], &["bob", "cleo"]);
    app.advance(Duration::from_millis(1_500));
    let size = |caller: &TestCaller<'_>| send(caller, &id, "joined", json!({})).value().clone();
    assert_eq!(size(&callers[0]), json!({"queued": true, "batchSize": 1}), "the invitation was before");
    assert_eq!(size(&callers[0])["batchSize"], 1);
    assert_eq!(size(&callers[1])["batchSize"], 2);
    app.advance(Duration::from_millis(1_000));
    assert_eq!(size(&callers[2])["batchSize"], 3, "a second ago is within the last second");
    app.advance(Duration::from_millis(1));
    assert_eq!(size(&callers[1])["batchSize"], 2);
}

#[test]
fn a_thousand_flips_end_in_the_last_state() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    for last in ["joined", "left"] {
        let storm = (0..cases(999)).map(|number| {
            let presence = if number % 2 == 0 { "joined" } else { "left" };
            let metadata = json!({ "number": number });
            bob.call_async(BATCH, json!({"meetingId": id, "presence": presence, "metadata": metadata}))
        });
        let replies = app.block_on(futures_util::future::join_all(storm));
        assert!(replies.iter().all(|reply| reply.value()["batchSize"] == 2), "ada was added in this second too");
        send(&bob, &id, last, json!({"metadata": {"last": true}})).value();
        let row = row(&app, "bob");
        assert_eq!(row.presence.as_str(), last);
        assert_eq!(json!(row.presence_metadata), json!({"last": true}));
        assert_eq!(app.count::<Participant>(), 2);
    }
    let entry = listed(&ada, &id, "bob").unwrap();
    assert_eq!((&entry["presence"], &entry["leftAt"]), (&json!("left"), &json!(app.now().get())));
    assert_consistent(&app);
}

#[test]
fn presence_with_a_lease_ends_unless_it_is_renewed() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    send(&ada, &id, "joined", json!({})).value();
    app.advance(Duration::from_secs(2));
    let leased = || send(&bob, &id, "joined", json!({"lease": true})).value()["batchSize"].clone();
    let presence = || row(&app, "bob").presence.as_str().to_owned();
    leased();
    let written = row(&app, "bob").presence_at;
    for _ in 0..9 {
        app.advance(Duration::from_secs(20));
        assert_eq!(leased(), 1);
        app.run_due();
        assert_eq!(presence(), "joined");
    }
    assert_eq!(row(&app, "bob").presence_at, written, "a renewal does not touch what live queries read");
    app.advance(Duration::from_secs(69));
    app.run_due();
    assert_eq!(presence(), "joined", "a renewal may be on its way for ten seconds");
    app.advance(Duration::from_secs(1));
    app.run_due();
    assert_eq!(presence(), "left");
    assert_eq!(listed(&ada, &id, "bob").unwrap()["presence"], "left", "the participant stays listed");
    assert_eq!(row(&app, "ada").presence.as_str(), "joined", "a client that asks for no lease has none");
    assert_consistent(&app);

    // Renewing after the end joins again; leaving, and joining without a lease, end it.
    leased();
    assert_eq!(presence(), "joined");
    send(&bob, &id, "left", json!({})).value();
    send(&bob, &id, "joined", json!({})).value();
    app.advance(Duration::from_secs(120));
    app.run_due();
    assert_eq!(presence(), "joined");
    leased();
    send(&bob, &id, "joined", json!({"lease": false})).value();
    app.advance(Duration::from_secs(120));
    app.run_due();
    assert_eq!(presence(), "joined");
}

#[test]
fn lease_that_could_not_be_renewed_while_the_server_was_down_lasts_once_more() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    send(&ada, &id, "joined", json!({"lease": true})).value();
    // The clock moves without running jobs.
    app.clock().set(app.now() + Duration::from_secs(300));
    app.run_due();
    assert_eq!(row(&app, "ada").presence.as_str(), "joined");
    app.advance(Duration::from_secs(70));
    app.run_due();
    assert_eq!(row(&app, "ada").presence.as_str(), "left");
}

#[test]
fn metadata_stays_until_other_metadata_comes() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let metadata = || json!(row(&app, "ada").presence_metadata);
    send(&ada, &id, "joined", json!({"metadata": {"status": "busy", "typing": true}})).value();
    send(&ada, &id, "joined", json!({})).value();
    assert_eq!(metadata(), json!({"status": "busy", "typing": true}));
    send(&ada, &id, "left", json!({"metadata": {"status": "away"}})).value();
    assert_eq!(metadata(), json!({"status": "away"}), "it replaces, and does not add");
}

#[test]
fn a_hosts_arrival_starts_a_scheduled_meeting_and_a_participants_waits() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = scheduled(&app, &ada, &["bob"]);
    let state = || app.read(|db| Ok(db.scan::<Meeting>().first()?)).unwrap().state.as_str();
    send(&bob, &id, "joined", json!({})).value();
    assert_eq!((state(), row(&app, "bob").presence), ("scheduled", Presence::Joined));
    send(&ada, &id, "left", json!({})).value();
    assert_eq!(state(), "scheduled");
    send(&ada, &id, "joined", json!({})).value();
    assert_eq!(state(), "active");
}

#[test]
fn leaving_closes_the_callers_sessions() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let args = json!({"meetingId": id, "sessionId": "s1", "state": "connected"});
    ada.call("meetings/webrtc/index/updateSessionState", args).value();
    send(&ada, &id, "left", json!({})).value();
    assert_eq!(listed(&ada, &id, "ada").unwrap()["webrtcSessionCount"], 0);
}

#[test]
fn joining_needs_a_meeting_that_is_not_over_and_leaving_does_not() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let over = meeting(&ada, &[]);
    ada.call("meetings/lifecycle/endMeeting", json!({"meetingId": over})).value();
    let off = scheduled(&app, &ada, &[]);
    ada.call("meetings/lifecycle/cancelMeeting", json!({"meetingId": off})).value();
    for id in [over, off] {
        send(&ada, &id, "joined", json!({}))
            .assert_refused(Code::FailedPrecondition, "Meeting is not currently active");
        send(&ada, &id, "left", json!({})).value();
    }
}

#[test]
fn a_full_meeting_takes_no_newcomers() {
    let app = TestApp::new();
    let (ada, bob, cleo) = (app.user("ada"), app.user("bob"), app.user("cleo"));
    for user in [&bob, &cleo] {
        id_of(user);
    }
    let id = create(&ada, json!({"maxParticipants": 1, "participantEmails": ["bob@example.com", "cleo@example.com"]}));
    send(&bob, &id, "joined", json!({})).value();
    send(&cleo, &id, "joined", json!({})).assert_refused(Code::FailedPrecondition, "Meeting is full");
    send(&ada, &id, "joined", json!({})).value();
}

#[test]
fn a_client_sends_only_joined_and_left() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    for presence in ["invited", "away", ""] {
        let refused = send(&ada, &id, presence, json!({}));
        assert_eq!((refused.code(), refused.field()), ("INVALID_ARGUMENT", Some("presence")));
        assert!(refused.message().starts_with("presence: must be one of joined, left"), "{}", refused.message());
    }
    let refused = send(&ada, &id, "joined", json!({"metadata": {"a": [1]}}));
    assert_eq!((refused.code(), refused.field()), ("INVALID_ARGUMENT", Some("metadata.a")));
}

#[test]
fn participants_read_presence_metadata_of_other_participants() {
    let app = TestApp::new();
    let (ada, bob, eve) = (app.user("ada"), app.user("bob"), app.user("eve"));
    let (ada_id, bob_id) = (id_of(&ada), id_of(&bob));
    let id = meeting(&ada, &["bob"]);
    let added = app.now().get();
    let list = |caller: &TestCaller<'_>| caller.call("meetings/queries/listPresence", json!({"meetingId": id}));
    let here = |presence: &str, metadata: Value| {
        let args = json!({"meetingId": id, "presence": presence, "metadata": metadata});
        bob.call("realtime/batchedOperations/batchUpdatePresence", args).value();
    };
    let shown = |changes: Value| {
        let of_bob = with(json!({"userId": bob_id, "presence": "invited", "updatedAt": added}), changes);
        assert_eq!(list(&ada).value(), &json!([{"userId": ada_id, "presence": "invited", "updatedAt": added}, of_bob]));
    };
    shown(json!({}));
    app.clock().advance(Duration::from_secs(1));
    here("joined", json!({"handRaised": true}));
    shown(json!({"presence": "joined", "metadata": {"handRaised": true}, "updatedAt": added + 1_000}));
    app.clock().advance(Duration::from_secs(1));
    here("joined", Value::Null);
    shown(json!({"presence": "joined", "metadata": {"handRaised": true}, "updatedAt": added + 2_000}));
    here("joined", json!({"handRaised": false}));
    shown(json!({"presence": "joined", "metadata": {"handRaised": false}, "updatedAt": added + 2_000}));
    bob.call("meetings/lifecycle/leaveMeeting", json!({"meetingId": id})).value();
    assert_eq!(list(&bob).value()[1]["presence"], "left", "one who has left still reads it");
    list(&eve).assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
}

#[test]
fn no_participant_can_send_a_key_that_the_clients_of_others_cannot_read() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let session = with(json!({"meetingId": id, "sessionId": "s1", "state": "connected"}), json!({}));
    for (key, value) in [
        ("größe", json!(1)),
        ("$x", json!("1")),
        ("$bytes", json!("!")),
        ("$map", json!(true)),
        ("$integer", json!("AQAAAAAAIAA=")),
        (&*"k".repeat(2_000), json!(1)),
    ] {
        let shown = |within: &str| format!("{within}.{}", &key[..key.len().min(64)]);
        let metadata = json!({"metadata": {key: value}});
        let refused = send(&ada, &id, "joined", metadata.clone());
        assert_eq!(refused.code(), "INVALID_ARGUMENT", "{key}");
        assert!(refused.field().unwrap().starts_with(&shown("metadata")), "{:?}", refused.field());
        let refused = ada.call("meetings/webrtc/index/updateSessionState", with(session.clone(), metadata));
        assert!(refused.field().unwrap().starts_with(&shown("metadata")), "{:?}", refused.field());
        let signal = json!({
            "meetingId": id, "sessionId": "s1", "toUserId": id_of(&ada), "kind": "ice", "payload": {"a": [{key: value}]},
        });
        let refused = ada.call("meetings/webrtc/signaling/sendSignal", signal);
        assert!(refused.field().unwrap().starts_with(&shown("payload.a[0]")), "{:?}", refused.field());
    }
    assert_eq!(row(&app, "ada").presence_metadata, None);
}

#[test]
fn metadata_stored_before_the_key_rule_is_readable() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    for caller in [&ada, &bob] {
        let session = json!({"meetingId": id, "sessionId": caller_session(caller)});
        caller.call("meetings/webrtc/signaling/createSession", session).value();
    }
    let signal = json!({
        "meetingId": id, "sessionId": caller_session(&ada), "toUserId": id_of(&bob), "kind": "ice", "payload": {},
    });
    ada.call("meetings/webrtc/signaling/sendSignal", signal).value();
    let stored = r#"{"größe":1,"$integer":"AQAAAAAAIAA=","muted":true,"n":9007199254740993}"#;
    app.caller(convoke::Caller::System).call("probes/putFormerFreeForm", json!({"json": stored})).value();

    let kept = json!({"muted": true, "n": 9_007_199_254_740_992.0});
    for (path, member) in [
        ("meetings/queries/listPresence", "metadata"),
        ("meetings/webrtc/signaling/getActiveSessions", "metadata"),
        ("meetings/webrtc/signaling/listSignals", "payload"),
    ] {
        let reply = bob.call(path, json!({"meetingId": id}));
        let rows = reply.value().as_array().unwrap();
        assert!(!rows.is_empty(), "{path}");
        assert!(rows.iter().all(|row| row[member] == kept), "{path}: {rows:?}");
    }
    send(&bob, &id, "joined", json!({"metadata": {"muted": false}})).value();
}

fn caller_session(caller: &TestCaller<'_>) -> String {
    format!("session-{}", id_of(caller))
}
