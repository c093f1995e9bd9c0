//! Notes: the cost of an operation is independent of the length of the text and of the log.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use convoke::mutation;
use convoke::prelude::*;
use convoke::testing::{TestApp, TestCaller};
use functions::notes::index::{
    ApplyNoteOperation, BatchApplyNoteOperations, RollbackToSequence, apply_note_operation,
    batch_apply_note_operations, rollback_to_sequence,
};
use functions::notes::offline::{SyncOfflineOperations, sync_offline_operations};
use functions::notes::queries::{GetMeetingNotes, get_meeting_notes};
use schema::{Natural, NoteCheckpoint, NoteOperation, NotePiece, Participant};
use serde_json::{Value, json};

/// Applies an operation and returns the number of its statements.
#[mutation]
pub(crate) fn applied(ctx: &mut MutationCtx, args: ApplyNoteOperation) -> Result<i64> {
    let before = ctx.db().statements();
    ctx.run::<apply_note_operation>(args)?;
    Ok(i64::try_from(ctx.db().statements() - before).unwrap_or(i64::MAX))
}

/// Reads the notes and returns the number of statements.
#[mutation]
pub(crate) fn read(ctx: &mut MutationCtx, args: GetMeetingNotes) -> Result<i64> {
    let before = ctx.db().statements();
    ctx.run::<get_meeting_notes>(args)?;
    Ok(i64::try_from(ctx.db().statements() - before).unwrap_or(i64::MAX))
}

/// Applies an operation and returns the number of rows read completely.
#[mutation]
pub(crate) fn read_to_apply(ctx: &mut MutationCtx, args: ApplyNoteOperation) -> Result<u64> {
    let before = ctx.db().rows_read();
    ctx.run::<apply_note_operation>(args)?;
    Ok(ctx.db().rows_read() - before)
}

/// Returns the number of rows read so far, completely or in an index.
fn rows(ctx: &MutationCtx) -> u64 {
    ctx.db().rows_read() + ctx.db().keys_read()
}

/// Applies an operation and returns the number of rows read in the transaction, including index entries.
#[mutation]
pub(crate) fn visited_to_apply(ctx: &mut MutationCtx, args: ApplyNoteOperation) -> Result<u64> {
    let before = rows(ctx);
    ctx.run::<apply_note_operation>(args)?;
    Ok(rows(ctx) - before)
}

/// The same of a batch.
#[mutation]
pub(crate) fn visited_to_apply_batch(ctx: &mut MutationCtx, args: BatchApplyNoteOperations) -> Result<u64> {
    let before = rows(ctx);
    ctx.run::<batch_apply_note_operations>(args)?;
    Ok(rows(ctx) - before)
}

/// The same of a drain.
#[mutation]
pub(crate) fn visited_to_sync(ctx: &mut MutationCtx, args: SyncOfflineOperations) -> Result<u64> {
    let before = rows(ctx);
    ctx.run::<sync_offline_operations>(args)?;
    Ok(rows(ctx) - before)
}

/// The same of a rollback.
#[mutation]
pub(crate) fn visited_to_roll_back(ctx: &mut MutationCtx, args: RollbackToSequence) -> Result<u64> {
    let before = rows(ctx);
    ctx.run::<rollback_to_sequence>(args)?;
    Ok(rows(ctx) - before)
}

/// Applies an operation after another user's, in one transaction: no reader sees the state in between.
#[mutation]
pub(crate) fn apply_after_another(ctx: &mut MutationCtx, args: ApplyNoteOperation) -> Result<()> {
    let operation = serde_json::from_value(insert(0, "between ")).map_err(Error::internal)?;
    let client_sequence = Natural::new(1_000_000).map_err(Error::internal)?;
    let other = ApplyNoteOperation { client_sequence, operation, ..args.clone() };
    ctx.run::<apply_note_operation>(other)?;
    ctx.run::<apply_note_operation>(args)?;
    Ok(())
}

/// Number of runs of [`apply_without_rights`].
#[derive(Default)]
struct Attempts(AtomicUsize);

/// Applies an operation; the caller leaves the meeting before it runs again.
#[mutation]
pub(crate) fn apply_without_rights(ctx: &mut MutationCtx, args: ApplyNoteOperation) -> Result<()> {
    if ctx.memory::<Attempts>().0.fetch_add(1, Relaxed) > 0 {
        for place in ctx.db().scan::<Participant>().take(10)? {
            ctx.db_mut().delete(place.id())?;
        }
    }
    ctx.run::<apply_note_operation>(args)?;
    Ok(())
}

/// Deletes all checkpoints.
#[mutation]
pub(crate) fn lose_checkpoints(ctx: &mut MutationCtx) -> Result<()> {
    for checkpoint in ctx.db().scan::<NoteCheckpoint>().take(100)? {
        ctx.db_mut().delete(checkpoint.id())?;
    }
    Ok(())
}

