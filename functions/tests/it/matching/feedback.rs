//! `submitMatchFeedback`: permitted outcomes and their times.

use convoke::Code;
use convoke::testing::TestApp;
use schema::{Match, MatchStatus};
use serde_json::{Value, json};

use super::{DAY, SECOND, assert_matches_consistent, enter, history, matched, say, shown};

const FEEDBACK: &str = "matching/analytics/submitMatchFeedback";

fn stored(app: &TestApp) -> MatchStatus {
    app.read(|db| Ok(db.scan::<Match>().first()?.unwrap())).status
}

#[test]
fn an_outcome_goes_back_and_forth_while_there_is_time() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let id = matched(&app, &ada, &bob);
    assert_eq!(say(&ada, &id, "accepted").value(), &Value::Null);
    say(&ada, &id, "declined").value();
    assert_eq!((shown(&bob, &id)["status"].as_str(), stored(&app)), (Some("declined"), MatchStatus::Declined));
    assert_eq!(shown(&bob, &id)["partnerOutcome"], "declined");
    say(&ada, &id, "declined").value();
    say(&ada, &id, "completed").assert_refused(Code::FailedPrecondition, "A declined match cannot be completed");
    say(&ada, &id, "accepted").value();
    assert_eq!((shown(&bob, &id)["status"].as_str(), stored(&app)), (Some("proposed"), MatchStatus::Proposed));
    app.clock().set(app.now() + DAY / 24);
    say(&ada, &id, "declined").assert_refused(Code::FailedPrecondition, "The time of the match has passed");
    say(&ada, &id, "accepted").value();
    say(&ada, &id, "completed").value();
    assert_eq!(shown(&bob, &id)["status"], "expired");
    say(&bob, &id, "completed").value();
    assert_eq!((shown(&bob, &id)["status"].as_str(), stored(&app)), (Some("completed"), MatchStatus::Completed));
    app.run_due();
}

#[test]
fn completed_match_accepts_only_feedback() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let id = matched(&app, &ada, &bob);
    say(&ada, &id, "completed").value();
    for outcome in ["accepted", "declined"] {
        say(&ada, &id, outcome).assert_refused(Code::FailedPrecondition, "A completed match cannot be changed");
    }
    let feedback = |feedback: Value| {
        ada.call(FEEDBACK, json!({"matchId": id, "outcome": "completed", "feedback": feedback})).value();
        history(&ada)[0]["feedback"].clone()
    };
    assert_eq!(feedback(json!({"rating": 3, "comments": "Late."})), json!({"rating": 3, "comments": "Late."}));
    assert_eq!(feedback(json!({"rating": 5})), json!({"rating": 5}));
    say(&ada, &id, "completed").value();
    assert_eq!(history(&ada)[0]["feedback"], json!({"rating": 5}));
    assert_eq!(history(&bob)[0].get("feedback"), None);
    for (wrong, field) in [
        (json!({"rating": 0}), "feedback.rating"),
        (json!({"rating": 6}), "feedback.rating"),
        (json!({"rating": 1.5}), "feedback.rating"),
        (json!({"comments": "x"}), "feedback.rating"),
        (json!({"rating": 1, "comments": "x".repeat(2_001)}), "feedback.comments"),
    ] {
        let reply = ada.call(FEEDBACK, json!({"matchId": id, "outcome": "completed", "feedback": wrong}));
        assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some(field)));
    }
    assert_eq!(say(&ada, &id, "maybe").field(), Some("outcome"));
}

#[test]
fn a_match_is_not_taken_up_again_beside_another_open_one() {
    let app = TestApp::new();
    let (ada, bob, cleo) = (app.user("ada"), app.user("bob"), app.user("cleo"));
    let first = matched(&app, &ada, &bob);
    say(&ada, &first, "declined").value();
    let second = matched(&app, &ada, &cleo);
    say(&ada, &first, "accepted").assert_refused(Code::FailedPrecondition, "One of the two has another open match");
    say(&ada, &second, "declined").value();
    say(&ada, &first, "accepted").value();
    say(&ada, &second, "accepted").assert_refused(Code::FailedPrecondition, "One of the two has another open match");
    assert_matches_consistent(&app);
    // As long as it is open, neither user is matched again.
    for caller in [&ada, &cleo] {
        enter(&app, caller, json!({})).value();
    }
    app.advance(20 * SECOND);
    assert_eq!(history(&ada).len(), 2);
}
