//! The matcher: the times of its runs, and the pairs that it chooses and excludes.

use convoke::testing::{TestApp, TestCaller};
use convoke::{Caller, Code, NoArgs};
use functions::matching;
use schema::{Match, MatchStatus, QueueEntry};
use serde_json::{Value, json};

use super::{DAY, HOUR_MS, SECOND, assert_matches_consistent, enter, history, matched, place, say, shown};
use crate::support::{id_of, member, onboarding, system, with};

fn company(caller: &TestCaller<'_>, company: &str) {
    caller.call("users/mutations/saveOnboarding", with(onboarding(), json!({"company": company}))).value();
}

fn wish(organization: &str) -> Value {
    json!({"constraints": {"interests": ["chess"], "roles": [], "orgConstraints": organization}})
}

/// A member of the organization, if there is one, with this company in the profile.
fn at<'a>(app: &'a TestApp, name: &str, organization: &str, written: &str) -> TestCaller<'a> {
    let caller = if organization.is_empty() { app.user(name) } else { member(app, name, organization) };
    company(&caller, written);
    caller
}

#[test]
fn the_matcher_wakes_a_second_after_an_entry() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    enter(&app, &ada, json!({})).value();
    enter(&app, &bob, json!({})).value();
    app.advance(SECOND - std::time::Duration::from_millis(1));
    assert_eq!(history(&ada), Vec::<Value>::new());
    app.advance(std::time::Duration::from_millis(1));
    let (of_ada, of_bob) = (history(&ada), history(&bob));
    assert_eq!(of_ada.len(), 1);
    assert_eq!(of_ada[0]["matchId"], of_bob[0]["matchId"]);
    assert_ne!(of_ada[0]["_id"], of_bob[0]["_id"]);
    for entry in [&of_ada[0], &of_bob[0]] {
        assert_eq!((&entry["outcome"], entry.get("feedback")), (&json!("accepted"), None));
        let features = entry["features"].as_object().unwrap();
        assert_eq!(features.len(), 8);
        assert!(features.values().all(|value| (0.0..=1.0).contains(&value.as_f64().unwrap())));
    }
    assert_eq!(place(&ada)["status"], "matched");
    // No user waits any more: the matcher stops.
    app.advance(120 * SECOND);
    assert!(app.pending_jobs().iter().all(|job| job.path != "matching/match"));
    assert_matches_consistent(&app);
}

#[test]
fn the_matcher_runs_every_quarter_of_a_minute_while_anyone_waits() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    company(&ada, "Acme");
    company(&bob, "Other");
    enter(&app, &ada, wish("Acme")).value();
    enter(&app, &bob, json!({})).value();
    app.advance(31 * SECOND);
    assert_eq!(history(&ada).len(), 0);
    // A pair can become possible without a new entry.
    company(&bob, "Acme");
    app.advance(15 * SECOND);
    assert_eq!(history(&ada).len(), 1);
}

#[test]
fn a_chain_of_runs_that_broke_begins_again_within_a_minute() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    enter(&app, &ada, json!({})).value();
    app.advance(2 * SECOND);
    for job in app.pending_jobs().iter().filter(|job| job.path == "matching/match") {
        assert!(app.block_on(app.jobs().cancel(job.id())).unwrap());
    }
    enter(&app, &bob, json!({})).value();
    for job in app.pending_jobs().iter().filter(|job| job.path == "matching/match") {
        assert!(app.block_on(app.jobs().cancel(job.id())).unwrap());
    }
    app.advance(80 * SECOND);
    assert_eq!(history(&ada).len(), 1);
}

#[test]
fn two_matchers_at_once_make_no_double_match() {
    let app = TestApp::new();
    let callers: Vec<_> = (0..21).map(|at| app.user(&format!("user-{at}"))).collect();
    for caller in &callers {
        enter(&app, caller, json!({})).value();
    }
    let run = || app.runtime().run::<matching::r#match>(Caller::System, NoArgs {});
    let (a, b, c, d) = app.block_on(async { tokio::join!(run(), run(), run(), run()) });
    for outcome in [a, b, c, d] {
        outcome.unwrap();
    }
    assert_eq!(app.count::<Match>(), 10);
    assert_matches_consistent(&app);
    app.advance(20 * SECOND);
    assert_eq!(app.count::<Match>(), 10);
    assert_eq!(callers.iter().filter(|caller| place(caller)["status"] == "waiting").count(), 1);
}

