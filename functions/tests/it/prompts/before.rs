//! Prompts before a call: automatic generation, and their evidence.

use std::time::Duration;

use convoke::testing::{TestApp, TestCaller};
use schema::Prompt;
use serde_json::json;

use super::{PRE_CALL, contents, join, shown};
use crate::support::{create, emails, id_of, meeting, onboarding, scheduled, with};

const SETTLED: Duration = Duration::from_secs(5);
const MOMENT: Duration = Duration::from_millis(1);

fn interests(caller: &TestCaller<'_>, keys: &[&str]) {
    let args = json!({"userId": id_of(caller), "interests": keys});
    caller.call("users/mutations/updateUserInterests", args).value();
}

fn works_as(caller: &TestCaller<'_>, title: &str) {
    let profile = with(onboarding(), json!({"jobTitle": title, "interests": []}));
    caller.call("users/mutations/saveOnboarding", profile).value();
}

#[test]
fn they_come_once_the_people_of_a_scheduled_meeting_stay_as_they_are() {
    let app = TestApp::new();
    let (ada, bob, cleo) = (app.user("ada"), app.user("bob"), app.user("cleo"));
    for caller in [&ada, &bob, &cleo] {
        interests(caller, &["chess", "rust"]);
    }
    let id = scheduled(&app, &ada, &["bob"]);
    app.advance(SETTLED - MOMENT);
    ada.call("meetings/lifecycle/addParticipant", json!({"meetingId": id, "userId": "cleo"})).value();
    app.advance(SETTLED - MOMENT);
    assert_eq!(app.count::<Prompt>(), 0);
    app.advance(MOMENT);
    let of_ada = contents(&ada, PRE_CALL, &id);
    for name in ["bob", "cleo"] {
        let shared = format!("You and {name} share an interest in Chess and Rust: ask what {name} does with Chess");
        assert!(of_ada.contains(&shared), "{of_ada:?}");
    }
    assert!(contents(&cleo, PRE_CALL, &id).iter().any(|content| content.starts_with("You and ada share")));
    // No change, no new prompt.
    let before = app.count::<Prompt>();
    app.advance(10 * SETTLED);
    assert_eq!(app.count::<Prompt>(), before);
    // Removed users appear in no new prompt; existing ones stay.
    ada.call("meetings/lifecycle/removeParticipant", json!({"meetingId": id, "userId": "bob"})).value();
    app.advance(SETTLED);
    assert_eq!(app.count::<Prompt>(), before);
}

#[test]
fn an_invitation_that_is_taken_up_makes_prompts_too() {
    let app = TestApp::new();
    let ada = app.user("ada");
    interests(&ada, &["chess"]);
    let id = scheduled(&app, &ada, &["bob"]);
    app.advance(SETTLED);
    let bob = app.user("bob");
    interests(&bob, &["chess"]);
    app.advance(SETTLED);
    assert!(contents(&bob, PRE_CALL, &id).iter().any(|content| content.starts_with("You and ada share")));
    assert!(contents(&ada, PRE_CALL, &id).iter().any(|content| content.starts_with("You and bob share")));
}

#[test]
fn a_meeting_that_has_begun_or_was_called_off_gets_none() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    interests(&ada, &["chess"]);
    interests(&bob, &["chess"]);
    meeting(&ada, &["bob"]);
    let begun = scheduled(&app, &ada, &["bob"]);
    let off = scheduled(&app, &ada, &["bob"]);
    ada.call("meetings/lifecycle/startMeeting", json!({"meetingId": begun})).value();
    ada.call("meetings/lifecycle/cancelMeeting", json!({"meetingId": off})).value();
    app.advance(2 * SETTLED);
    assert_eq!(app.count::<Prompt>(), 0);
}

