//! Automatically generated insights.

use std::time::Duration;

use convoke::Id;
use convoke::testing::{TestApp, TestCaller};
use convoke::workflows::{Run, RunState};
use schema::Insight;
use serde_json::json;

use super::service::{Service, good, status};
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
    assert_eq!((app.count::<Run>(), app.count::<Insight>()), (0, 0));
}

#[test]
fn failed_model_is_retried_before_the_next_meeting_gets_prompts() {
    let service = Service::new([vec![status(400, ""); 6], vec![good("They planned.")]].concat());
    let app = TestApp::with(|options| {
        let table = format!("[insights]\nbase_url = {:?}\nmodel = \"m1\"\nfallback = false\n", service.url);
        options.settings = table.parse().unwrap();
    });
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let id = gathering(&app);
    say(&ada, &id, 10, "I will write the release plan by Friday.");
    let next = scheduled(&app, &ada, &["bob"]);
    let alone = scheduled(&app, &ada, &[]);
    app.advance(Duration::from_secs(10));
    let shown = |caller: &TestCaller<'_>, id: &str| {
        let prompts = caller.call("prompts/queries/getPreCallPrompts", json!({"meetingId": id}));
        prompts.value().as_array().unwrap().len()
    };
    let before = (shown(&ada, &next), shown(&bob, &next), shown(&ada, &alone));
    end(&app, &id);
    app.advance(HALF_A_MINUTE);
    let run = the_run(&app);
    let steps = app.workflow(run);
    assert_eq!(steps.state, RunState::Active);
    assert_eq!((steps.steps()[0].attempts, steps.steps().len()), (1, 1), "the first attempt has failed");
    app.advance(Duration::from_secs(2));
    let steps = app.workflow(run);
    assert_eq!(steps.state, RunState::Completed, "{steps:?}");
    let names: Vec<&str> = steps.steps().iter().map(|step| &*step.name).collect();
    assert_eq!(names, ["insights/afterMeeting", "prompts/inputs/nextMeetings", "prompts/beforeMeeting"]);
    assert_eq!(own(&ada, &id)["summary"], "They planned.");
    assert!(shown(&ada, &next) > before.0 && shown(&bob, &next) > before.1, "both have met before");
    assert_eq!(shown(&ada, &alone), before.2, "of another meeting, nothing is new");
}

#[test]
fn meeting_that_is_ended_by_the_idle_rule_is_followed_up_once() {
    let app = TestApp::new();
    let id = gathering(&app);
    write(&app.user("ada"), &id, "- [ ] Ada: write the plan\n");
    app.advance(Duration::from_secs(25 * 3_600));
    assert_eq!(app.count::<Insight>(), 3);
    let run = app.workflow(the_run(&app));
    assert_eq!((run.state, run.key.as_deref()), (RunState::Completed, Some(&*id)));
}

/// The only run of a workflow.
fn the_run(app: &TestApp) -> Id<Run> {
    let runs = app.read(|db| Ok(db.scan::<Run>().take(10)?));
    assert_eq!(runs.len(), 1);
    runs[0].id()
}