#[test]
fn a_pair_that_was_chosen_before_something_changed_is_not_written() {
    use functions::matching::pairing::{MakeMatches, Pair, choose, make_matches};
    use functions::matching::{settings::Matching, waiting};
    let app = TestApp::new();
    let callers = ["ada", "bob", "cleo", "dora"].map(|name| app.user(name));
    for caller in &callers {
        enter(&app, caller, json!({})).value();
    }
    let all = system(&app).run::<waiting::applicants>(NoArgs {}).unwrap();
    let settings = Matching::default();
    let pairs: Vec<Pair> = choose(&all, app.now(), &settings.rules, &settings.limits).pairs;
    assert_eq!(pairs.len(), 2);
    callers[0].call("matching/queue/cancelQueueEntry", json!({})).value();
    let key = app.deploy_key(&["admin"]);
    let last = app.read(|db| Ok(db.get(pairs[1].one)?.unwrap().user_id));
    key.call("users/mutations/deactivateUser", json!({"userId": last.to_string()})).value();
    let write = |pairs: &[Pair]| system(&app).run::<make_matches>(MakeMatches { pairs: pairs.to_vec() }).unwrap();
    assert_eq!(write(&pairs), 0);
    assert_eq!(app.count::<Match>(), 0);
    app.advance(SECOND);
    assert_eq!(app.count::<Match>(), 1);
    // The same pair finds no waiting entries.
    assert_eq!(write(&pairs), 0);
    assert_matches_consistent(&app);
}

#[test]
fn user_has_at_most_one_open_match() {
    let app = TestApp::new();
    let callers: Vec<_> = (0..6).map(|at| app.user(&format!("user-{at}"))).collect();
    for _ in 0..4 {
        for caller in &callers {
            drop(enter(&app, caller, json!({})));
        }
        app.advance(16 * SECOND);
        assert_matches_consistent(&app);
    }
    assert_eq!(app.count::<Match>(), 3);
    // Once their match has expired, waiting users are matched again.
    app.advance(DAY / 24);
    for caller in &callers {
        drop(enter(&app, caller, json!({})));
    }
    app.advance(SECOND);
    assert!(app.count::<Match>() >= 6);
    assert!(callers.iter().all(|caller| history(caller).len() >= 2));
    assert_matches_consistent(&app);
}

