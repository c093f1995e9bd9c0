//! `enterMatchingQueue`, `cancelQueueEntry`, `getQueueStatus`, and the expiry of an entry.

use convoke::Code;
use convoke::testing::{START, TestApp};
use schema::{AuditEntry, QueueEntry, QueueStatus};
use serde_json::{Value, json};

use super::{HOUR_MS, SECOND, assert_matches_consistent, enter, history, place};
use crate::rights::Call;
use crate::support::id_of;

inventory::submit!(Call::new("matching/queue/cancelQueueEntry", |_| json!({})).after(
    "matching/index/enterMatchingQueue",
    |_| {
        let wishes = json!({"interests": [], "roles": []});
        json!({"availableFrom": START.get(), "availableTo": START.get() + HOUR_MS, "constraints": wishes})
    }
));

const DAY_MS: i64 = 24 * HOUR_MS;

fn cancel(caller: &convoke::testing::TestCaller<'_>) -> convoke::testing::Reply {
    caller.call("matching/queue/cancelQueueEntry", json!({}))
}

#[test]
fn entered_user_waits_and_sees_the_queue_position() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    assert_eq!(place(&ada), Value::Null);
    // Their wishes exclude each other, so both stay.
    let wish = json!({"interests": ["chess"], "roles": ["mentor"], "orgConstraints": "Acme"});
    let with_company = |caller: &convoke::testing::TestCaller<'_>, company: &str| {
        let onboarding = crate::support::with(crate::support::onboarding(), json!({"company": company}));
        caller.call("users/mutations/saveOnboarding", onboarding).value();
    };
    with_company(&ada, "Other");
    with_company(&bob, "Another");
    let entry = enter(&app, &ada, json!({"constraints": wish}));
    enter(&app, &bob, json!({"constraints": wish})).value();
    let now = app.now().get();
    assert_eq!(
        place(&ada),
        json!({
            "_id": entry.value(), "status": "waiting", "availableFrom": now, "availableTo": now + HOUR_MS,
            "constraints": wish, "createdAt": now, "queuePosition": 1, "estimatedWaitMs": 120_000,
        })
    );
    assert_eq!((&place(&bob)["queuePosition"], &place(&bob)["estimatedWaitMs"]), (&json!(2), &json!(240_000)));
    app.advance(20 * SECOND);
    assert_eq!((place(&ada)["status"].as_str(), history(&ada).len()), (Some("waiting"), 0));
}

#[test]
fn invalid_windows_are_rejected() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let now = app.now().get();
    let refused = |from: i64, to: i64, field: &str, message: &str| {
        let reply = enter(&app, &ada, json!({"availableFrom": from, "availableTo": to}));
        reply.assert_refused(Code::InvalidArgument, message);
        assert_eq!(reply.field(), Some(field));
    };
    let order = "Availability end time must be after start time";
    refused(now, now, "availableTo", order);
    refused(now + 2, now + 1, "availableTo", order);
    refused(now - 60_000, now - 1, "availableTo", order);
    refused(now - 300_001, now + 1, "availableFrom", "Availability window cannot start in the past");
    refused(now, now + 30 * DAY_MS + 1, "availableTo", "Availability window cannot exceed 30 days");
    let far = now + 30 * DAY_MS + 1;
    refused(far, far + 1, "availableFrom", "Availability window cannot start more than 30 days ahead");
    assert_eq!(app.count::<QueueEntry>(), 0);
    // The form is checked before the identity; the clock after it.
    app.nobody()
        .call("matching/index/enterMatchingQueue", super::window(&app))
        .assert_refused(Code::Unauthenticated, "Authentication required");

    enter(&app, &ada, json!({"availableFrom": now - 300_000, "availableTo": now + 30 * DAY_MS})).value();
    assert_eq!(place(&ada)["availableFrom"], now);
    cancel(&ada).value();
    enter(&app, &ada, json!({"availableFrom": now + 30 * DAY_MS, "availableTo": now + 60 * DAY_MS})).value();
}

