//! `users/mutations/deactivateUser`, `reactivateUser`.

use convoke::Code;
use convoke::testing::TestApp;
use convoke::workflows::{Run, RunState};
use schema::{
    AuditEntry, MediaSession, OfflineOperation, OfflineStatus, Participant, Presence, QueueEntry, QueueStatus,
    SessionState,
};
use serde_json::json;

use crate::support::{admin, assert_consistent, id_of, listed, meeting, member, system};

const DEACTIVATE: &str = "users/mutations/deactivateUser";
const REACTIVATE: &str = "users/mutations/reactivateUser";

#[test]
fn deactivation_closes_open_items_and_keeps_created_data() {
    let app = TestApp::new();
    let root = admin(&app, "root", "north");
    let ada = member(&app, "ada", "north");
    let bob = member(&app, "bob", "north");
    let (ada_id, bob_id) = (id_of(&ada), id_of(&bob));
    let meeting = meeting(&ada, &["bob"]);
    for caller in [&ada, &bob] {
        caller.call("meetings/lifecycle/joinMeeting", json!({"meetingId": meeting})).value();
    }
    let put = |user: &str, session: &str| {
        let args = json!({"meetingId": meeting, "userId": user, "sessionId": session, "state": "connected"});
        system(&app).call("probes/putSession", args).value();
    };
    put(&ada_id, "a");
    put(&bob_id, "b");
    for user in [&ada_id, &bob_id] {
        let entry = json!({"userId": user, "status": "waiting"});
        system(&app).call("probes/putQueueEntry", entry).value();
        let operation = json!({"meetingId": meeting, "userId": user, "operationId": "o1", "status": "pending"});
        system(&app).call("probes/putOfflineOperation", operation).value();
    }

    root.call(DEACTIVATE, json!({"userId": ada_id})).value();
    root.call(DEACTIVATE, json!({"userId": "ada"})).value();

    let entries = app.read(|db| Ok(db.scan::<QueueEntry>().take(10)?));
    assert_eq!(
        entries.iter().map(|row| row.status).collect::<Vec<_>>(),
        [QueueStatus::Cancelled, QueueStatus::Waiting]
    );
    let sessions = app.read(|db| Ok(db.scan::<MediaSession>().take(10)?));
    assert_eq!(
        sessions.iter().map(|row| row.state).collect::<Vec<_>>(),
        [SessionState::Closed, SessionState::Connected]
    );
    let operations = app.read(|db| Ok(db.scan::<OfflineOperation>().take(10)?));
    assert_eq!((operations[0].status, operations[0].error.as_deref()), (OfflineStatus::Failed, Some("Access denied")));
    assert_eq!(operations[1].status, OfflineStatus::Pending);
    let entry = listed(&bob, &meeting, "ada").unwrap();
    assert_eq!((&entry["role"], &entry["webrtcSessionCount"]), (&json!("host"), &json!(0)), "the only host stays host");
    ada.call("users/queries/getCurrentUser", json!({})).assert_refused(Code::Forbidden, "Account is deactivated");

    root.call(REACTIVATE, json!({"userId": ada_id})).value();
    root.call(REACTIVATE, json!({"userId": ada_id})).value();
    assert_eq!(ada.call("users/queries/getCurrentUser", json!({})).value()["isActive"], true);
    let actions: Vec<String> = app
        .read(|db| Ok(db.query(AuditEntry::by_resource).eq("user").eq(ada_id.as_str()).take(10)?))
        .iter()
        .map(|row| row.action.clone())
        .collect();
    assert_eq!(actions, ["account.deactivated", "account.reactivated"]);
    assert_consistent(&app);
}

#[test]
fn a_meeting_that_only_a_deactivated_user_was_in_ends_as_an_empty_one() {
    let app = TestApp::new();
    let ada = member(&app, "ada", "north");
    let meeting = meeting(&ada, &[]);
    ada.call("meetings/lifecycle/joinMeeting", json!({"meetingId": meeting})).value();
    admin(&app, "root", "north").call(DEACTIVATE, json!({"userId": "ada"})).value();
    app.advance(std::time::Duration::from_secs(15 * 60));
    let meetings = app.read(|db| Ok(db.scan::<schema::Meeting>().take(10)?));
    assert_eq!(meetings[0].state, schema::MeetingState::Concluded);
}

