//! Generating insights with the built-in generator.

use std::time::Duration;

use convoke::Code;
use convoke::testing::TestApp;
use schema::Insight;
use serde_json::json;

use super::{GENERATE, counted, end, force, gathering, generate, own, say, write};
use crate::support::{id_of, meeting, scheduled};

#[test]
fn callers_without_access_cannot_generate_insights() {
    let app = TestApp::new();
    let (ada, eve) = (app.user("ada"), app.user("eve"));
    let id = gathering(&app);
    let args = json!({"meetingId": id});
    app.nobody().call(GENERATE, args.clone()).assert_refused(Code::Unauthenticated, "Authentication required");
    let stranger = "Access denied: Not a meeting participant";
    eve.call(GENERATE, args.clone()).assert_refused(Code::Forbidden, stranger);
    let unknown = id.replace(&id[id.len() - 4..], "0000");
    ada.call(GENERATE, json!({"meetingId": unknown})).assert_refused(Code::Forbidden, stranger);
    app.deploy_key(&["admin"]).call(GENERATE, args).assert_refused(Code::Forbidden, "Deploy key must act as a user");
    let malformed = ada.call(GENERATE, json!({"meetingId": "nonsense"}));
    assert_eq!((malformed.code(), malformed.field()), ("INVALID_ARGUMENT", Some("meetingId")));
    let malformed = ada.call(GENERATE, json!({"meetingId": id, "forceRegenerate": "yes"}));
    assert_eq!((malformed.code(), malformed.field()), ("INVALID_ARGUMENT", Some("forceRegenerate")));
    assert_eq!(app.count::<Insight>(), 0);
}

#[test]
fn a_cancelled_meeting_is_refused_and_a_scheduled_one_gives_nothing() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = scheduled(&app, &ada, &[]);
    write(&ada, &id, "- [ ] Ada: write the agenda");
    assert_eq!(counted(&generate(&ada, &id)), (0, vec![]));
    ada.call("meetings/lifecycle/cancelMeeting", json!({"meetingId": id})).value();
    let refused = generate(&ada, &id);
    refused.assert_refused(Code::FailedPrecondition, "Cannot generate insights for a cancelled meeting");
}

#[test]
fn without_a_word_nothing_is_made() {
    let app = TestApp::new();
    let id = gathering(&app);
    assert_eq!(counted(&generate(&app.user("ada"), &id)), (0, vec![]));
    write(&app.user("ada"), &id, "  \n ");
    assert_eq!(counted(&generate(&app.user("ada"), &id)), (0, vec![]));
    assert_eq!(own(&app.user("ada"), &id), json!(null));
}

#[test]
fn the_same_material_is_used_again_and_other_material_is_not() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let id = gathering(&app);
    write(&ada, &id, "- [ ] Ada: write the release notes by Friday\n");
    let (made, ids) = counted(&generate(&bob, &id));
    assert_eq!((made, ids.len()), (3, 3));
    assert_eq!(own(&ada, &id)["_id"], ids[0], "in order of the participants");
    assert_eq!(own(&bob, &id)["_id"], ids[1]);
    assert_eq!(counted(&generate(&ada, &id)), (0, ids.clone()));
    app.clock().advance(Duration::from_secs(5));
    say(&bob, &id, 10, "I will book the room by Monday.");
    assert_eq!(counted(&generate(&ada, &id)), (3, ids.clone()), "the same rows");
    assert_eq!(own(&bob, &id)["updatedAt"], app.now().get());
    assert_ne!(own(&bob, &id)["createdAt"], app.now().get());
    write(&ada, &id, "More.\n");
    assert_eq!(counted(&generate(&ada, &id)), (3, ids.clone()));
    // A later participant changes the material and gets new insights.
    let dan = id_of(&app.user("dan"));
    ada.call("meetings/lifecycle/addParticipant", json!({"meetingId": id, "userId": dan})).value();
    let (made, all) = counted(&generate(&ada, &id));
    assert_eq!((made, &all[..3], all.len()), (4, &ids[..], 4));
}

#[test]
fn force_regenerates_insights_once_per_minute() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = gathering(&app);
    write(&ada, &id, "We decided to ship in May.\n");
    let (_, ids) = counted(&generate(&ada, &id));
    assert_eq!(counted(&force(&ada, &id)), (3, ids.clone()));
    app.clock().advance(Duration::from_millis(59_999));
    assert_eq!(counted(&force(&app.user("bob"), &id)), (0, ids.clone()), "the last one's result");
    app.clock().advance(Duration::from_millis(1));
    assert_eq!(counted(&force(&app.user("bob"), &id)), (3, ids));
}

