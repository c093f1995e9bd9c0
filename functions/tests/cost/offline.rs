//! The offline queue: settled operations cost nothing.

use std::time::Duration;

use convoke::mutation;
use convoke::prelude::*;
use convoke::testing::{TestApp, TestCaller};
use functions::meetings::lifecycle::{RemoveParticipant, remove_participant};
use functions::notes::offline::{ClearSyncedOperations, clear_synced_operations};
use functions::notes::queries::GetMeetingNotes;
use functions::system::retention;
use schema::{BridgeEntry, NoteOperation, OfflineChain, OfflineOperation, OperationType};
use serde_json::{Value, json};

/// Clears the queue and returns the number of rows read.
#[mutation]
pub(crate) fn read_to_clear(ctx: &mut MutationCtx, args: ClearSyncedOperations) -> Result<u64> {
    let before = ctx.db().rows_read();
    ctx.run::<clear_synced_operations>(args)?;
    Ok(ctx.db().rows_read() - before)
}

/// Removes a participant and returns the number of rows read.
#[mutation]
pub(crate) fn read_to_remove(ctx: &mut MutationCtx, args: RemoveParticipant) -> Result<u64> {
    let before = ctx.db().rows_read();
    ctx.run::<remove_participant>(args)?;
    Ok(ctx.db().rows_read() - before)
}

/// Deletes expired rows and returns the number of rows read completely.
#[mutation]
pub(crate) fn read_to_delete(ctx: &mut MutationCtx, args: NoArgs) -> Result<u64> {
    let before = ctx.db().rows_read();
    ctx.run::<retention>(args)?;
    Ok(ctx.db().rows_read() - before)
}

/// Writes the bridges of all chains in the form of earlier releases.
#[mutation]
pub(crate) fn name_bridges(ctx: &mut MutationCtx, args: GetMeetingNotes) -> Result<()> {
    let entries = ctx.db().query(NoteOperation::by_meeting_sequence).eq(args.meeting_id).take(100)?;
    for chain in ctx.db().scan::<OfflineChain>().take(100)? {
        let named = |entry: &BridgeEntry| match *entry {
            BridgeEntry::Carried(sequence, position, units) => {
                let entry = entries.iter().find(|entry| entry.sequence == sequence);
                let kind = if units < 0 { OperationType::Delete } else { OperationType::Insert };
                entry.map(|entry| BridgeEntry::Named { id: entry.id(), kind, position, length: units.abs() })
            }
            BridgeEntry::Named { .. } => Some(*entry),
        };
        let bridge = chain.bridge.iter().filter_map(named).collect();
        ctx.db_mut().patch_doc(chain, |chain| chain.bridge = bridge)?;
    }
    Ok(())
}

/// Creates a meeting of Ada with Ben, who queued this number of operations that were in the notes already.
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
fn removing_a_participant_does_not_read_old_operations() {
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

#[test]
fn a_chain_of_an_earlier_release_goes_on() {
    let app = TestApp::new();
    let meeting = meeting(&app, 0);
    let (ada, ben) = (app.user("ada"), app.user("ben"));
    let edit = |operation: Value| {
        let args = json!({"meetingId": meeting, "clientSequence": 1_000, "operation": operation});
        ada.call("notes/index/applyNoteOperation", args).value();
    };
    let queue = |place: usize| {
        let operation = json!({
            "id": format!("o{place}"), "clientId": "c", "authorId": "ben", "attempts": 0, "queuedAt": 1, "timestamp": 1,
            "sequence": place, "status": "pending", "type": "insert", "position": 4 + place, "content": place.to_string(),
        });
        let args = json!({"meetingId": meeting, "clientId": "c", "baseSequence": 1, "operations": [operation]});
        ben.call("notes/offline/queueOfflineOperations", args).value();
        app.advance(Duration::from_secs(1));
    };
    edit(json!({"type": "insert", "position": 0, "content": "base"}));
    edit(json!({"type": "insert", "position": 0, "content": "> "}));
    edit(json!({"type": "delete", "position": 2, "length": 1}));
    queue(0);
    let long = json!({"meetingId": meeting});

    ada.call("offline/nameBridges", long.clone()).value();
    edit(json!({"type": "insert", "position": 0, "content": "> "}));
    queue(1);

    let text = ada.call("notes/queries/getMeetingNotes", long);
    assert_eq!(text.value()["content"], "> > ase01");
}
