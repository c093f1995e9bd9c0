//! The job that ends abandoned meetings and sessions.

use std::time::Duration;

use convoke::testing::{TestApp, TestCaller};
use schema::{AuditEntry, MediaSession, Meeting, MeetingState, SessionState};
use serde_json::json;

use crate::support::{assert_consistent, id_of, listed, meeting, scheduled, system};

const MINUTE: Duration = Duration::from_secs(60);

fn sweep(app: &TestApp) {
    app.run_due();
}

/// Advances the clock by a day less a millisecond; runs only the sweeps of the last minute.
fn almost_a_day(app: &TestApp) {
    app.clock().advance(24 * 60 * MINUTE - MINUTE);
    app.advance(MINUTE - Duration::from_millis(1));
}

fn states(app: &TestApp) -> Vec<MeetingState> {
    app.read(|db| Ok(db.scan::<Meeting>().take(100)?)).iter().map(|row| row.state).collect()
}

fn come_and_go(caller: &TestCaller<'_>, id: &str) {
    for verb in ["join", "leave"] {
        caller.call(&format!("meetings/lifecycle/{verb}Meeting"), json!({"meetingId": id})).value();
    }
}

#[test]
fn a_meeting_that_is_empty_for_a_quarter_of_an_hour_is_concluded() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &["bob"]);
    come_and_go(&ada, &id);
    app.advance(15 * MINUTE - Duration::from_millis(1));
    sweep(&app);
    assert_eq!(states(&app), [MeetingState::Active]);
    app.advance(Duration::from_millis(1));
    sweep(&app);
    assert_eq!(states(&app), [MeetingState::Concluded]);
    let row = app.read(|db| Ok(db.scan::<Meeting>().first()?)).unwrap();
    assert_eq!(row.ended_at, Some(app.now()));
    assert_eq!(app.count::<schema::Invitation>(), 0);
    let last = app.read(|db| Ok(db.scan::<AuditEntry>().order(convoke::Order::Desc).first()?)).unwrap();
    assert_eq!((last.actor.as_str(), last.action.as_str()), ("system", "meeting.ended"));
    sweep(&app);
    assert_consistent(&app);
}

#[test]
fn returning_participant_keeps_the_meeting_active() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    come_and_go(&ada, &id);
    app.advance(14 * MINUTE);
    come_and_go(&ada, &id);
    app.advance(14 * MINUTE);
    sweep(&app);
    assert_eq!(states(&app), [MeetingState::Active]);
    ada.call("meetings/lifecycle/joinMeeting", json!({"meetingId": id})).value();
    app.advance(60 * MINUTE);
    sweep(&app);
    assert_eq!(states(&app), [MeetingState::Active]);
}

#[test]
fn meeting_without_joins_ends_after_a_day() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = meeting(&ada, &[]);
    ada.call("meetings/lifecycle/leaveMeeting", json!({"meetingId": id})).value();
    scheduled(&app, &ada, &[]);
    almost_a_day(&app);
    sweep(&app);
    assert_eq!(states(&app), [MeetingState::Active, MeetingState::Scheduled]);
    app.advance(Duration::from_millis(1));
    sweep(&app);
    assert_eq!(states(&app), [MeetingState::Concluded, MeetingState::Scheduled], "a scheduled one is not touched");
}

#[test]
fn meeting_ends_after_a_day_with_joined_participants() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = scheduled(&app, &ada, &[]);
    app.advance(60 * MINUTE);
    ada.call("meetings/lifecycle/joinMeeting", json!({"meetingId": id})).value();
    almost_a_day(&app);
    sweep(&app);
    assert_eq!(states(&app), [MeetingState::Active]);
    app.advance(Duration::from_millis(1));
    sweep(&app);
    assert_eq!(states(&app), [MeetingState::Concluded]);
    let entry = listed(&ada, &id, "ada").unwrap();
    assert_eq!((&entry["presence"], &entry["leftAt"]), (&json!("left"), &json!(app.now().get())));
}

#[test]
fn sessions_that_do_not_get_on_are_closed_and_no_longer_keep_a_meeting_open() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let ada_id = id_of(&ada);
    let id = meeting(&ada, &[]);
    come_and_go(&ada, &id);
    for (session, state) in [("s1", "connecting"), ("s2", "disconnected"), ("s3", "connected"), ("s4", "failed")] {
        let args = json!({"meetingId": id, "userId": ada_id, "sessionId": session, "state": state});
        system(&app).call("probes/putSession", args).value();
    }
    app.advance(5 * MINUTE - Duration::from_millis(1));
    sweep(&app);
    let of = |app: &TestApp| -> Vec<SessionState> {
        app.read(|db| Ok(db.scan::<MediaSession>().take(9)?)).iter().map(|row| row.state).collect()
    };
    assert_eq!(of(&app)[0], SessionState::Connecting);
    app.advance(Duration::from_millis(1));
    sweep(&app);
    assert_eq!(of(&app), [SessionState::Closed, SessionState::Closed, SessionState::Connected, SessionState::Failed]);
    app.advance(20 * MINUTE);
    sweep(&app);
    assert_eq!(states(&app), [MeetingState::Active], "one is connected");
    let args = json!({"meetingId": id, "userId": ada_id, "sessionId": "s3", "state": "disconnected"});
    system(&app).call("probes/putSession", args).value();
    app.advance(5 * MINUTE);
    sweep(&app);
    let emptied = app.now();
    assert_eq!(app.read(|db| Ok(db.scan::<Meeting>().first()?)).unwrap().empty_since, Some(emptied));
    app.advance(15 * MINUTE);
    sweep(&app);
    assert_eq!(states(&app), [MeetingState::Concluded]);
}

#[test]
fn more_meetings_than_one_batch_ends_are_all_concluded() {
    let app = TestApp::new();
    let ada = app.user("ada");
    for _ in 0..20 {
        come_and_go(&ada, &meeting(&ada, &[]));
    }
    app.advance(15 * MINUTE);
    assert!(states(&app).iter().all(|state| *state == MeetingState::Concluded));
    assert_consistent(&app);
}
