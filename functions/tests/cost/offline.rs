//! The offline queue: what is settled long ago costs nothing any more.

use std::time::Duration;

use convoke::mutation;
use convoke::prelude::*;
use convoke::testing::{TestApp, TestCaller};
use functions::meetings::lifecycle::{RemoveParticipant, remove_participant};
use functions::notes::offline::{ClearSyncedOperations, clear_synced_operations};
use functions::system::retention;
use schema::OfflineOperation;
use serde_json::{Value, json};

/// Clears and says how many rows were read for that.
#[mutation]
pub fn read_to_clear(ctx: &mut MutationCtx, args: ClearSyncedOperations) -> Result<u64> {
    let before = ctx.db().rows_read();
    ctx.run::<clear_synced_operations>(args)?;
    Ok(ctx.db().rows_read() - before)
}

/// Removes a participant and says how many rows were read for that.
#[mutation]
pub fn read_to_remove(ctx: &mut MutationCtx, args: RemoveParticipant) -> Result<u64> {
    let before = ctx.db().rows_read();
    ctx.run::<remove_participant>(args)?;
    Ok(ctx.db().rows_read() - before)
}

/// Deletes what is old and says how many rows were read whole for that.
#[mutation]
pub fn read_to_delete(ctx: &mut MutationCtx, args: NoArgs) -> Result<u64> {
    let before = ctx.db().rows_read();
    ctx.run::<retention>(args)?;
    Ok(ctx.db().rows_read() - before)
}

/// A meeting of Ada's with Ben in it, who queued so many operations that were in the notes already.
fn meeting(app: &TestApp, operations: usize) -> Value {
    let (ada, ben) = (app.user("ada"), app.user("ben"));
    ben.call("users/queries/getCurrentUser", json!({})).value();
    let args = json!({"title": "Notes", "participantEmails": ["ben@example.com"]});
    let meeting = ada.call("meetings/lifecycle/createMeeting", args).value()["meetingId"].clone();
    queue(&ben, &meeting, operations);
    meeting
}

fn queue(ben: &TestCaller<'_>, meeting: &Value, operations: usize) {
    let synced = |place: usize| {
        json!({
            "id": format!("o{place}"), "clientId": "c", "authorId": "ben", "attempts": 0, "queuedAt": 1, "timestamp": 1,
            "sequence": place, "status": "synced", "type": "insert", "position": 0, "content": "x",
        })
    };
    for first in (0..operations).step_by(500) {
        let operations: Vec<Value> = (first..operations.min(first + 500)).map(synced).collect();
        let args = json!({"meetingId": meeting, "clientId": "c", "operations": operations});
        ben.call("notes/offline/queueOfflineOperations", args).value();
    }
}

fn rows(caller: &TestCaller<'_>, path: &str, args: Value) -> u64 {
    caller.call(path, args).value().as_u64().expect("a count is a number")
}

#[test]
fn clearing_nothing_does_not_walk_the_queue() {
    let app = TestApp::new();
    let read = |operations: usize| {
        let meeting = meeting(&app, operations);
        rows(&app.user("ben"), "offline/readToClear", json!({"meetingId": meeting, "clientId": "c"}))
    };

    let few = read(20);

    assert_eq!(read(2_000), few);
    assert!(few < 20, "{few} rows to see that nothing is old enough");
}

#[test]
fn removing_somebody_does_not_read_what_he_did_long_ago() {
    let app = TestApp::new();
    let read = |operations: usize| {
        let meeting = meeting(&app, operations);
        rows(&app.user("ada"), "offline/readToRemove", json!({"meetingId": meeting, "userId": "ben"}))
    };

    assert_eq!(read(2_000), read(0));
}

#[test]
fn old_operations_are_deleted_unread_and_a_few_at_a_time() {
    let app = TestApp::new();
    meeting(&app, 70);
    app.clock().advance(Duration::from_secs(31 * 24 * 3_600));

    let read = rows(&app.user("ada"), "offline/readToDelete", json!({}));

    assert_eq!(app.count::<OfflineOperation>(), 70 - 32);
    assert!(read < 10, "{read} rows read");
    app.advance(Duration::from_secs(1));
    assert_eq!(app.count::<OfflineOperation>(), 0);
}