#[test]
fn only_admins_of_the_organization_and_deploy_keys_close_accounts() {
    let app = TestApp::new();
    let ada = member(&app, "ada", "north");
    let id = id_of(&ada);
    let refused = "Access denied: Insufficient permissions";
    for caller in [member(&app, "col", "north"), admin(&app, "other", "south"), app.user("eve"), ada.clone()] {
        caller.call(DEACTIVATE, json!({"userId": id})).assert_refused(Code::Forbidden, refused);
        caller.call(REACTIVATE, json!({"userId": id})).assert_refused(Code::Forbidden, refused);
    }
    admin(&app, "root", "north")
        .call(DEACTIVATE, json!({"userId": "nobody"}))
        .assert_refused(Code::NotFound, "User not found");
    let key = app.deploy_key(&["admin"]);
    key.call(DEACTIVATE, json!({"userId": "ada"})).assert_refused(Code::NotFound, "User not found");
    key.call(DEACTIVATE, json!({"userId": id})).value();
    assert_eq!(ada.call("users/queries/getCurrentUser", json!({})).code(), "FORBIDDEN");
}

#[test]
fn invitations_that_came_while_an_account_was_closed_are_taken_up_when_it_opens() {
    let app = TestApp::new();
    let root = admin(&app, "root", "north");
    let bob = member(&app, "bob", "north");
    id_of(&bob);
    root.call(DEACTIVATE, json!({"userId": "bob"})).value();
    let meeting = meeting(&app.user("ada"), &["bob"]);
    assert_eq!(app.count::<schema::Invitation>(), 1, "a closed account takes part in nothing");
    root.call(REACTIVATE, json!({"userId": "bob"})).value();
    bob.call("meetings/queries/getMeeting", json!({"meetingId": meeting})).value();
}

#[test]
fn an_account_with_more_meetings_than_one_transaction_leaves_is_closed_at_once_and_left_in_parts() {
    let app = TestApp::new();
    let root = admin(&app, "root", "north");
    let ada = member(&app, "ada", "north");
    let ada_id = id_of(&ada);
    meeting(&root, &[]);
    system(&app).call("probes/putMeetings", json!({"userId": ada_id, "count": 230})).value();
    let joined = || {
        let rows = app.read(|db| Ok(db.scan::<Participant>().take(1_000)?));
        rows.iter().filter(|row| row.presence == Presence::Joined).count()
    };
    assert_eq!(joined(), 230);

    root.call(DEACTIVATE, json!({"userId": ada_id})).value();

    ada.call("users/queries/getCurrentUser", json!({})).assert_refused(Code::Forbidden, "Account is deactivated");
    assert_eq!(joined(), 180, "one call leaves some");
    assert_eq!(app.run_due(), 1 + 4, "the start of a run, and its four parts");
    assert_eq!(joined(), 0);
    let runs = app.read(|db| Ok(db.scan::<Run>().take(10)?));
    assert_eq!(
        runs.iter().map(|run| (&*run.path, run.state)).collect::<Vec<_>>(),
        [("users/leaveRemainingMeetings", RunState::Completed)]
    );
    assert_consistent(&app);
}

#[test]
fn an_account_that_is_opened_again_keeps_the_meetings_that_were_not_left_yet() {
    let app = TestApp::new();
    let root = admin(&app, "root", "north");
    let ada_id = id_of(&member(&app, "ada", "north"));
    meeting(&root, &[]);
    system(&app).call("probes/putMeetings", json!({"userId": ada_id, "count": 60})).value();
    root.call(DEACTIVATE, json!({"userId": ada_id})).value();
    root.call(REACTIVATE, json!({"userId": ada_id})).value();
    app.run_due();
    let rows = app.read(|db| Ok(db.scan::<Participant>().take(1_000)?));
    assert_eq!(rows.iter().filter(|row| row.presence == Presence::Joined).count(), 10);
}