/// Removes the shape from all log entries, as in earlier releases.
#[mutation]
pub(crate) fn make_old(ctx: &mut MutationCtx, args: GetMeetingNotes) -> Result<()> {
    let entries = ctx.db().query(NoteOperation::by_meeting_sequence).eq(args.meeting_id).take(10_000)?;
    for entry in entries {
        ctx.db_mut().patch_doc(entry, |entry| (entry.kind, entry.position, entry.length) = (None, None, None))?;
    }
    Ok(())
}

struct Notes<'app> {
    ada: TestCaller<'app>,
    meeting: Value,
    sequence: i64,
}

impl<'app> Notes<'app> {
    fn new(app: &'app TestApp) -> Self {
        let ada = app.user("ada");
        let made = ada.call("meetings/lifecycle/createMeeting", json!({"title": "Notes"}));
        let meeting = made.value()["meetingId"].clone();
        Self { ada, meeting, sequence: 0 }
    }

    /// Returns the statements of an operation made this number of entries before the end of the log.
    fn statements(&mut self, behind: i64, operation: Value) -> i64 {
        let seen = self.sequence - behind;
        let args = json!({"meetingId": self.meeting, "clientSequence": seen, "operation": operation});
        let statements = self.ada.call("notes/applied", args);
        self.sequence += 1;
        statements.value().as_i64().expect("a count is a number")
    }

    fn batch(&mut self, operations: Vec<Value>) {
        let operations: Vec<Value> = operations.into_iter().map(|operation| json!({"operation": operation})).collect();
        self.sequence += i64::try_from(operations.len()).expect("a batch is short");
        let args = json!({"meetingId": self.meeting, "operations": operations});
        self.ada.call("notes/index/batchApplyNoteOperations", args).value();
    }
}

fn insert(position: usize, content: &str) -> Value {
    json!({"type": "insert", "position": position, "content": content})
}

fn delete(position: usize, length: usize) -> Value {
    json!({"type": "delete", "position": position, "length": length})
}

#[test]
fn an_operation_costs_the_same_in_a_long_document_with_a_long_log() {
    let app = TestApp::with(|options| options.settings = "[rates]\nnotes = 0".parse().expect("settings are TOML"));
    let mut short = Notes::new(&app);
    short.batch(vec![insert(0, "a few words"); 3]);
    let mut long = Notes::new(&app);
    long.batch(vec![insert(0, &"x".repeat(100_000))]);
    for turn in 0..100 {
        let position = turn * 7_919 % 100_000;
        long.batch((0..50).flat_map(|_| [insert(position, "y"), delete(position, 1)]).collect());
    }
    assert!(app.count::<NoteOperation>() > 10_000);
    assert!(app.count::<NotePiece>() > 12);

    for (behind, operation) in [
        (0, insert(7, "typed")),
        (0, delete(7, 1)),
        (2, insert(7, "late")),
        (2, delete(3, 2)),
        (0, json!({"type": "retain", "position": 3})),
    ] {
        let cost = short.statements(behind, operation.clone());
        assert_eq!(long.statements(behind, operation.clone()), cost, "{behind} behind: {operation}");
        assert!(cost <= 12, "{cost} statements for {operation}");
    }
    // An old base is prepared outside of the transaction, and an edge between two pieces is one piece more.
    let at_the_end = long.statements(0, insert(50_000, "typed"));
    assert_eq!(long.statements(5_000, insert(50_000, "late")), at_the_end);
    assert!(long.statements(0, delete(10_000, 20_000)) <= at_the_end + 10);
}

#[test]
fn read_cost_does_not_depend_on_text_length() {
    let app = TestApp::new();
    let mut notes = Notes::new(&app);
    notes.batch(vec![insert(0, "short")]);
    let read = |notes: &Notes<'_>| {
        notes.ada.call("notes/read", json!({"meetingId": notes.meeting})).value().as_i64().expect("a count is a number")
    };
    let short = read(&notes);

    notes.batch(vec![insert(0, &"x".repeat(100_000)); 5]);

    assert_eq!(read(&notes), short);
}

#[test]
fn an_operation_far_behind_does_not_read_the_texts_that_it_passes() {
    let app = TestApp::new();
    let read = |behind: usize| {
        let mut notes = Notes::new(&app);
        notes.batch(vec![insert(0, "y"); 50]);
        let seen = notes.sequence - i64::try_from(behind).expect("few");
        let args = json!({"meetingId": notes.meeting, "clientSequence": seen, "operation": insert(0, "late")});
        notes.ada.call("notes/readToApply", args).value().as_u64().expect("a count is a number")
    };

    assert_eq!(read(50), read(1));
}

#[test]
fn entries_of_earlier_releases_are_passed_by_their_rows() {
    let app = TestApp::new();
    let mut notes = Notes::new(&app);
    notes.batch(vec![insert(0, "abcdef"), delete(1, 2), insert(2, "--")]);
    notes.ada.call("notes/makeOld", json!({"meetingId": notes.meeting})).value();
    notes.batch(vec![insert(0, ">")]);

    let args = json!({"meetingId": notes.meeting, "clientSequence": 1, "operation": insert(6, "!")});
    notes.ada.call("notes/index/applyNoteOperation", args).value();

    let text = notes.ada.call("notes/queries/getMeetingNotes", json!({"meetingId": notes.meeting}));
    assert_eq!(text.value()["content"], ">ad--ef!");
}

