//! `sendSignal`, `listSignals`, `acknowledgeSignals`.

use std::time::Duration;

use convoke::Code;
use convoke::testing::{Reply, TestApp, TestCaller};
use schema::Signal;
use serde_json::{Value, json};

use super::{end, remove, report};
use crate::rights::Call;
use crate::support::{id_of, meeting, with};

inventory::submit!(Call::new("meetings/webrtc/signaling/acknowledgeSignals", |ids| json!({"signalIds": [ids.signal]})));

const SEND: &str = "meetings/webrtc/signaling/sendSignal";

fn send(caller: &TestCaller<'_>, meeting: &str, session: &str, changes: Value) -> Reply {
    let args = json!({"meetingId": meeting, "sessionId": session, "kind": "ice", "payload": {"candidate": "c"}});
    caller.call(SEND, with(args, changes))
}

fn list(caller: &TestCaller<'_>, meeting: &str) -> Vec<Value> {
    list_with(caller, json!({ "meetingId": meeting }))
}

fn list_with(caller: &TestCaller<'_>, args: Value) -> Vec<Value> {
    caller.call("meetings/webrtc/signaling/listSignals", args).value().as_array().unwrap().clone()
}

fn acknowledge(caller: &TestCaller<'_>, signals: &[Value]) -> Value {
    let ids: Vec<&Value> = signals.iter().map(|signal| &signal["_id"]).collect();
    caller.call("meetings/webrtc/signaling/acknowledgeSignals", json!({"signalIds": ids})).value().clone()
}

