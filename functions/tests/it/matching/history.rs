//! `getMatchHistory`, `getMatch`, `getMatchingStats`.

use convoke::Code;
use convoke::testing::TestApp;
use serde_json::{Value, json};

use super::{DAY, history, matched, say, shown};
use crate::support::{id_of, onboarding, with};

const HISTORY: &str = "matching/analytics/getMatchHistory";

#[test]
fn history_is_ones_own_newest_first_page_by_page() {
    let app = TestApp::new();
    let ada = app.user("ada");
    assert_eq!(ada.call(HISTORY, json!({})).value(), &json!([]));
    let mut ids: Vec<String> = Vec::new();
    for name in ["bob", "cleo", "dora"] {
        ids.push(matched(&app, &ada, &app.user(name)));
        app.clock().set(app.now() + DAY / 24);
    }
    ids.reverse();
    let page = |args: Value| -> Vec<String> {
        let reply = ada.call(HISTORY, args);
        reply.value().as_array().unwrap().iter().map(|entry| entry["matchId"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(page(json!({})), ids);
    assert_eq!(page(json!({"limit": 1, "offset": 1})), ids[1..2]);
    assert_eq!(page(json!({"offset": 2})), ids[2..]);
    assert_eq!(page(json!({"offset": 3})), ids[3..]);
    assert_eq!(history(&app.user("bob")).len(), 1);
    for (args, field) in [
        (json!({"limit": 0}), "limit"),
        (json!({"limit": 1_001}), "limit"),
        (json!({"offset": -1}), "offset"),
        (json!({"offset": 100_001}), "offset"),
    ] {
        assert_eq!(ada.call(HISTORY, args).field(), Some(field));
    }
    app.nobody().call(HISTORY, json!({})).assert_refused(Code::Unauthenticated, "Authentication required");
    app.run_due();
}

#[test]
fn a_match_shows_the_other_one_and_why() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    for caller in [&ada, &bob] {
        caller.call("users/mutations/saveOnboarding", onboarding()).value();
    }
    let id = matched(&app, &ada, &bob);
    say(&bob, &id, "completed").value();
    let found = shown(&ada, &id);
    assert_eq!(found["partner"]["userId"], id_of(&bob).as_str());
    assert_eq!(found["partner"]["company"], "Analytical Engines");
    assert_eq!(found["partner"].get("email"), None);
    assert_eq!((&found["outcome"], &found["partnerOutcome"]), (&json!("accepted"), &json!("completed")));
    assert_eq!((&found["status"], found.get("meetingId")), (&json!("proposed"), None));
    assert!(found["explanation"].as_array().unwrap().contains(&json!("Strong interest alignment")));
    assert!(found["score"].as_f64().unwrap() > 0.7);
    assert_eq!(found["features"], history(&ada)[0]["features"]);
    assert_eq!(shown(&bob, &id)["features"], found["features"]);
}

#[test]
fn match_of_other_users_is_not_found() {
    let app = TestApp::new();
    let (ada, bob, eve) = (app.user("ada"), app.user("bob"), app.user("eve"));
    let id = matched(&app, &ada, &bob);
    for id in [id.as_str(), "match_00000000000000000000000001"] {
        let args = json!({"matchId": id});
        let feedback = with(args.clone(), json!({"outcome": "declined"}));
        for (path, args) in [
            ("matching/queries/getMatch", args.clone()),
            ("matching/lifecycle/createMatchMeeting", args),
            ("matching/analytics/submitMatchFeedback", feedback),
        ] {
            eve.call(path, args.clone()).assert_refused(Code::NotFound, "Match not found");
            app.nobody().call(path, args).assert_refused(Code::Unauthenticated, "Authentication required");
        }
    }
    let wrong = ada.call("matching/queries/getMatch", json!({"matchId": id_of(&ada)}));
    assert_eq!((wrong.code(), wrong.field()), ("INVALID_ARGUMENT", Some("matchId")));
}

#[test]
fn statistics_are_over_ones_own_matches() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let stats = || ada.call("matching/analytics/getMatchingStats", json!({})).value().clone();
    assert_eq!(
        stats(),
        json!({"totalMatches": 0, "accepted": 0, "declined": 0, "completed": 0, "successRate": 0.0, "topFeatures": []})
    );
    for (name, outcome, rating) in
        [("bob", "completed", Some(5)), ("cleo", "declined", None), ("dora", "completed", Some(4))]
    {
        let id = matched(&app, &ada, &app.user(name));
        let feedback = rating.map_or(json!({}), |rating| json!({"feedback": {"rating": rating}}));
        let args = with(json!({"matchId": id, "outcome": outcome}), feedback);
        ada.call("matching/analytics/submitMatchFeedback", args).value();
        app.clock().set(app.now() + DAY / 24);
    }
    matched(&app, &ada, &app.user("emil"));
    let found = stats();
    assert_eq!((&found["totalMatches"], &found["accepted"]), (&json!(4), &json!(1)));
    assert_eq!((&found["declined"], &found["completed"]), (&json!(1), &json!(2)));
    assert_eq!((&found["successRate"], &found["averageRating"]), (&json!(0.5), &json!(4.5)));
    let top: Vec<&Value> = found["topFeatures"].as_array().unwrap().iter().map(|top| &top["feature"]).collect();
    assert_eq!(top, ["interestOverlap", "timezoneCompatibility", "orgConstraintMatch"]);
    app.run_due();
}