fn unlimited() -> TestApp {
    TestApp::with(|options| options.settings = "[rates]\nnotes = 0".parse().expect("settings are TOML"))
}

/// Creates notes with this number of entries.
fn of_length(app: &TestApp, entries: usize) -> Notes<'_> {
    let mut notes = Notes::new(app);
    for _ in 0..entries / 100 {
        notes.batch(vec![insert(0, "y"); 100]);
    }
    notes
}

#[test]
fn transaction_reads_do_not_grow_with_the_age_of_the_base() {
    let app = unlimited();
    let visited = |behind: usize, path: &str, args: Value| {
        let notes = of_length(&app, behind);
        let mut all = json!({"meetingId": notes.meeting});
        all.as_object_mut().expect("an object").extend(args.as_object().expect("an object").clone());
        notes.ada.call(path, all).value().as_u64().expect("a count is a number")
    };
    let one = json!({"clientSequence": 0, "operation": insert(0, "late")});
    let three = json!({"expectedVersion": 0, "operations": vec![json!({"operation": insert(0, "late")}); 3]});
    for (path, args) in [("notes/visitedToApply", one), ("notes/visitedToApplyBatch", three)] {
        let near = visited(100, path, args.clone());
        assert!(near >= 100, "what is near is read in the transaction: {near}");
        for behind in [300, 1_200] {
            let far = visited(behind, path, args.clone());
            assert!(far < 20, "{path}: {far} rows for {behind} entries");
        }
    }
}

#[test]
fn drain_reads_do_not_grow_with_its_lag() {
    let app = unlimited();
    let visited = |behind: usize| {
        let mut notes = Notes::new(&app);
        let operation = json!({
            "id": "o", "clientId": "c", "authorId": "ada", "attempts": 0, "queuedAt": 1, "timestamp": 1, "sequence": 0,
            "status": "pending", "type": "insert", "position": 0, "content": "x",
        });
        let args = json!({"meetingId": notes.meeting, "clientId": "c", "operations": [operation]});
        notes.ada.call("notes/offline/queueOfflineOperations", args).value();
        for _ in 0..behind / 100 {
            notes.batch(vec![insert(0, "y"); 100]);
        }
        let args = json!({"meetingId": notes.meeting, "clientId": "c"});
        notes.ada.call("notes/visitedToSync", args).value().as_u64().expect("a count is a number")
    };
    assert!(visited(100) >= 100);
    for behind in [300, 1_200] {
        let far = visited(behind);
        assert!(far < 30, "{far} rows for {behind} entries");
    }
    app.advance(std::time::Duration::from_secs(1));
}

#[test]
fn a_rollback_reads_the_text_of_now_and_replays_a_thousand_entries_elsewhere() {
    let app = unlimited();
    let notes = of_length(&app, 2_200);
    let roll_back =
        |path: &str, target: i64| notes.ada.call(path, json!({"meetingId": notes.meeting, "targetSequence": target}));

    let visited = roll_back("notes/visitedToRollBack", 1_999);
    assert!(visited.value().as_u64().is_some_and(|rows| rows < 20), "{visited:?}");

    notes.ada.call("notes/loseCheckpoints", json!({})).value();
    let refused = roll_back("notes/index/rollbackToSequence", 1_001);
    refused.assert_refused(Code::Conflict, "History is too far behind");
    roll_back("notes/index/rollbackToSequence", 1_000).value();
    let text = notes.ada.call("notes/queries/getMeetingNotes", json!({"meetingId": notes.meeting}));
    assert_eq!(text.value()["content"], "y".repeat(1_000));
}

#[test]
fn transaction_transforms_past_a_commit_made_after_its_read() {
    let app = unlimited();
    let notes = of_length(&app, 300);
    let args = json!({"meetingId": notes.meeting, "clientSequence": 0, "operation": insert(0, "late")});

    notes.ada.call("notes/applyAfterAnother", args).value();

    let text = notes.ada.call("notes/queries/getMeetingNotes", json!({"meetingId": notes.meeting}));
    assert_eq!(text.value()["content"], format!("between {}late", "y".repeat(300)));
}

#[test]
fn lost_write_access_after_the_read_prevents_the_write() {
    let app = unlimited();
    let notes = of_length(&app, 300);
    let args = json!({"meetingId": notes.meeting, "clientSequence": 0, "operation": insert(0, "late")});

    let refused = notes.ada.call("notes/applyWithoutRights", args);

    refused.assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
    assert_eq!(app.count::<NoteOperation>(), 300);
    assert_eq!(app.runtime().memory::<Attempts>().0.load(Relaxed), 2);
}
