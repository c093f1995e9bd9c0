//! `createMatchMeeting`.

use convoke::Code;
use convoke::testing::TestApp;
use schema::Meeting;
use serde_json::json;

use super::{DAY, HOUR_MS, SECOND, enter, history, matched, say, shown};
use crate::support::{assert_consistent, listed};

const CREATE: &str = "matching/lifecycle/createMatchMeeting";

#[test]
fn both_host_the_meeting_at_the_time_that_suits_both() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let now = app.now().get();
    let window = json!({"availableFrom": now + HOUR_MS, "availableTo": now + HOUR_MS + 1_200_000});
    enter(&app, &ada, json!({"availableTo": now + 3 * HOUR_MS})).value();
    enter(&app, &bob, window).value();
    app.advance(SECOND);
    let id = history(&ada)[0]["matchId"].as_str().unwrap().to_owned();
    let made = bob.call(CREATE, json!({"matchId": id}));
    let features = json!({"recording": false, "transcription": true, "maxParticipants": 2});
    assert_eq!(made.value()["features"], features);
    assert_eq!(made.value()["webrtcReady"], true);
    let meeting = made.value()["meetingId"].as_str().unwrap().to_owned();
    for name in ["ada", "bob"] {
        assert_eq!(listed(&ada, &meeting, name).unwrap()["role"], "host");
    }
    let row = ada.call("meetings/queries/getMeeting", json!({"meetingId": meeting})).value().clone();
    let found = shown(&ada, &id);
    assert_eq!(found["meetingId"], meeting.as_str());
    let stored = app.read(|db| Ok(db.scan::<Meeting>().first()?.unwrap()));
    assert_eq!(stored.meeting_type.as_str(), "one-on-one");
    assert_eq!(stored.scheduled_at.unwrap().get(), now + HOUR_MS, "{row}");
    assert_eq!(stored.duration.get(), 1_200_000);
    assert_eq!(stored.title.as_str(), "ada and bob");
    assert_consistent(&app);
    app.advance(5 * SECOND);
}

#[test]
fn concurrent_calls_create_one_match_meeting() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let id = matched(&app, &ada, &bob);
    let calls = (0..8).map(|at| {
        let (caller, args) = (if at % 2 == 0 { ada.clone() } else { bob.clone() }, json!({"matchId": id}));
        async move { caller.call_async(CREATE, args).await.value().clone() }
    });
    let made = app.block_on(futures_util::future::join_all(calls));
    assert!(made.iter().all(|one| one == &made[0]));
    assert_eq!(app.count::<Meeting>(), 1);
    // Also after the match is no longer open.
    say(&ada, &id, "declined").value();
    assert_eq!(bob.call(CREATE, json!({"matchId": id})).value(), &made[0]);
}

#[test]
fn only_an_open_match_becomes_a_meeting() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let id = matched(&app, &ada, &bob);
    say(&bob, &id, "declined").value();
    ada.call(CREATE, json!({"matchId": id})).assert_refused(Code::FailedPrecondition, "Match is not open");
    say(&bob, &id, "accepted").value();
    app.clock().set(app.now() + DAY / 24);
    ada.call(CREATE, json!({"matchId": id})).assert_refused(Code::FailedPrecondition, "Match is not open");
    assert_eq!(app.count::<Meeting>(), 0);
    app.run_due();
}
