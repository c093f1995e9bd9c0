//! `notes/index/rollbackToSequence`.

use convoke::Code;
use convoke::testing::{Reply, TestApp, TestCaller};
use schema::{AuditEntry, NoteOperation};
use serde_json::json;

use super::room::{Room, delete, insert, unlimited};

fn roll_back(room: &Room<'_>, caller: &TestCaller<'_>, target: i64) -> Reply {
    let args = json!({"targetSequence": target, "reason": "a mistake"});
    room.call(caller, "notes/index/rollbackToSequence", args)
}

#[test]
fn the_text_goes_back_and_the_log_grows() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "one two three")).value();
    room.apply(&room.ben, 1, delete(4, 3)).value();
    room.apply(&room.ben, 2, insert(4, "2")).value();

    let back = roll_back(&room, &room.ada, 1);

    assert_eq!(back.value(), &json!({"success": true, "newVersion": 4}));
    assert_eq!(room.text(), "one two three");
    assert_eq!(room.replayed(), room.text());
    let added: Vec<_> = room.log()[3..].iter().map(|entry| entry["operation"].clone()).collect();
    assert_eq!(
        added,
        [
            json!({"type": "delete", "position": 4, "content": "", "length": 1}),
            json!({"type": "insert", "position": 4, "content": "two", "length": 3}),
        ]
    );
    // Forward again, and to the very beginning.
    roll_back(&room, &room.ada, 3).value();
    assert_eq!(room.text(), "one 2 three");
    roll_back(&room, &room.ada, 0).value();
    assert_eq!(room.text(), "");
}

#[test]
fn concurrent_operations_are_transformed_past_a_rollback() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "keep")).value();
    room.apply(&room.ada, 1, insert(0, "drop ")).value();
    roll_back(&room, &room.ada, 1).value();

    room.apply(&room.ben, 2, insert(9, "!")).value();

    assert_eq!(room.text(), "keep!");
}

#[test]
fn a_rollback_to_the_same_text_appends_nothing() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "x")).value();
    let audited = app.count::<AuditEntry>();

    assert_eq!(roll_back(&room, &room.ada, 1).value(), &json!({"success": true, "newVersion": 1}));

    assert_eq!((app.count::<NoteOperation>(), app.count::<AuditEntry>()), (1, audited));
}

#[test]
fn a_rollback_is_audited_with_its_reason() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "x")).value();

    roll_back(&room, &room.ada, 0).value();

    let entries = app.read(|db| Ok(db.scan::<AuditEntry>().take(100)?));
    let entry = entries.iter().find(|entry| entry.action == "notes.rolled_back").expect("it is audited");
    assert_eq!((entry.resource_type.as_str(), entry.resource_id.as_str()), ("meeting", room.meeting.as_str()));
    assert_eq!(
        serde_json::to_value(&entry.metadata).unwrap(),
        json!({"targetSequence": 0, "fromSequence": 1, "toSequence": 2, "reason": "a mistake"})
    );
}

#[test]
fn only_a_host_rolls_back_to_an_existing_sequence() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "x")).value();

    let by_ben = roll_back(&room, &room.ben, 0);
    by_ben.assert_refused(Code::Forbidden, "Requires host role");
    assert_eq!(by_ben.data()["currentRole"], "participant");
    roll_back(&room, &app.user("eve"), 0).assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
    let ahead = roll_back(&room, &room.ada, 2);
    ahead.assert_refused(Code::InvalidArgument, "targetSequence: must be an integer between 0 and 1 (got 2)");
    assert_eq!(ahead.field(), Some("targetSequence"));
    assert_eq!(room.text(), "x");
}

#[test]
fn long_text_comes_back_in_inserts_of_the_limit_and_from_a_checkpoint() {
    let app = unlimited();
    let room = Room::new(&app);
    let long = "lorem ipsum ".repeat(10_000);
    for part in 0..2 {
        let half = &long[part * 60_000..(part + 1) * 60_000];
        room.apply(&room.ada, 9, insert(part * 60_000, half)).value();
    }
    // Behind a checkpoint, so that the replay starts there.
    for turn in 0..600 {
        room.apply(&room.ada, turn + 2, insert(0, "x")).value();
    }
    room.apply(&room.ada, 602, delete(0, 120_600)).value();
    assert_eq!(room.text(), "");

    roll_back(&room, &room.ada, 552).value();

    assert_eq!(room.text(), "x".repeat(550) + &long);
    let lengths: Vec<_> =
        room.log()[603..].iter().map(|entry| entry["operation"]["length"].as_i64().unwrap()).collect();
    assert_eq!(lengths.iter().sum::<i64>(), 120_550);
    assert!(lengths.len() == 2 && lengths.iter().all(|length| *length <= 100_000), "{lengths:?}");
    // Before the first checkpoint as well.
    roll_back(&room, &room.ada, 1).value();
    assert_eq!(room.text(), long[..60_000]);
}
