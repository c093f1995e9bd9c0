//! `validateSubscription` and `terminateSubscription`.

use std::time::Duration;

use convoke::testing::{Reply, TestApp, TestCaller};
use convoke::{Code, Identity};
use serde_json::{Value, json};

use crate::support::{claims, id_of, is_embedded, meeting, scheduled, with};

const VALIDATE: &str = "realtime/subscriptions/validateSubscription";
const TERMINATE: &str = "realtime/subscriptions/terminateSubscription";
const METRICS: &str = "monitoring/performanceQueries/getSubscriptionMetrics";

fn args(app: &TestApp, meeting: &str, kind: &str, id: &str) -> Value {
    json!({"lastValidated": app.now().get(), "resourceId": meeting, "resourceType": kind, "subscriptionId": id})
}

fn validate(app: &TestApp, caller: &TestCaller<'_>, meeting: &str, kind: &str, id: &str) -> Value {
    caller.call(VALIDATE, args(app, meeting, kind, id)).value().clone()
}

fn not_valid(reason: &str) -> Value {
    json!({"valid": false, "permissions": [], "shouldReconnect": false, "reason": reason})
}

fn terminate(caller: &TestCaller<'_>, id: &str) -> Reply {
    caller.call(TERMINATE, json!({"subscriptionId": id}))
}

/// The caller's subscriptions: id, updates, errors.
fn held(caller: &TestCaller<'_>) -> Vec<(String, i64, i64)> {
    let metrics = caller.call(METRICS, json!({}));
    let figures = |entry: &Value| {
        let id = entry["subscriptionId"].as_str().unwrap().to_owned();
        (id, entry["updateCount"].as_i64().unwrap(), entry["errors"].as_i64().unwrap())
    };
    metrics.value()["subscriptions"].as_array().unwrap().iter().map(figures).collect()
}

#[test]
fn permissions_follow_the_kind_and_the_role() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    let until = app.now().get() + 300_000;
    let notes = (json!(["read", "write", "manage", "export"]), json!(["read", "write"]));
    let transcripts = (json!(["read", "export", "manage"]), json!(["read"]));
    let people = (json!(["read", "invite", "remove", "manage"]), json!(["read"]));
    let read = (json!(["read"]), json!(["read"]));
    let webrtc = (json!(["read", "write", "manage"]), json!(["read", "write"]));
    for (kind, (host, participant)) in [
        ("meetingNotes", &notes),
        ("notes", &notes),
        ("transcripts", &transcripts),
        ("transcript", &transcripts),
        ("meetingParticipants", &people),
        ("participants", &people),
        ("meeting", &people),
        ("prompts", &read),
        ("insights", &read),
        ("webrtc", &webrtc),
    ] {
        for (caller, permissions) in [(&ada, host), (&bob, participant)] {
            let name = if std::ptr::eq(caller, &ada) { "ada" } else { "bob" };
            let expected =
                json!({"valid": true, "permissions": permissions, "shouldReconnect": false, "validUntil": until});
            assert_eq!(validate(&app, caller, &id, kind, &format!("{name}-{kind}")), expected, "{kind}");
        }
    }
}

#[test]
fn lack_of_access_is_an_answer() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &[]);
    let stranger = not_valid("Access denied: Not a meeting participant");
    for resource in [id.as_str(), "meeting_00000000000000000000000000", "no id at all", &id_of(&ada)] {
        assert_eq!(validate(&app, &bob, resource, "notes", "s"), stranger, "{resource}");
    }
    for kind in ["user", "Notes", "x"] {
        assert_eq!(validate(&app, &ada, &id, kind, "s"), not_valid("Unknown resource type"));
    }
    assert_eq!(held(&bob), []);
    app.nobody()
        .call(VALIDATE, args(&app, &id, "notes", "s"))
        .assert_refused(Code::Unauthenticated, "Authentication required");
    app.deploy_key(&["admin"])
        .call(VALIDATE, args(&app, &id, "notes", "s"))
        .assert_refused(Code::Forbidden, "Deploy key must act as a user");
}

#[test]
fn transcripts_and_media_are_followed_only_while_the_meeting_goes_on() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let waiting = scheduled(&app, &ada, &[]);
    let over = meeting(&ada, &[]);
    ada.call("meetings/lifecycle/endMeeting", json!({"meetingId": over})).value();
    for id in [&waiting, &over] {
        for kind in ["transcripts", "transcript", "webrtc"] {
            assert_eq!(validate(&app, &ada, id, kind, "s"), not_valid("Meeting is not currently active"), "{kind}");
        }
        for kind in ["notes", "participants", "prompts", "insights"] {
            assert_eq!(validate(&app, &ada, id, kind, kind)["valid"], true, "{kind}");
        }
    }
}

