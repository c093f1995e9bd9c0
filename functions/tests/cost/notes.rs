//! Notes: what an operation costs depends on neither the length of the text nor that of the log.

use convoke::mutation;
use convoke::prelude::*;
use convoke::testing::{TestApp, TestCaller};
use functions::notes::index::{ApplyNoteOperation, apply_note_operation};
use functions::notes::queries::{GetMeetingNotes, get_meeting_notes};
use schema::{NoteOperation, NotePiece};
use serde_json::{Value, json};

/// Applies an operation and says how many statements that took.
#[mutation]
pub fn applied(ctx: &mut MutationCtx, args: ApplyNoteOperation) -> Result<i64> {
    let before = ctx.db().statements();
    ctx.run::<apply_note_operation>(args)?;
    Ok(i64::try_from(ctx.db().statements() - before).unwrap_or(i64::MAX))
}

/// Reads the notes and says how many statements that took.
#[mutation]
pub fn read(ctx: &mut MutationCtx, args: GetMeetingNotes) -> Result<i64> {
    let before = ctx.db().statements();
    ctx.run::<get_meeting_notes>(args)?;
    Ok(i64::try_from(ctx.db().statements() - before).unwrap_or(i64::MAX))
}

/// Applies an operation and says how many rows were read whole for that.
#[mutation]
pub fn read_to_apply(ctx: &mut MutationCtx, args: ApplyNoteOperation) -> Result<u64> {
    let before = ctx.db().rows_read();
    ctx.run::<apply_note_operation>(args)?;
    Ok(ctx.db().rows_read() - before)
}

/// Takes the shape out of all entries of a log, as earlier releases left them.
#[mutation]
pub fn make_old(ctx: &mut MutationCtx, args: GetMeetingNotes) -> Result<()> {
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

    /// Statements of an operation made so many entries before the log's end.
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
    // A long way behind is still one statement more, and an edge between two pieces one piece more.
    let at_the_end = long.statements(0, insert(50_000, "typed"));
    assert_eq!(long.statements(5_000, insert(50_000, "late")), at_the_end + 1);
    assert!(long.statements(0, delete(10_000, 20_000)) <= at_the_end + 10);
}

#[test]
fn reading_costs_the_same_however_long_the_text_is() {
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
