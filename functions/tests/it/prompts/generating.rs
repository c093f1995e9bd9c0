//! `generatePrompts`.

use std::collections::HashSet;

use convoke::Code;
use convoke::testing::TestApp;
use schema::Prompt;
use serde_json::json;

use super::{GENERATE, IN_CALL, PRE_CALL, contents, generate, join, say};
use crate::rights::Call;
use crate::support::{id_of, meeting, scheduled};

inventory::submit!(Call::new(GENERATE, |ids| json!({"meetingId": ids.meeting, "kind": "pre-call"})));
inventory::submit!(Call::new(GENERATE, |ids| json!({"meetingId": ids.meeting, "kind": "in-call"})));

#[test]
fn caller_generates_own_prompts_from_the_latest_speech() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    id_of(&bob);
    let id = meeting(&ada, &["bob"]);
    assert_eq!(generate(&ada, &id, "in-call"), json!({"generated": 0, "promptIds": []}));
    say(&ada, &id, 0, "Who pays for the office?");
    say(&bob, &id, 400, "The vector database is slow. Who pays for the index?");
    assert_eq!(generate(&bob, &id, "in-call")["generated"], 1);
    assert_eq!(contents(&bob, IN_CALL, &id), ["Still open: “Who pays for the index?” Who can answer it?"]);
    assert_eq!(app.count::<Prompt>(), 1);
    assert_eq!(generate(&bob, &id, "in-call")["generated"], 0);
    assert_eq!(generate(&bob, &id, "in-call")["promptIds"].as_array().unwrap().len(), 1);
}

#[test]
fn repeated_and_concurrent_calls_make_at_most_ten_distinct_prompts() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let names: Vec<String> = (0..14).map(|at| format!("guest-{at}")).collect();
    for name in &names {
        let caller = app.user(name);
        let args = json!({"userId": id_of(&caller), "interests": ["chess"]});
        caller.call("users/mutations/updateUserInterests", args).value();
    }
    let args = json!({"userId": id_of(&ada), "interests": ["chess"]});
    ada.call("users/mutations/updateUserInterests", args).value();
    let id = meeting(&ada, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let calls = (0..8).map(|_| {
        let (ada, args) = (ada.clone(), json!({"meetingId": id, "kind": "pre-call"}));
        async move { ada.call_async(GENERATE, args).await.value()["generated"].as_i64().unwrap() }
    });
    let made: i64 = app.block_on(futures_util::future::join_all(calls)).into_iter().sum();
    assert_eq!((made, app.count::<Prompt>()), (10, 10));
    let contents = contents(&ada, PRE_CALL, &id);
    assert_eq!(contents.iter().collect::<HashSet<_>>().len(), 10);
    let forced = ada.call(GENERATE, json!({"meetingId": id, "kind": "pre-call", "forceRegenerate": true}));
    assert_eq!((forced.value()["generated"].as_i64(), app.count::<Prompt>()), (Some(10), 10));
}

#[test]
fn the_state_of_the_meeting_must_fit() {
    let app = TestApp::new();
    let (ada, eve) = (app.user("ada"), app.user("eve"));
    let inactive = |id: &str, kind: &str| {
        ada.call(GENERATE, json!({"meetingId": id, "kind": kind}))
            .assert_refused(Code::FailedPrecondition, "Meeting is not currently active");
    };
    let later = scheduled(&app, &ada, &[]);
    generate(&ada, &later, "pre-call");
    inactive(&later, "in-call");
    let over = meeting(&ada, &[]);
    generate(&ada, &over, "pre-call");
    join(&ada, &over);
    ada.call("meetings/lifecycle/endMeeting", json!({"meetingId": over})).value();
    ada.call("meetings/lifecycle/cancelMeeting", json!({"meetingId": later})).value();
    for id in [&over, &later] {
        for kind in ["pre-call", "in-call"] {
            inactive(id, kind);
            eve.call(GENERATE, json!({"meetingId": id, "kind": kind}))
                .assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
        }
    }
    let nobody = app.nobody().call(GENERATE, json!({"meetingId": over, "kind": "pre-call"}));
    nobody.assert_refused(Code::Unauthenticated, "Authentication required");
    assert_eq!(ada.call(GENERATE, json!({"meetingId": over, "kind": "after-call"})).field(), Some("kind"));
}

#[test]
fn prompts_and_insights_share_their_rate() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    for at in 0..20 {
        match at % 2 {
            0 => drop(generate(&ada, &id, "pre-call")),
            _ => drop(ada.call("insights/index/generateInsights", json!({"meetingId": id})).value()),
        }
    }
    assert_eq!(ada.call(GENERATE, json!({"meetingId": id, "kind": "pre-call"})).code(), "RATE_LIMITED");
}