#[test]
fn title_description_and_roles_are_evidence() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    works_as(&ada, "Founder");
    works_as(&bob, "Investor");
    let later = app.now().get() + 3_600_000;
    let id = create(
        &ada,
        json!({
            "scheduledAt": later, "participantEmails": emails(&["bob"]), "title": "Seed round",
            "description": "Which investors does the seed round need?",
        }),
    );
    app.advance(SETTLED);
    let prompts = shown(&ada, PRE_CALL, &id);
    let first = &prompts[0];
    assert_eq!(first["content"], "You come as founder, bob as investor: what could each of you do for the other?");
    assert_eq!(first["tags"], json!(["complementary-role", "founder", "investor"]));
    assert_eq!(first["createdAt"], app.now().get());
    let relevance: Vec<f64> = prompts.iter().map(|prompt| prompt["relevance"].as_f64().unwrap()).collect();
    assert!(relevance.windows(2).all(|two| two[0] >= two[1]), "{relevance:?}");
    let contents = contents(&ada, PRE_CALL, &id);
    assert!(contents.iter().any(|content| content.contains("Which investors does the seed round need?")));
    assert!(contents.contains(&"What should be settled at the end of “Seed round”?".to_owned()));
}

/// A concluded meeting about the budget that these users joined, with insights.
fn earlier(app: &TestApp, host: &TestCaller<'_>, other: &str, joins: &[&TestCaller<'_>]) {
    let id = create(host, json!({"title": "Kickoff", "participantEmails": emails(&[other])}));
    joins.iter().for_each(|caller| join(caller, &id));
    super::say(host, &id, 0, "I'll write the budget plan by Friday.");
    host.call("meetings/lifecycle/endMeeting", json!({"meetingId": id})).value();
    app.advance(Duration::from_secs(30));
}

#[test]
fn an_earlier_meeting_of_the_same_people_is_remembered() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    earlier(&app, &ada, "bob", &[&ada, &bob]);
    let id = scheduled(&app, &ada, &["bob"]);
    app.advance(SETTLED);
    let of_ada = contents(&ada, PRE_CALL, &id);
    assert!(of_ada[0].starts_with("From “Kickoff”: what became of “ada: write the budget plan"), "{of_ada:?}");
    assert!(of_ada.contains(&"You met bob in “Kickoff”: what has changed since?".to_owned()));
    assert!(contents(&bob, PRE_CALL, &id).contains(&"You met ada in “Kickoff”: what has changed since?".to_owned()));
}

#[test]
fn absent_participant_gets_no_prompts_from_an_earlier_meeting() {
    let app = TestApp::new();
    let (ada, bob, cleo) = (app.user("ada"), app.user("bob"), app.user("cleo"));
    for caller in [&bob, &cleo] {
        id_of(caller);
    }
    // Bob was invited and never joined; Cleo was not invited.
    earlier(&app, &ada, "bob", &[&ada]);
    let id = scheduled(&app, &ada, &["bob", "cleo"]);
    app.advance(SETTLED);
    for caller in [&ada, &bob, &cleo] {
        let contents = contents(caller, PRE_CALL, &id);
        assert!(!contents.is_empty() && contents.iter().all(|content| !content.contains("Kickoff")), "{contents:?}");
    }
}

#[test]
fn queue_roles_are_shown_to_matched_users_only() {
    let app = TestApp::new();
    let (ada, bob, cleo) = (app.user("ada"), app.user("bob"), app.user("cleo"));
    let now = app.now().get();
    for (caller, roles) in [(&ada, ["mentor"]), (&bob, ["mentee"]), (&cleo, ["junior"])] {
        let constraints = json!({"interests": [], "roles": roles});
        let window = json!({"availableFrom": now, "availableTo": now + 3_600_000, "constraints": constraints});
        caller.call("matching/index/enterMatchingQueue", window).value();
        app.advance(Duration::from_secs(1));
    }
    let id = scheduled(&app, &ada, &["bob", "cleo"]);
    app.advance(SETTLED);
    let of_ada = contents(&ada, PRE_CALL, &id);
    assert!(of_ada.iter().any(|content| content.contains("You come as mentor, bob as mentee")), "{of_ada:?}");
    assert!(of_ada.iter().all(|content| !content.contains("cleo as")), "{of_ada:?}");
    assert!(contents(&cleo, PRE_CALL, &id).iter().all(|content| !content.contains("You come as")));
}