#[test]
fn wishes_have_their_bounds() {
    let app = TestApp::new();
    let ada = app.user("ada");
    for (constraints, field) in [
        (json!({"interests": []}), "constraints.roles"),
        (json!({"interests": vec!["x"; 21], "roles": []}), "constraints.interests"),
        (json!({"interests": ["x".repeat(65)], "roles": []}), "constraints.interests[0]"),
        (json!({"interests": [], "roles": vec!["x"; 11]}), "constraints.roles"),
        (json!({"interests": [], "roles": ["x".repeat(33)]}), "constraints.roles[0]"),
        (json!({"interests": [], "roles": [], "orgConstraints": "x".repeat(65)}), "constraints.orgConstraints"),
        (json!({"interests": [], "roles": [], "surprise": 1}), "constraints.surprise"),
    ] {
        let reply = enter(&app, &ada, json!({"constraints": constraints}));
        assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some(field)), "{constraints}");
    }
}

#[test]
fn user_has_at_most_one_waiting_entry() {
    let app = TestApp::new();
    let ada = app.user("ada");
    id_of(&ada);
    let calls = (0..10).map(|_| {
        let (ada, args) = (ada.clone(), super::window(&app));
        async move { ada.call_async("matching/index/enterMatchingQueue", args).await }
    });
    let replies = app.block_on(futures_util::future::join_all(calls));
    let entered: Vec<_> = replies.iter().filter(|reply| reply.is_success()).collect();
    assert_eq!(entered.len(), 1);
    for refused in replies.iter().filter(|reply| !reply.is_success()) {
        refused.assert_refused(Code::Conflict, "User is already in the matching queue");
        assert_eq!(&refused.data()["queueId"], entered[0].value());
    }
    assert_eq!(app.count::<QueueEntry>(), 1);
}

#[test]
fn a_retry_with_the_same_key_returns_the_first_entry() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let args =
        json!({"idempotencyKey": "k", "availableTo": app.now().get() + HOUR_MS, "availableFrom": app.now().get()});
    let first = enter(&app, &ada, args.clone());
    // Ten minutes later its start is too old for a new entry, but this is a repetition.
    app.clock().set(app.now() + 600 * SECOND);
    assert_eq!(enter(&app, &ada, args).value(), first.value());
    let other = enter(&app, &ada, json!({"idempotencyKey": "k"}));
    assert_eq!(other.code(), "IDEMPOTENCY_KEY_REUSED");
    app.run_due();
}

#[test]
fn an_entry_ends_with_its_time() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let entry = enter(&app, &ada, json!({"availableTo": app.now().get() + 90_000}));
    app.clock().set(app.now() + 90 * SECOND);
    // No sweep has run yet: reads report the expiry anyway, and the user can enter again.
    assert_eq!(place(&ada)["status"], "expired");
    assert_eq!(place(&ada).get("queuePosition"), None);
    let again = enter(&app, &ada, json!({"availableTo": app.now().get() + 90_000}));
    assert_ne!(again.value(), entry.value());
    assert_eq!(place(&ada)["_id"], *again.value());
    app.advance(150 * SECOND);
    let entries = app.read(|db| Ok(db.scan::<QueueEntry>().take(10)?));
    assert_eq!(entries.iter().map(|entry| entry.status).collect::<Vec<_>>(), [QueueStatus::Expired; 2]);
    assert_matches_consistent(&app);
}

#[test]
fn only_a_waiting_entry_can_be_cancelled() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    cancel(&ada).assert_refused(Code::NotFound, "Queue entry not found");
    enter(&app, &ada, json!({})).value();
    assert_eq!(cancel(&ada).value(), &Value::Null);
    assert_eq!(cancel(&ada).value(), &Value::Null);
    assert_eq!(place(&ada)["status"], "cancelled");
    enter(&app, &bob, json!({})).value();
    app.advance(SECOND);
    assert_eq!(history(&bob).len(), 0);
    enter(&app, &ada, json!({})).value();
    app.advance(SECOND);
    cancel(&ada).assert_refused(Code::FailedPrecondition, "Queue entry is already matched");
    assert_eq!(place(&ada)["matchId"], history(&ada)[0]["matchId"]);
}