#[test]
fn the_form_is_checked() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let right = args(&app, "m", "notes", "s");
    for (changes, field) in [
        (json!({"subscriptionId": "a b"}), "subscriptionId"),
        (json!({"subscriptionId": ""}), "subscriptionId"),
        (json!({"resourceId": ""}), "resourceId"),
        (json!({"resourceId": "x".repeat(129)}), "resourceId"),
        (json!({"resourceType": "x".repeat(65)}), "resourceType"),
        (json!({"lastValidated": -1}), "lastValidated"),
        (json!({"lastValidated": 1.5}), "lastValidated"),
        (json!({"lastValidated": null}), "lastValidated"),
    ] {
        let refused = ada.call(VALIDATE, with(right.clone(), changes));
        assert_eq!((refused.code(), refused.field()), ("INVALID_ARGUMENT", Some(field)));
    }
}

#[test]
fn client_must_reconnect_after_absence_or_changed_rights() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    let reconnect = |last: i64| {
        let args = with(args(&app, &id, "notes", "s"), json!({ "lastValidated": last }));
        bob.call(VALIDATE, args).value()["shouldReconnect"].clone()
    };
    let now = app.now().get();
    assert_eq!(reconnect(now - 600_000), false);
    assert_eq!(reconnect(now - 600_001), true);
    assert_eq!(reconnect(0), true);
    assert_eq!(reconnect(now + 5_000), false, "clocks differ");

    let role = |role: &str| {
        let args = json!({"meetingId": id, "userId": "bob", "newRole": role});
        ada.call("meetings/lifecycle/updateParticipantRole", args).value();
    };
    role("host");
    let raised = validate(&app, &bob, &id, "notes", "s");
    assert_eq!((&raised["permissions"][2], &raised["shouldReconnect"]), (&json!("manage"), &json!(true)));
    assert_eq!(reconnect(now), false, "once");
    role("participant");
    assert_eq!(reconnect(now), true);
    role("host");
    assert_eq!(validate(&app, &bob, &id, "webrtc", "s")["shouldReconnect"], false, "another thing has no before");
}

#[test]
fn a_validation_holds_five_minutes_and_no_longer_than_the_token() {
    let app = TestApp::new();
    let now_s = app.now().get() / 1_000;
    let expiring = |in_s: i64| app.identity(Identity { expires_at: Some(now_s + in_s), ..claims("ada") });
    let id = meeting(&expiring(60), &[]);
    let until = |in_s: i64| validate(&app, &expiring(in_s), &id, "notes", "s")["validUntil"].as_i64().unwrap();
    assert_eq!(until(60), (now_s + 60) * 1_000);
    assert_eq!(until(299), (now_s + 299) * 1_000);
    assert_eq!(until(3_600), app.now().get() + 300_000);
}

#[test]
fn a_lease_ends_ten_minutes_after_the_last_validation() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    validate(&app, &ada, &id, "notes", "s");
    app.clock().advance(Duration::from_secs(599));
    validate(&app, &ada, &id, "notes", "s");
    app.clock().advance(Duration::from_secs(599));
    assert_eq!(held(&ada), [("s".to_owned(), 2, 0)]);
    app.clock().advance(Duration::from_secs(1));
    assert_eq!(held(&ada), []);
    validate(&app, &ada, &id, "notes", "s");
    assert_eq!(held(&ada), [("s".to_owned(), 1, 0)]);
}

#[test]
fn an_id_belongs_to_one_user_at_a_time() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    validate(&app, &ada, &id, "notes", "s");
    assert_eq!(validate(&app, &bob, &id, "notes", "s"), not_valid("Subscription belongs to another user"));
    assert_eq!((held(&ada), held(&bob)), (vec![("s".to_owned(), 1, 0)], vec![]));
    terminate(&bob, "s").value();
    assert_eq!(held(&ada), [("s".to_owned(), 1, 0)], "bob ends nothing of ada's");
    assert_eq!(terminate(&ada, "s").value(), &Value::Null);
    assert_eq!(terminate(&ada, "s").value(), &Value::Null);
    assert_eq!(held(&ada), []);
    assert_eq!(validate(&app, &bob, &id, "notes", "s")["valid"], true);
    app.nobody()
        .call(TERMINATE, json!({"subscriptionId": "s"}))
        .assert_refused(Code::Unauthenticated, "Authentication required");
}