#[test]
fn windows_share_a_quarter_of_an_hour_or_the_whole_of_a_shorter_one() {
    const MINUTE: i64 = 60_000;
    for (from, to, together) in [
        (45 * MINUTE, 2 * HOUR_MS, true),
        (45 * MINUTE + 1, 2 * HOUR_MS, false),
        (20 * MINUTE, 25 * MINUTE, true),
        (HOUR_MS, 2 * HOUR_MS, false),
    ] {
        let app = TestApp::with(|options| options.settings = "[matching]\nscore_min = 0.0\n".parse().unwrap());
        let (ada, bob) = (app.user("ada"), app.user("bob"));
        let now = app.now().get();
        // The clock does not move between the entry and the run.
        enter(&app, &ada, json!({})).value();
        enter(&app, &bob, json!({"availableFrom": now + from, "availableTo": now + to})).value();
        app.block_on(app.runtime().run::<matching::r#match>(Caller::System, NoArgs {})).unwrap();
        assert_eq!(history(&ada).len(), usize::from(together), "{from} {to}");
        if together {
            let found = shown(&ada, history(&ada)[0]["matchId"].as_str().unwrap());
            assert_eq!(found["windowFrom"], now + from);
            assert_eq!(found["windowTo"], (now + to).min(now + HOUR_MS));
        }
    }
}

#[test]
fn wishes_about_organizations_hold_on_both_sides() {
    // (organization, company and wish of both users, and if they are matched)
    let cases = [
        (("acme", "Acme", "same"), ("acme", "Acme", "any"), true),
        (("acme", "Acme", "Same-Org"), ("acme", "Acme", "same_org"), true),
        (("acme", "Acme", "same"), ("other", "Other", ""), false),
        (("acme", "Acme", "same"), ("other", "Other", "same"), false),
        (("acme", "Acme", "different"), ("other", "Other", "external"), true),
        (("acme", "Acme", "different"), ("acme", "Acme", "none"), false),
        // The company in a profile neither makes nor prevents a membership.
        (("acme", "Acme", "same"), ("other", "Acme", "any"), false),
        (("acme", "Acme", "different"), ("other", "Acme", "any"), true),
        (("acme", "Acme", "same"), ("acme", "Other", "any"), true),
        (("acme", "Acme", "different"), ("acme", "Other", "any"), false),
        // Unknown organizations exclude no pair.
        (("", "Acme", "same"), ("", "Other", "same"), true),
        (("acme", "Acme", "different"), ("", "Acme", "any"), true),
        // A name matches the company or the organization.
        (("", "Acme", "other co"), ("", "Other-Co", "acme"), true),
        (("", "Acme", "third"), ("", "Other", "any"), false),
        (("", "Acme", "south"), ("south", "Other", "any"), true),
    ];
    for (ours, theirs, together) in cases {
        let app = TestApp::new();
        let (ada, bob) = (at(&app, "ada", ours.0, ours.1), at(&app, "bob", theirs.0, theirs.1));
        enter(&app, &ada, wish(ours.2)).value();
        enter(&app, &bob, wish(theirs.2)).value();
        app.advance(SECOND);
        assert_eq!(history(&ada).len(), usize::from(together), "{ours:?} / {theirs:?}");
    }
}

#[test]
fn users_with_shared_interests_match_before_a_user_without_interests() {
    let app = TestApp::new();
    let callers = ["ada", "bob", "cleo"].map(|name| app.user(name));
    for (caller, interests) in callers.iter().zip([&["chess", "rust", "law"][..], &[], &["chess", "rust", "art"]]) {
        let id = id_of(caller);
        caller.call("users/mutations/updateUserInterests", json!({"userId": id, "interests": interests})).value();
        enter(&app, caller, json!({"constraints": {"interests": [], "roles": []}})).value();
    }
    app.advance(SECOND);
    assert_eq!(place(&callers[1])["status"], "waiting");
    assert_eq!(history(&callers[0])[0]["matchId"], history(&callers[2])[0]["matchId"]);
}

#[test]
fn a_decline_keeps_two_apart_for_thirty_days() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let id = matched(&app, &ada, &bob);
    say(&bob, &id, "declined").value();
    let declined_at = app.now();
    let try_again = || {
        for caller in [&ada, &bob] {
            enter(&app, caller, json!({})).value();
        }
        app.block_on(app.runtime().run::<matching::r#match>(Caller::System, NoArgs {})).unwrap();
        let found = history(&ada).len();
        for caller in [&ada, &bob] {
            drop(caller.call("matching/queue/cancelQueueEntry", json!({})));
        }
        found
    };
    assert_eq!(try_again(), 1);
    app.clock().set(declined_at + 29 * DAY);
    // Later feedback does not extend it.
    let comments = json!({"matchId": id, "outcome": "declined", "feedback": {"rating": 2, "comments": "No."}});
    bob.call("matching/analytics/submitMatchFeedback", comments).value();
    app.clock().set(declined_at + 30 * DAY - std::time::Duration::from_millis(1));
    assert_eq!(try_again(), 1);
    app.clock().set(declined_at + 30 * DAY);
    assert_eq!(try_again(), 2);
    assert_matches_consistent(&app);
    app.run_due();
}

#[test]
fn declined_user_is_matched_with_another_user() {
    let app = TestApp::new();
    let (ada, bob, cleo) = (app.user("ada"), app.user("bob"), app.user("cleo"));
    let id = matched(&app, &ada, &bob);
    say(&ada, &id, "declined").value();
    for caller in [&ada, &bob, &cleo] {
        enter(&app, caller, json!({})).value();
    }
    app.advance(SECOND);
    assert_eq!(history(&cleo).len(), 1);
    assert_matches_consistent(&app);
}

#[test]
fn users_with_the_same_interests_are_matched() {
    let app = TestApp::new();
    let callers = ["ada", "bob", "cleo", "dora"].map(|name| app.user(name));
    let interests = [["chess", "hiking"], ["rust", "python"], ["chess", "hiking"], ["rust", "python"]];
    for (caller, interests) in callers.iter().zip(interests) {
        let id = id_of(caller);
        caller.call("users/mutations/updateUserInterests", json!({"userId": id, "interests": interests})).value();
        enter(&app, caller, json!({})).value();
    }
    app.advance(SECOND);
    let of = |at: usize| history(&callers[at])[0]["matchId"].clone();
    assert_eq!((of(0), of(1)), (of(2), of(3)));
    assert_eq!(history(&callers[0])[0]["features"]["interestOverlap"], 1.0);
}

#[test]
fn a_deactivated_user_is_not_matched() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    enter(&app, &ada, json!({})).value();
    enter(&app, &bob, json!({})).value();
    let key = app.deploy_key(&["admin"]);
    key.call("users/mutations/deactivateUser", json!({"userId": id_of(&bob)})).value();
    app.advance(20 * SECOND);
    assert_eq!(history(&ada).len(), 0);
    assert_eq!(app.count::<QueueEntry>(), 2);
}