#[test]
fn audit_records_queue_actions_of_a_deploy_key() {
    let app = TestApp::new();
    id_of(&app.user("ada"));
    let before = app.count::<AuditEntry>();
    let ada = app.deploy_key(&["admin"]).acting_as("ada");
    enter(&app, &ada, json!({})).value();
    cancel(&ada).value();
    assert_eq!(app.count::<AuditEntry>(), before + 2);
    app.run_due();
}

#[test]
fn position_cost_does_not_depend_on_queue_length() {
    let app = TestApp::new();
    let fill = |first: u32, count: u32| {
        let user = convoke::Id::<schema::User>::from_bits(u128::from(first)).to_string();
        crate::support::system(&app).call("probes/fillQueue", json!({"userId": user, "count": count})).value();
    };
    let cost = |name: &str| {
        let caller = app.user(name);
        enter(&app, &caller, json!({})).value();
        let place = place(&caller)["queuePosition"].as_u64().unwrap();
        let cost = caller.call("probes/costOfAPlace", json!({})).value().clone();
        (place, cost["statements"].as_u64().unwrap(), cost["rows"].as_u64().unwrap())
    };
    fill(1_000_000, 9);
    let (place, statements, _) = cost("ada");
    assert_eq!(place, 10);
    for batch in 0..10 {
        fill(2_000_000 + batch * 1_000, 500);
    }
    let (place, later, rows) = cost("bob");
    assert_eq!((place, later), (5_011, statements));
    assert!(rows < 100, "{rows} rows were read to find a place behind 5,010");
    // The entry woke the matcher.
    for job in app.pending_jobs() {
        assert!(app.block_on(app.jobs().cancel(job.id())).unwrap());
    }
    assert_matches_consistent(&app);
}

#[test]
fn position_stays_correct_when_entries_leave_expire_or_lack_tickets() {
    let app = TestApp::new();
    let names: Vec<String> = (0..70).map(|at| format!("user-{at}")).collect();
    let callers: Vec<_> = names.iter().map(|name| app.user(name)).collect();
    let at = |caller: &convoke::testing::TestCaller<'_>| place(caller)["queuePosition"].as_i64();
    // No pair is possible: each wants another organization.
    let alone = json!({"interests": [], "roles": [], "orgConstraints": "Nowhere"});
    let old = app.user("old");
    let put = json!({"userId": id_of(&old), "status": "waiting"});
    crate::support::system(&app).call("probes/putQueueEntry", put).value();
    for (number, caller) in callers.iter().enumerate() {
        let minutes = if number == 1 { 5 } else { 60 };
        let to = app.now().get() + minutes * 60_000;
        enter(&app, caller, json!({"constraints": alone, "availableTo": to})).value();
    }
    assert_eq!(at(&old), Some(1));
    for (number, caller) in callers.iter().enumerate() {
        assert_eq!(at(caller), Some(i64::try_from(number).unwrap() + 2));
    }
    cancel(&callers[0]).value();
    cancel(&callers[65]).value();
    assert_eq!((at(&callers[64]), at(&callers[65]), at(&callers[69])), (Some(65), None, Some(69)));
    // It has expired, and no sweep has run yet.
    app.clock().advance(std::time::Duration::from_secs(300));
    assert_eq!((at(&callers[1]), at(&callers[2]), at(&callers[69])), (None, Some(2), Some(68)));
    app.advance(60 * SECOND);
    assert_eq!((at(&callers[2]), at(&callers[69])), (Some(2), Some(68)));
    enter(&app, &callers[0], json!({"constraints": alone})).value();
    assert_eq!(at(&callers[0]), Some(69));
    assert_matches_consistent(&app);
}
