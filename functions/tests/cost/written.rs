//! The bytes that count against a user's hourly limit of writes.

use convoke::embed::Limits;
use convoke::prelude::*;
use convoke::testing::{Reply, TestApp, TestCaller};
use convoke::{args, mutation, value};
use functions::notes::index::{ApplyNoteOperation, apply_note_operation};
use schema::{Meeting, Natural};
use serde_json::{Value, json};

/// Keystrokes per hour: 250 per minute without a pause.
const KEYSTROKES: u64 = 15_000;

/// A user who types without a pause, deletes every twelfth letter, and continues elsewhere after each line.
#[args]
#[derive(Clone, Copy)]
pub(crate) struct Typist {
    meeting_id: Id<Meeting>,
    cursor: i64,
    units: i64,
    keystrokes: i64,
}

impl Typist {
    fn next(&mut self) -> Result<ApplyNoteOperation> {
        self.keystrokes += 1;
        if self.keystrokes % 60 == 0 {
            self.cursor = self.keystrokes * 7_919 % self.units;
        }
        let operation = if self.keystrokes % 12 == 0 && self.cursor > 0 {
            self.cursor -= 1;
            self.units -= 1;
            json!({"type": "delete", "position": self.cursor, "length": 1})
        } else {
            self.cursor += 1;
            self.units += 1;
            json!({"type": "insert", "position": self.cursor - 1, "content": "e"})
        };
        let operation_id = format!("0f8fad5b-d9cb-469f-a165-70867728950e:{}", self.keystrokes);
        Ok(ApplyNoteOperation {
            meeting_id: self.meeting_id,
            client_sequence: Natural::new(1_000_000).map_err(Error::internal)?,
            expected_version: None,
            operation: serde_json::from_value(operation).map_err(Error::internal)?,
            operation_id: Some(serde_json::from_value(json!(operation_id)).map_err(Error::internal)?),
            strict: false,
        })
    }
}

/// The work of a typist.
#[value]
pub(crate) struct Typed {
    cursor: i64,
    units: i64,
    bytes: u64,
}

/// Applies the next hundred keystrokes, each like a separate call, and returns their bytes.
#[mutation]
pub(crate) fn typed(ctx: &mut MutationCtx, mut typist: Typist) -> Result<Typed> {
    let before = ctx.db_mut().writer().bytes_written();
    for _ in 0..100 {
        ctx.run::<apply_note_operation>(typist.next()?)?;
    }
    let bytes = ctx.db_mut().writer().bytes_written() - before;
    Ok(Typed { cursor: typist.cursor, units: typist.units, bytes })
}

/// An app with this limit of bytes, a stopped clock, and no limit of calls.
fn app(bytes: u64) -> TestApp {
    TestApp::with(|options| {
        options.limits.user_bytes_written_burst = bytes;
        options.settings = "[rates]\nnotes = 0\nwrite = 0".parse().expect("settings are TOML");
    })
}

fn meeting(host: &TestCaller<'_>, others: &[String]) -> Value {
    let args = json!({"title": "Notes", "participantEmails": others, "maxParticipants": 20});
    let made = host.call("meetings/lifecycle/createMeeting", args);
    made.value()["meetingId"].clone()
}

fn edit(caller: &TestCaller<'_>, meeting: &Value, operation: &Value) -> Reply {
    let args = json!({"meetingId": meeting, "clientSequence": 1_000_000, "operation": operation});
    caller.call("notes/index/applyNoteOperation", args)
}

#[test]
fn hour_of_fast_typing_fits_in_a_quarter_of_the_quota() {
    let quarter = Limits::default().user_bytes_written_per_hour / 4;
    let app = app(quarter);
    let (ada, ben) = (app.user("ada"), app.user("ben"));
    ada.call("users/queries/getCurrentUser", json!({})).value();
    let meeting = meeting(&ben, &["ada@example.com".to_owned()]);
    edit(&ben, &meeting, &json!({"type": "insert", "position": 0, "content": "minutes ".repeat(7_500)})).value();

    let (mut cursor, mut units, mut bytes) = (30_000, 60_000, 0);
    for keystrokes in (0..KEYSTROKES).step_by(100) {
        let args = json!({"meetingId": meeting, "cursor": cursor, "units": units, "keystrokes": keystrokes});
        let typed: Typed = serde_json::from_value(ada.call("written/typed", args).value().clone()).expect("so it says");
        (cursor, units) = (typed.cursor, typed.units);
        bytes += typed.bytes;
    }

    println!("an hour of typing: {bytes} bytes, {} a keystroke", bytes / KEYSTROKES);
    assert!(bytes < quarter, "{bytes} bytes");
    assert!(bytes > KEYSTROKES * 200, "the log keeps each of them: {bytes} bytes");
}

/// Returns the number of calls until one is rejected because of its bytes.
fn calls_until_refused(most: usize, mut call: impl FnMut() -> Reply) -> usize {
    let refused = (0..=most).map(|calls| (calls, call())).find(|(_, reply)| !reply.is_success());
    let (calls, refused) = refused.unwrap_or_else(|| panic!("{most} calls went through"));
    assert!(refused.message().starts_with("Too much written"), "{refused:?}");
    calls
}

#[test]
fn long_texts_that_are_put_in_and_taken_out_again_are_counted_whole() {
    let app = app(4_000_000);
    let ada = app.user("ada");
    let meeting = meeting(&ada, &[]);
    let long = json!({"type": "insert", "position": 0, "content": "x".repeat(100_000)});
    let operations = [long, json!({"type": "delete", "position": 0, "length": 100_000})];
    let mut turns = operations.iter().cycle();

    let calls = calls_until_refused(80, || edit(&ada, &meeting, turns.next().expect("it goes on for ever")));

    assert!(calls >= 30, "{calls}");
}

#[test]
fn a_signal_to_all_is_counted_for_each_that_gets_it() {
    let app = app(4_000_000);
    let ada = app.user("ada");
    let others: Vec<String> = (0..16).map(|n| format!("guest-{n}")).collect();
    for guest in &others {
        app.user(guest).call("users/queries/getCurrentUser", json!({})).value();
    }
    let addresses: Vec<String> = others.iter().map(|guest| format!("{guest}@example.com")).collect();
    let meeting = meeting(&ada, &addresses);
    let connected = |caller: &TestCaller<'_>, session: &str| {
        let args = json!({"meetingId": meeting, "sessionId": session, "state": "connected"});
        caller.call("meetings/webrtc/index/updateSessionState", args).value();
    };
    connected(&ada, "a");
    others.iter().for_each(|guest| connected(&app.user(guest), guest));

    let signal = json!({
        "meetingId": meeting, "sessionId": "a", "kind": "ice", "payload": {"text": "x".repeat(60_000)},
    });
    let calls = calls_until_refused(5, || ada.call("meetings/webrtc/signaling/sendSignal", signal.clone()));

    assert!(calls >= 3, "{calls}");
}