#[test]
fn a_match_expires_with_its_window() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let id = matched(&app, &ada, &bob);
    assert_eq!(shown(&ada, &id)["status"], "proposed");
    app.clock().set(app.now() + DAY / 24);
    assert_eq!(shown(&ada, &id)["status"], "expired");
    app.advance(60 * SECOND);
    let stored = app.read(|db| Ok(db.scan::<Match>().first()?.unwrap()));
    assert_eq!(stored.status, MatchStatus::Expired);
}

#[test]
fn manual_cycle_reports_actual_or_planned_matches() {
    let app = TestApp::new();
    let callers = ["ada", "bob", "cleo"].map(|name| app.user(name));
    for caller in &callers {
        enter(&app, caller, json!({})).value();
    }
    let run = |args: Value| {
        let mut ran = app.deploy_key(&["admin"]).call("matching/engine/runMatchingCycle", args).value().clone();
        assert!((0..10_000).contains(&ran["durationMs"].take().as_i64().unwrap()));
        ran
    };
    let nothing = json!({"waiting": 3, "matched": 0, "totalWeight": 0, "method": "exact", "durationMs": null});
    assert_eq!(run(json!({"minScore": 0.99})), nothing);
    let would = run(json!({"dryRun": true}));
    assert_eq!((&would["matched"], app.count::<Match>()), (&json!(1), 0));
    let did = run(json!({}));
    assert_eq!((&did, app.count::<Match>()), (&would, 1));
    assert_eq!(run(json!({}))["waiting"], 1);
    callers[0]
        .call("matching/engine/runMatchingCycle", json!({}))
        .assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
    assert_eq!(
        app.deploy_key(&["admin"]).call("matching/engine/runMatchingCycle", json!({"minScore": 2})).code(),
        "INVALID_ARGUMENT"
    );
    app.run_due();
}

#[test]
fn a_cycle_by_hand_is_for_deploy_keys_only() {
    let app = TestApp::new();
    let admin = crate::support::admin(&app, "root", "acme");
    admin
        .call("matching/engine/runMatchingCycle", json!({}))
        .assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
    assert_eq!(app.nobody().call("matching/engine/runMatchingCycle", json!({})).code(), "UNAUTHENTICATED");
}