#[test]
fn each_participant_gets_own_insights_of_this_meeting_only() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let id = gathering(&app);
    let other = meeting(&ada, &["bob"]);
    say(&ada, &other, 5, "I will call the embassy about the zeppelin, see https://zeppelin.example/plan.");
    say(&ada, &id, 5, "The release plan of the mobile app is late.");
    say(&ada, &id, 10, "I will write the release plan by Friday.");
    say(&bob, &id, 15, "I will rebuild the search index by Monday, see https://example.org/index.");
    generate(&ada, &id).value();
    let (hers, his) = (own(&ada, &id), own(&bob, &id));
    let first = |insight: &serde_json::Value| insight["actionItems"][0].as_str().unwrap().to_owned();
    assert!(first(&hers).starts_with("ada: "), "{hers}");
    assert!(first(&his).starts_with("bob: "), "{his}");
    for insight in [&hers, &his] {
        let text = insight.to_string();
        assert!(!text.contains("zeppelin") && !text.contains("embassy"), "{text}");
        assert_eq!(insight["links"][0]["url"], "https://example.org/index");
        assert_eq!((&insight["generator"], &insight["links"][0]["type"]), (&json!("builtin/7"), &json!("transcript")));
    }
    assert_eq!(own(&ada, &other), json!(null));
}

#[test]
fn an_item_tells_its_owner_and_its_day() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let id = gathering(&app);
    // 2026-01-01, a Thursday, in calendar time, as most clients send it. The chunks arrive in the wrong order.
    let begin = 1_767_225_600;
    say(&bob, &id, begin + 10, "regional director on Monday.");
    say(&bob, &id, begin + 5, "I'll call their");
    say(&ada, &id, begin + 15, "Dana will send us her comments by tomorrow.");
    generate(&ada, &id).value();
    let insight = own(&bob, &id);
    let lines = ["bob: call their regional director (on Monday)", "Dana: send us her comments (by tomorrow)"];
    assert_eq!(insight["actionItems"], json!(lines));
    let details = json!([
        {"ownerId": insight["userId"], "owner": "bob", "task": "call their regional director",
         "dueText": "on Monday", "due": "2026-01-05", "evidence": ["I'll call their regional director on Monday."]},
        {"owner": "Dana", "task": "send us her comments", "dueText": "by tomorrow", "due": "2026-01-02",
         "evidence": ["Dana will send us her comments by tomorrow."]},
    ]);
    assert_eq!(insight["actionItemDetails"], details);
}

#[test]
fn insights_use_the_language_of_the_meeting() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = gathering(&app);
    say(&ada, &id, 5, "Ich schicke die Unterlagen zur Sicherheitsprüfung bis Ende der Woche an den Prüfer.");
    say(&app.user("bob"), &id, 10, "Damit ist beschlossen, dass die Sicherheitsprüfung im Mai beginnt.");
    generate(&ada, &id).value();
    let insight = own(&ada, &id);
    let summary = insight["summary"].as_str().unwrap();
    assert!(summary.starts_with("1 Minute, 2 Personen sprachen (ada, bob). Haupt"), "{summary}");
    assert!(summary.contains("Sicherheitsprüfung") && summary.contains("\nBeschlossen: Damit ist"), "{summary}");
    let advice = insight["recommendations"][0]["content"].as_str().unwrap();
    assert!(advice.starts_with("Bleib an deiner Aufgabe dran: "), "{advice}");
    assert!(insight["actionItems"][0].as_str().unwrap().starts_with("ada: "), "{insight}");
}

#[test]
fn two_at_once_make_them_once() {
    let app = TestApp::new();
    let id = gathering(&app);
    write(&app.user("ada"), &id, "- [ ] Bob: book the room\n");
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let args = json!({"meetingId": id, "forceRegenerate": true});
    let calls = async { tokio::join!(ada.call_async(GENERATE, args.clone()), bob.call_async(GENERATE, args.clone())) };
    let (first, second) = app.block_on(calls);
    let (first, second) = (counted(&first), counted(&second));
    assert_eq!((first.0 + second.0, first.1.len()), (3, 3));
    assert_eq!(first.1, second.1);
    assert_eq!(app.count::<Insight>(), 3);
}

#[test]
fn removed_participant_gets_no_insights() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = gathering(&app);
    write(&ada, &id, "- [ ] Bob: book the room\n");
    let bob = id_of(&app.user("bob"));
    ada.call("meetings/lifecycle/removeParticipant", json!({"meetingId": id, "userId": bob})).value();
    let (made, ids) = counted(&generate(&ada, &id));
    assert_eq!((made, ids.len()), (2, 2));
    end(&app, &id);
    app.advance(Duration::from_secs(30));
}

#[test]
fn twenty_calls_in_five_minutes_are_enough() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    for _ in 0..20 {
        generate(&ada, &id).value();
    }
    assert_eq!(generate(&ada, &id).code(), "RATE_LIMITED");
}