/// A meeting of ada's with bob and cleo, all connected.
fn three(app: &TestApp) -> (String, [TestCaller<'_>; 3]) {
    let callers = [app.user("ada"), app.user("bob"), app.user("cleo")];
    callers.iter().for_each(|caller| {
        id_of(caller);
    });
    let id = meeting(&callers[0], &["bob", "cleo"]);
    for (caller, session) in callers.iter().zip(["a1", "b1", "c1"]) {
        report(caller, &id, session, "connected").value();
    }
    (id, callers)
}

#[test]
fn a_signal_lies_ready_for_its_recipient_alone_until_it_is_acknowledged() {
    let app = TestApp::new();
    let (id, [ada, bob, cleo]) = three(&app);
    let (ada_id, bob_id) = (id_of(&ada), id_of(&bob));
    let offer = json!({"type": "offer", "sdp": "v=0\r\n", "deep": {"er": [1, null]}});
    let sent = send(&ada, &id, "a1", json!({"toUserId": bob_id, "kind": "sdp", "payload": offer}));
    assert_eq!(sent.value(), &json!({"delivered": 1}));
    send(&ada, &id, "a1", json!({"toUserId": "bob", "payload": {"n": 2}})).value();

    let signals = list(&bob, &id);
    assert_eq!(signals.len(), 2);
    let made = app.now().get();
    assert_eq!(
        signals[0],
        json!({
            "_id": signals[0]["_id"], "_creationTime": made, "createdAt": made, "meetingId": id, "fromUserId": ada_id,
            "fromSessionId": "a1", "kind": "sdp", "payload": offer,
        })
    );
    assert_eq!((&signals[1]["kind"], &signals[1]["payload"]), (&json!("ice"), &json!({"n": 2})));
    assert_eq!((list(&ada, &id).len(), list(&cleo, &id).len()), (0, 0));
    assert_eq!(list(&bob, &id), signals, "reading takes nothing away");

    assert_eq!(acknowledge(&cleo, &signals), json!({"acknowledged": 0}), "they are not for cleo");
    assert_eq!(acknowledge(&bob, &[signals[0].clone(), signals[0].clone()]), json!({"acknowledged": 1}));
    assert_eq!(list(&bob, &id), signals[1..]);
    assert_eq!(acknowledge(&bob, &signals), json!({"acknowledged": 1}));
    assert_eq!(acknowledge(&bob, &[]), json!({"acknowledged": 0}));
    assert_eq!(app.count::<Signal>(), 0);
}

#[test]
fn signal_without_a_recipient_reaches_all_other_joined_participants() {
    let app = TestApp::new();
    let (id, [ada, bob, cleo]) = three(&app);
    assert_eq!(send(&ada, &id, "a1", json!({})).value(), &json!({"delivered": 2}));
    cleo.call("meetings/lifecycle/leaveMeeting", json!({"meetingId": id})).value();
    assert_eq!(send(&ada, &id, "a1", json!({})).value(), &json!({"delivered": 1}));
    assert_eq!((list(&ada, &id).len(), list(&bob, &id).len(), list(&cleo, &id).len()), (0, 2, 1));
    bob.call("meetings/lifecycle/leaveMeeting", json!({"meetingId": id})).value();
    assert_eq!(send(&ada, &id, "a1", json!({})).value(), &json!({"delivered": 0}));
}

#[test]
fn signals_arrive_in_order_up_to_the_requested_limit() {
    let app = TestApp::new();
    let (id, [ada, bob, _]) = three(&app);
    for number in 0..30 {
        send(&ada, &id, "a1", json!({"toUserId": "bob", "payload": {"n": number}})).value();
    }
    let numbers = |signals: Vec<Value>| -> Vec<i64> {
        signals.iter().map(|signal| signal["payload"]["n"].as_i64().unwrap()).collect()
    };
    assert_eq!(numbers(list(&bob, &id)), (0..30).collect::<Vec<_>>());
    assert_eq!(numbers(list_with(&bob, json!({"meetingId": id, "limit": 3}))), [0, 1, 2]);
    for limit in [0, 201] {
        let refused = bob.call("meetings/webrtc/signaling/listSignals", json!({"meetingId": id, "limit": limit}));
        assert_eq!((refused.code(), refused.field()), ("INVALID_ARGUMENT", Some("limit")));
    }
}

#[test]
fn a_list_ends_before_it_outgrows_an_answer() {
    let app = TestApp::new();
    let (id, [ada, bob, _]) = three(&app);
    let large = json!({"text": "x".repeat(65_000)});
    for _ in 0..100 {
        send(&ada, &id, "a1", json!({"toUserId": "bob", "payload": large})).value();
    }
    let first = list_with(&bob, json!({"meetingId": id, "limit": 200}));
    assert!((50..100).contains(&first.len()), "4 MiB are {} signals", first.len());
    acknowledge(&bob, &first);
    assert_eq!(list(&bob, &id).len(), 100 - first.len());
}

#[test]
fn a_signal_comes_from_an_open_session_of_the_senders_own() {
    let app = TestApp::new();
    let (id, [ada, bob, _]) = three(&app);
    for session in ["b1", "unknown"] {
        send(&ada, &id, session, json!({})).assert_refused(Code::NotFound, "Media session not found");
    }
    for ending in ["failed", "closed"] {
        report(&ada, &id, "a1", ending).value();
        send(&ada, &id, "a1", json!({})).assert_refused(Code::FailedPrecondition, "Session is closed");
    }
    end(&ada, &id);
    send(&bob, &id, "b1", json!({})).assert_refused(Code::FailedPrecondition, "Session is closed");
}

#[test]
fn a_recipient_takes_part_in_the_meeting() {
    let app = TestApp::new();
    let (id, [ada, _, _]) = three(&app);
    let eve = id_of(&app.user("eve"));
    for who in [eve.as_str(), "nobody"] {
        send(&ada, &id, "a1", json!({ "toUserId": who }))
            .assert_refused(Code::NotFound, "Participant not found in meeting");
    }
    remove(&ada, &id, "cleo");
    send(&ada, &id, "a1", json!({"toUserId": "cleo"}))
        .assert_refused(Code::NotFound, "Participant not found in meeting");
    // A participant who joins later finds it.
    let dan = app.user("dan");
    id_of(&dan);
    ada.call("meetings/lifecycle/addParticipant", json!({"meetingId": id, "userId": "dan"})).value();
    send(&ada, &id, "a1", json!({"toUserId": "dan"})).value();
    assert_eq!(list(&dan, &id).len(), 1);
}

#[test]
fn signal_payload_is_an_object_of_at_most_64_kib() {
    let app = TestApp::new();
    let (id, [ada, _, _]) = three(&app);
    // {"a":"…"} is 8 bytes around the text.
    send(&ada, &id, "a1", json!({"payload": {"a": "x".repeat(65_528)}})).value();
    for (changes, field) in [
        (json!({"payload": {"a": "x".repeat(65_529)}}), "payload"),
        (json!({"payload": ["a"]}), "payload"),
        (json!({"kind": "bye"}), "kind"),
    ] {
        let refused = send(&ada, &id, "a1", changes);
        assert_eq!((refused.code(), refused.field()), ("INVALID_ARGUMENT", Some(field)));
    }
}

#[test]
fn recipient_without_acknowledgements_gets_no_more_signals() {
    let app = TestApp::with(|options| {
        options.settings = "[quotas]\nunacknowledged_signals_per_recipient = 3\n".parse().unwrap();
    });
    let (id, [ada, bob, cleo]) = three(&app);
    for _ in 0..3 {
        send(&ada, &id, "a1", json!({"toUserId": "bob"})).value();
    }
    let full = "Too many unacknowledged signals (max 3)";
    send(&ada, &id, "a1", json!({"toUserId": "bob"})).assert_refused(Code::FailedPrecondition, full);
    // It is one inbox for all meetings.
    let other = meeting(&cleo, &["bob"]);
    report(&cleo, &other, "c1", "connected").value();
    send(&cleo, &other, "c1", json!({"toUserId": "bob"})).assert_refused(Code::FailedPrecondition, full);
    // Others are reached all the same.
    assert_eq!(send(&ada, &id, "a1", json!({})).value(), &json!({"delivered": 1}));
    assert_eq!(list(&cleo, &id).len(), 1);
    acknowledge(&bob, &list(&bob, &id)[..1]);
    send(&ada, &id, "a1", json!({"toUserId": "bob"})).value();
    cleo.call("meetings/lifecycle/leaveMeeting", json!({"meetingId": id})).value();
    send(&ada, &id, "a1", json!({})).assert_refused(Code::FailedPrecondition, full);
}

#[test]
fn a_broadcast_has_a_bounded_number_of_recipients() {
    let app = TestApp::with(|options| options.settings = "[quotas]\nbroadcast_recipients = 2\n".parse().unwrap());
    let (id, [ada, _, _]) = three(&app);
    assert_eq!(send(&ada, &id, "a1", json!({})).value(), &json!({"delivered": 2}));
    let dan = app.user("dan");
    id_of(&dan);
    ada.call("meetings/lifecycle/addParticipant", json!({"meetingId": id, "userId": "dan"})).value();
    assert_eq!(send(&ada, &id, "a1", json!({})).value(), &json!({"delivered": 2}), "dan has not come");
    report(&dan, &id, "d1", "connected").value();
    send(&ada, &id, "a1", json!({})).assert_refused(Code::FailedPrecondition, "Too many recipients (max 2)");
    send(&ada, &id, "a1", json!({"toUserId": "dan"})).value();
}

#[test]
fn signals_are_gone_after_a_day() {
    let app = TestApp::new();
    let (id, [ada, bob, _]) = three(&app);
    send(&ada, &id, "a1", json!({"toUserId": "bob"})).value();
    // What is due every minute in between is of no interest here.
    let jump = |hours: u64| {
        app.clock().advance(Duration::from_secs(hours * 3_600));
        app.advance(Duration::from_secs(60));
    };
    jump(23);
    assert_eq!(list(&bob, &id).len(), 1);
    jump(26);
    assert_eq!(list(&bob, &id).len(), 0);
}
