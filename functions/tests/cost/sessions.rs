//! Media sessions: the cost of a user's actions is independent of the number of other connected users.

use convoke::mutation;
use convoke::prelude::*;
use convoke::testing::TestApp;
use functions::meetings::lifecycle::{OneMeeting, leave_meeting};
use serde_json::json;

/// Leaves and returns the number of rows read.
#[mutation]
pub(crate) fn read_to_leave(ctx: &mut MutationCtx, args: OneMeeting) -> Result<u64> {
    let before = ctx.db().rows_read();
    ctx.run::<leave_meeting>(args)?;
    Ok(ctx.db().rows_read() - before)
}

/// Returns the number of rows read when Ben leaves a meeting with this number of other connected users.
fn read_with(others: usize) -> u64 {
    let app = TestApp::new();
    let names: Vec<String> = (0..others).map(|place| format!("other{place}")).chain(["ben".to_owned()]).collect();
    for name in &names {
        app.user(name).call("users/queries/getCurrentUser", json!({})).value();
    }
    let emails: Vec<String> = names.iter().map(|name| format!("{name}@example.com")).collect();
    let args = json!({"title": "Large", "maxParticipants": 100, "participantEmails": emails});
    let meeting = app.user("ada").call("meetings/lifecycle/createMeeting", args).value()["meetingId"].clone();
    for name in &names {
        let args = json!({"meetingId": meeting, "sessionId": name, "state": "connected"});
        app.user(name).call("meetings/webrtc/index/updateSessionState", args).value();
    }
    let read = app.user("ben").call("sessions/readToLeave", json!({"meetingId": meeting}));
    read.value().as_u64().expect("a count is a number")
}

#[test]
fn leaving_does_not_read_the_sessions_of_others() {
    assert_eq!(read_with(40), read_with(2));
}
