//! `recordPromptFeedback`, and its effect on queries.

use convoke::Code;
use convoke::testing::TestApp;
use schema::Prompt;
use serde_json::{Value, json};

use super::{GENERATE, IN_CALL, PRE_CALL, generate, shown};
use crate::support::{create, id_of, meeting};

const FEEDBACK: &str = "prompts/mutations/recordPromptFeedback";

const DESCRIPTION: &str = "Which tools does the design team need? Who pays for the tools of the design team? \
                           When does the design team move to the new office?";

#[test]
fn a_dismissed_prompt_is_not_shown_and_not_made_again() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = create(&ada, json!({"description": DESCRIPTION}));
    let made = generate(&ada, &id, "pre-call");
    let all = shown(&ada, PRE_CALL, &id);
    assert_eq!(made["generated"], all.len());
    assert_eq!(made["promptIds"], json!(all.iter().map(|prompt| &prompt["_id"]).collect::<Vec<_>>()));
    let say = |at: usize, feedback: &str| {
        let reply = ada.call(FEEDBACK, json!({"promptId": all[at]["_id"], "feedback": feedback}));
        assert_eq!(reply.value(), &Value::Null);
    };
    say(0, "dismissed");
    say(1, "used");
    say(1, "upvoted");
    let left = shown(&ada, PRE_CALL, &id);
    assert_eq!((left.len(), &left[0]["_id"]), (all.len() - 1, &all[1]["_id"]));
    assert_eq!((&left[0]["feedback"], left[1].get("feedback")), (&json!("upvoted"), None));
    // Neither by another call nor by force.
    assert_eq!(generate(&ada, &id, "pre-call")["generated"], 0);
    let forced = ada.call(GENERATE, json!({"meetingId": id, "kind": "pre-call", "forceRegenerate": true}));
    assert_eq!(forced.value()["generated"], left.len() - 1);
    let again = shown(&ada, PRE_CALL, &id);
    assert!(again.iter().all(|prompt| prompt["content"] != all[0]["content"]));
    // Prompts with feedback keep their row; the others are replaced.
    assert!(again.iter().any(|prompt| prompt["_id"] == all[1]["_id"]));
    assert!(again.iter().all(|prompt| prompt["_id"] != all[2]["_id"]));
    say(0, "used");
    assert_eq!(shown(&ada, PRE_CALL, &id).len(), all.len());
}

#[test]
fn only_ones_own_are_seen_and_judged() {
    let app = TestApp::new();
    let (ada, bob, eve) = (app.user("ada"), app.user("bob"), app.user("eve"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    generate(&ada, &id, "pre-call");
    let own = shown(&ada, PRE_CALL, &id)[0]["_id"].clone();
    assert!(shown(&bob, PRE_CALL, &id).is_empty() && shown(&ada, IN_CALL, &id).is_empty());
    for (caller, prompt) in [(&bob, &own), (&eve, &own), (&ada, &json!("prompt_00000000000000000000000001"))] {
        let reply = caller.call(FEEDBACK, json!({"promptId": prompt, "feedback": "used"}));
        reply.assert_refused(Code::NotFound, "Prompt not found");
    }
    for path in [PRE_CALL, IN_CALL] {
        eve.call(path, json!({"meetingId": id}))
            .assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
        assert_eq!(app.nobody().call(path, json!({"meetingId": id})).code(), "UNAUTHENTICATED");
        for limit in [0, 21] {
            assert_eq!(ada.call(path, json!({"meetingId": id, "limit": limit})).field(), Some("limit"));
        }
    }
    assert_eq!(ada.call(FEEDBACK, json!({"promptId": own, "feedback": "loved"})).field(), Some("feedback"));
    let untouched = app.read(|db| Ok(db.scan::<Prompt>().take(100)?));
    assert!(untouched.iter().all(|prompt| prompt.feedback.is_none() && prompt.feedback_at.is_none()));
}

#[test]
fn list_returns_five_prompts_by_default() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = create(&ada, json!({"description": DESCRIPTION}));
    assert!(generate(&ada, &id, "pre-call")["generated"].as_i64().unwrap() > 5);
    let usual = ada.call(PRE_CALL, json!({"meetingId": id}));
    assert_eq!(usual.value().as_array().unwrap().len(), 5);
    assert_eq!(usual.value()[0], shown(&ada, PRE_CALL, &id)[0]);
    let two = ada.call(PRE_CALL, json!({"meetingId": id, "limit": 2}));
    assert_eq!(two.value().as_array().unwrap().len(), 2);
}