#[test]
fn naming_another_thing_rebinds_the_lease_and_restarts_its_figures() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let (one, other) = (meeting(&ada, &[]), meeting(&ada, &[]));
    for _ in 0..3 {
        validate(&app, &ada, &one, "notes", "s");
    }
    validate(&app, &ada, &one, "meetingNotes", "s");
    assert_eq!(held(&ada), [("s".to_owned(), 4, 0)], "another name of the same thing");
    app.clock().advance(Duration::from_secs(5));
    validate(&app, &ada, &other, "notes", "s");
    assert_eq!(held(&ada), [("s".to_owned(), 1, 0)]);
    let metrics = ada.call(METRICS, json!({}));
    assert_eq!(metrics.value()["subscriptions"][0]["durationMs"], 0);
    validate(&app, &ada, &other, "webrtc", "s");
    assert_eq!(held(&ada), [("s".to_owned(), 1, 0)]);
}

#[test]
fn invalid_subscription_is_counted_and_not_renewed() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    validate(&app, &ada, &id, "webrtc", "s");
    ada.call("meetings/lifecycle/endMeeting", json!({"meetingId": id})).value();
    app.clock().advance(Duration::from_secs(300));
    validate(&app, &ada, &id, "webrtc", "s");
    validate(&app, &ada, &id, "transcripts", "s");
    assert_eq!(held(&ada), [("s".to_owned(), 1, 1)], "transcripts are not what it follows");
    app.clock().advance(Duration::from_secs(300));
    assert_eq!(held(&ada), []);
    // The insights of the meeting that ended.
    app.run_due();
}

#[test]
fn leases_have_a_limit_per_user_and_in_total() {
    let app = TestApp::with(|options| {
        options.settings = "[quotas]\nleases_per_user = 2\nleases_in_all = 3\n".parse().unwrap();
    });
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    let too_many = not_valid("Too many subscriptions");
    for name in ["a1", "a2"] {
        assert_eq!(validate(&app, &ada, &id, "notes", name)["valid"], true);
    }
    assert_eq!(validate(&app, &ada, &id, "notes", "a3"), too_many);
    assert_eq!(validate(&app, &ada, &id, "notes", "a2")["valid"], true, "what is held is renewed");
    assert_eq!(validate(&app, &bob, &id, "notes", "b1")["valid"], true);
    assert_eq!(validate(&app, &bob, &id, "notes", "b2"), too_many);
    terminate(&ada, "a1").value();
    assert_eq!(validate(&app, &bob, &id, "notes", "b2")["valid"], true);
}

#[test]
fn user_holds_two_hundred_subscriptions_by_default() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    let all = (0..200).map(|number| ada.call_async(VALIDATE, args(&app, &id, "notes", &format!("s{number}"))));
    let replies = app.block_on(futures_util::future::join_all(all));
    assert!(replies.iter().all(|reply| reply.value()["valid"] == true));
    assert_eq!(validate(&app, &ada, &id, "notes", "one-more"), not_valid("Too many subscriptions"));
}

#[test]
fn removed_participant_loses_all_subscriptions_of_the_meeting() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let (one, other) = (meeting(&ada, &["bob"]), meeting(&ada, &["bob"]));
    for (id, name) in [(&one, "s1"), (&one, "s2"), (&other, "s3")] {
        validate(&app, &bob, id, "notes", name);
    }
    validate(&app, &ada, &one, "notes", "s4");
    let refused = json!({"meetingId": one, "userId": "ada"});
    ada.call("meetings/lifecycle/removeParticipant", refused)
        .assert_refused(Code::FailedPrecondition, "Cannot remove the only host");
    assert_eq!((held(&bob).len(), held(&ada).len()), (3, 1), "a removal that is refused ends nothing");
    ada.call("meetings/lifecycle/removeParticipant", json!({"meetingId": one, "userId": "bob"})).value();
    assert_eq!(held(&bob), [("s3".to_owned(), 1, 0)]);
    assert_eq!(held(&ada).len(), 1);
    assert_eq!(validate(&app, &bob, &one, "notes", "s1"), not_valid("Access denied: Not a meeting participant"));
}

#[test]
fn a_closed_account_follows_nothing() {
    let app = TestApp::new();
    let (ada, root) = (app.user("ada"), app.deploy_key(&["admin"]));
    let ada_id = id_of(&ada);
    let id = meeting(&ada, &[]);
    validate(&app, &ada, &id, "notes", "s");
    assert_eq!(held(&root).len(), 1);
    root.call("users/mutations/deactivateUser", json!({"userId": ada_id})).value();
    assert_eq!(held(&root), []);
}

#[test]
fn restart_resets_the_metrics() {
    let mut app = TestApp::new();
    let id = meeting(&app.user("ada"), &[]);
    validate(&app, &app.user("ada"), &id, "notes", "s");
    app.restart();
    if is_embedded() {
        assert_eq!(held(&app.user("ada")), []);
    }
    assert_eq!(validate(&app, &app.user("ada"), &id, "notes", "s")["valid"], true);
}
