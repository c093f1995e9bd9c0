//! Automatically generated insights.

use std::time::Duration;

use convoke::testing::TestApp;
use schema::Insight;
use serde_json::json;

use super::{counted, end, gathering, generate, own, say, write};
use crate::support::scheduled;

const HALF_A_MINUTE: Duration = Duration::from_secs(30);

#[test]
fn they_come_half_a_minute_after_the_end() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = gathering(&app);
    say(&ada, &id, 10, "I will write the release plan by Friday.");
    end(&app, &id);
    app.advance(HALF_A_MINUTE - Duration::from_millis(1));
    assert_eq!(app.count::<Insight>(), 0);
    app.advance(Duration::from_millis(1));
    assert_eq!(app.count::<Insight>(), 3);
    assert_eq!(own(&app.user("carol"), &id)["generator"], "builtin/7");
    assert_eq!(counted(&generate(&ada, &id)).0, 0, "nothing is left to be made");
}

#[test]
fn those_of_the_meeting_are_used_again() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = gathering(&app);
    write(&ada, &id, "- [ ] Ada: write the plan\n");
    generate(&ada, &id).value();
    let before = own(&ada, &id);
    end(&app, &id);
    app.advance(HALF_A_MINUTE);
    assert_eq!(own(&ada, &id), before);
}

#[test]
fn a_restart_in_between_loses_nothing() {
    let mut app = TestApp::new();
    let id = gathering(&app);
    write(&app.user("ada"), &id, "- [ ] Ada: write the plan\n");
    end(&app, &id);
    app.restart();
    app.advance(HALF_A_MINUTE);
    assert_eq!(app.count::<Insight>(), 3);
}

#[test]
fn a_cancelled_meeting_gets_none() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = scheduled(&app, &ada, &[]);
    write(&ada, &id, "- [ ] Ada: write the plan\n");
    ada.call("meetings/lifecycle/cancelMeeting", json!({"meetingId": id})).value();
    app.advance(HALF_A_MINUTE);
    assert!(app.pending_jobs().iter().all(|job| job.path != "insights/afterMeeting"));
    assert_eq!(app.count::<Insight>(), 0);
}
