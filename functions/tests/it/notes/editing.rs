//! `notes/index/applyNoteOperation`: results and errors.

use convoke::Code;
use convoke::testing::TestApp;
use schema::{NoteCheckpoint, NoteOperation, NotePiece};
use serde_json::{Value, json};

use super::room::{Room, delete, insert, retain};

/// A meeting with the notes `abcdefghij` at sequence 1.
fn alphabet(app: &TestApp) -> Room<'_> {
    let room = Room::new(app);
    room.apply(&room.ada, 0, insert(0, "abcdefghij")).value();
    room
}

#[test]
fn the_answer_has_every_field_and_sequences_begin_at_one() {
    let app = TestApp::new();
    let room = Room::new(&app);
    let before = room.notes();
    assert_eq!((&before["version"], &before["sequence"], &before["content"]), (&json!(0), &json!(0), &json!("")));

    let applied = room.apply(&room.ben, 0, insert(0, "a😀é"));

    assert_eq!(
        applied.value(),
        &json!({
            "success": true, "serverSequence": 1, "newVersion": 1, "conflicts": [],
            "transformedOperation": {"type": "insert", "position": 0, "content": "a😀é", "length": 4},
        })
    );
    assert_eq!(room.text(), "a😀é");
}

#[test]
fn an_insertion_into_a_range_deleted_meanwhile_survives_in_either_order() {
    let app = TestApp::new();
    let room = alphabet(&app);
    let inserted = room.apply(&room.ada, 1, insert(4, "XY"));
    let deleted = room.apply(&room.ben, 1, delete(2, 5));

    assert_eq!(inserted.value()["conflicts"], json!([]));
    let entries = room.log();
    assert_eq!(
        deleted.value(),
        &json!({
            "success": true, "serverSequence": 4, "newVersion": 3, "conflicts": [entries[1]["_id"]],
            "transformedOperation": {"type": "delete", "position": 2, "content": "", "length": 2},
            "transformedOperations": [
                {"type": "delete", "position": 2, "content": "", "length": 2},
                {"type": "delete", "position": 4, "content": "", "length": 3},
            ],
        })
    );
    assert_eq!(room.text(), "abXYhij");
    assert_eq!(room.replayed(), "abXYhij");

    let app = TestApp::new();
    let room = alphabet(&app);
    room.apply(&room.ben, 1, delete(2, 5)).value();
    room.apply(&room.ada, 1, insert(4, "XY")).value();

    assert_eq!(room.text(), "abXYhij");
}

#[test]
fn text_that_two_delete_is_deleted_once() {
    for (first, second) in [(delete(2, 5), delete(2, 3)), (delete(2, 3), delete(2, 5))] {
        let app = TestApp::new();
        let room = alphabet(&app);

        room.apply(&room.ada, 1, first).value();
        room.apply(&room.ben, 1, second).value();

        assert_eq!(room.text(), "abhij");
    }
}

#[test]
fn delete_of_removed_text_is_logged_as_an_empty_retain() {
    let app = TestApp::new();
    let room = alphabet(&app);
    room.apply(&room.ada, 1, delete(1, 8)).value();

    let gone = room.apply(&room.ben, 1, delete(3, 2));

    let retained = json!({"type": "retain", "position": 1, "content": "", "length": 0});
    assert_eq!(gone.value()["transformedOperation"], retained);
    assert_eq!((&gone.value()["serverSequence"], &gone.value()["newVersion"]), (&json!(3), &json!(3)));
    assert_eq!(room.log()[2]["operation"], retained);
}

#[test]
fn a_retain_that_cuts_a_surrogate_pair_is_refused_and_not_logged() {
    let app = TestApp::new();
    let room = Room::new(&app);
    let retain = |position: usize, length: usize| json!({"type": "retain", "position": position, "length": length});
    room.apply(&room.ada, 0, insert(0, "a😀b")).value();
    for (position, length, field) in [(2, 0, "position"), (2, 1, "position"), (0, 2, "length")] {
        let refused = room.apply(&room.ben, 1, retain(position, length));
        refused.assert_refused(Code::InvalidArgument, "Position splits a surrogate pair");
        assert_eq!(refused.field(), Some(&*format!("operation.{field}")), "{position}, {length}");
    }
    assert_eq!(room.log().len(), 1);
    // Both edges of the pair, and a length beyond the end.
    for (sequence, (position, length)) in (1..).zip([(1, 2), (3, 1), (1, 9)]) {
        room.apply(&room.ben, sequence, retain(position, length)).value();
    }
    // Its length refers to the text of its base, not to the current one.
    room.apply(&room.ada, 4, insert(1, "é")).value();
    let moved = room.apply(&room.ben, 4, retain(0, 3));
    assert_eq!(
        moved.value()["transformedOperation"],
        json!({"type": "retain", "position": 0, "content": "", "length": 3})
    );
    // A pair that is passed on the way does not move a position into it.
    room.apply(&room.ada, 6, insert(1, "😀")).value();
    assert_eq!(room.apply(&room.ben, 6, retain(1, 0)).value()["transformedOperation"]["position"], 3);
}

#[test]
fn unused_members_of_an_operation_are_ignored() {
    let app = TestApp::new();
    let room = alphabet(&app);

    let inserted = room.apply(&room.ada, 1, json!({"type": "insert", "position": 0, "content": "x", "length": 77}));
    let deleted = room.apply(&room.ada, 2, json!({"type": "delete", "position": 0, "content": "zz", "length": 1}));
    let retained = room.apply(&room.ada, 3, json!({"type": "retain", "position": 2, "content": "zz", "length": null}));

    let operation = |reply: &convoke::testing::Reply| reply.value()["transformedOperation"].clone();
    assert_eq!(operation(&inserted), json!({"type": "insert", "position": 0, "content": "x", "length": 1}));
    assert_eq!(operation(&deleted), json!({"type": "delete", "position": 0, "content": "", "length": 1}));
    assert_eq!(operation(&retained), json!({"type": "retain", "position": 2, "content": "", "length": 0}));
    assert_eq!(room.text(), "abcdefghij");
}

#[test]
fn the_base_is_the_expected_version_or_else_the_sequence_that_the_client_saw() {
    let app = TestApp::new();
    let room = alphabet(&app);
    room.apply(&room.ada, 1, insert(4, "XY")).value();
    // One version of two entries.
    room.apply(&room.ada, 1, delete(2, 5)).value();
    room.apply(&room.ada, 4, insert(0, ">")).value();
    assert_eq!(room.text(), ">abXYhij");

    // At version 3 the log ended with entry 4, whatever sequence is given besides.
    let by_version = json!({"clientSequence": 0, "expectedVersion": 3, "operation": insert(0, "1")});
    assert_eq!(room.apply_with(&room.ben, by_version).value()["transformedOperation"]["position"], 1);
    assert_eq!(room.text(), ">1abXYhij");
    let at_zero = json!({"clientSequence": 5, "expectedVersion": 0, "operation": insert(0, "0")});
    room.apply_with(&room.ben, at_zero).value();
    // A sequence ahead of the log means the end of the log.
    let ahead = room.apply(&room.ben, 1_000, insert(0, "!"));
    assert_eq!(ahead.value()["transformedOperation"]["position"], 0);
    assert_eq!(room.replayed(), room.text());
}

#[test]
fn a_version_ahead_is_refused_and_a_stale_one_only_if_strict() {
    let app = TestApp::new();
    let room = alphabet(&app);
    room.apply(&room.ada, 1, insert(0, "-")).value();
    let at = |version: i64, strict: bool| {
        let args = json!({
            "clientSequence": 1, "expectedVersion": version, "strict": strict, "operation": insert(0, "+"),
        });
        room.apply_with(&room.ben, args)
    };

    at(3, false).assert_refused(Code::Conflict, "Version mismatch: expected 3, got 2");
    at(1, true).assert_refused(Code::Conflict, "Version mismatch: expected 1, got 2");
    assert_eq!(at(2, true).value()["newVersion"], 3);
    assert_eq!(at(1, false).value()["newVersion"], 4);
}

#[test]
fn more_than_the_limit_behind_is_refused_and_the_limit_is_not() {
    let app = TestApp::with(|options| {
        options.settings = "[quotas]\nnote_entries_behind = 3".parse().expect("settings are TOML");
    });
    let room = alphabet(&app);
    for place in 1..4 {
        room.apply(&room.ada, place, insert(0, "-")).value();
    }

    room.apply(&room.ben, 0, insert(0, "+"))
        .assert_refused(Code::Conflict, "History is too far behind; reload the notes");
    let by_version = json!({"clientSequence": 4, "expectedVersion": 0, "operation": insert(0, "+")});
    room.apply_with(&room.ben, by_version)
        .assert_refused(Code::Conflict, "History is too far behind; reload the notes");
    assert_eq!(room.apply(&room.ben, 1, insert(0, "+")).value()["transformedOperation"]["position"], 3);
}

#[test]
fn operation_outside_the_text_is_rejected_and_changes_nothing() {
    let app = TestApp::new();
    let room = alphabet(&app);
    room.apply(&room.ada, 1, insert(10, "😀")).value();
    let before = room.notes();

    for (operation, field, message) in [
        (insert(13, "x"), "operation.position", "Invalid insert position: 13"),
        (delete(13, 1), "operation.position", "Invalid delete position: 13"),
        (delete(12, 1), "operation.length", "Delete operation exceeds document length"),
        (delete(0, 13), "operation.length", "Delete operation exceeds document length"),
        (retain(13), "operation.position", "Invalid operation format"),
        (insert(11, "x"), "operation.position", "Position splits a surrogate pair"),
        (delete(11, 1), "operation.position", "Position splits a surrogate pair"),
        (delete(0, 11), "operation.length", "Position splits a surrogate pair"),
        (insert(0, ""), "operation.content", "Invalid operation format"),
        (json!({"type": "insert", "position": 0}), "operation.content", "Invalid operation format"),
        (
            json!({"type": "insert", "position": 0, "content": "x".repeat(100_001)}),
            "operation.content",
            "Invalid operation format",
        ),
        (delete(0, 0), "operation.length", "Invalid operation format"),
        (json!({"type": "delete", "position": 0}), "operation.length", "Invalid operation format"),
        (
            json!({"type": "move", "position": 0}),
            "operation.type",
            "operation.type: must be one of insert, delete, retain (got \"move\")",
        ),
        (
            json!({"type": "retain", "position": -1}),
            "operation.position",
            "operation.position: must be an integer of at least 0 (got -1)",
        ),
        (json!({"type": "retain"}), "operation.position", "Missing required argument: operation.position"),
    ] {
        let refused = room.apply(&room.ben, 2, operation);
        refused.assert_refused(Code::InvalidArgument, message);
        assert_eq!(refused.field(), Some(field), "{message}");
    }

    assert_eq!(room.notes(), before);
    assert_eq!(app.count::<NoteOperation>(), 2);
}

#[test]
fn the_range_is_that_of_the_text_at_the_base() {
    let app = TestApp::new();
    let room = alphabet(&app);
    room.apply(&room.ada, 1, delete(0, 10)).value();

    // The base has ten units, so its end is a valid position, although the current text is empty.
    assert_eq!(room.apply(&room.ben, 1, insert(10, "x")).value()["transformedOperation"]["position"], 0);
    room.apply(&room.ben, 1, insert(11, "x")).assert_refused(Code::InvalidArgument, "Invalid insert position: 11");
    room.apply(&room.ben, 2, insert(1, "x")).assert_refused(Code::InvalidArgument, "Invalid insert position: 1");
}

#[test]
fn full_document_rejects_insertions() {
    let app = TestApp::with(|options| {
        options.settings = "[quotas]\nnote_document_units = 12".parse().expect("settings are TOML");
    });
    let room = alphabet(&app);

    room.apply(&room.ada, 1, insert(0, "12😀")).assert_refused(Code::FailedPrecondition, "Document too large");
    room.apply(&room.ada, 1, insert(0, "😀")).value();
    room.apply(&room.ada, 2, insert(0, "x")).assert_refused(Code::FailedPrecondition, "Document too large");
    room.apply(&room.ada, 2, delete(0, 2)).value();
    room.apply(&room.ada, 3, insert(0, "x")).value();
}

#[test]
fn a_repetition_gets_the_answer_of_the_first_time_and_changes_nothing() {
    let app = TestApp::new();
    let room = alphabet(&app);
    room.apply(&room.ada, 1, insert(4, "XY")).value();
    let args = json!({"clientSequence": 1, "operationId": "op-1", "operation": delete(2, 5)});

    let first = room.apply_with(&room.ben, args.clone());
    room.apply(&room.ada, 4, insert(0, "later")).value();
    let again = room.apply_with(&room.ben, args.clone());
    // Only the content counts, not the base of the repetition or unused members.
    let moved_on = json!({
        "clientSequence": 5, "expectedVersion": 99, "operationId": "op-1",
        "operation": {"type": "delete", "position": 2, "length": 5, "content": "ignored"},
    });

    assert_eq!(again.value(), first.value());
    assert_eq!(first.value()["transformedOperations"].as_array().map(Vec::len), Some(2));
    assert_eq!(room.apply_with(&room.ben, moved_on).value(), first.value());
    assert_eq!(room.text(), "laterabXYhij");
    assert_eq!(app.count::<NoteOperation>(), 5);
    let other = json!({"clientSequence": 1, "operationId": "op-1", "operation": delete(2, 4)});
    room.apply_with(&room.ben, other)
        .assert_refused(Code::Conflict, "Operation op-1 was already applied with different content");
    // Ids belong to their author.
    let of_ada = json!({"clientSequence": 5, "operationId": "op-1", "operation": insert(0, "!")});
    assert_eq!(room.apply_with(&room.ada, of_ada).value()["serverSequence"], 6);
}

#[test]
fn a_refused_operation_leaves_its_id_free() {
    let app = TestApp::new();
    let room = alphabet(&app);
    let at = |position: usize| {
        room.apply_with(&room.ben, json!({"clientSequence": 1, "operationId": "x", "operation": insert(position, "x")}))
    };

    at(11).assert_refused(Code::InvalidArgument, "Invalid insert position: 11");

    assert_eq!(at(10).value()["serverSequence"], 2);
}

#[test]
fn strangers_learn_nothing_and_the_form_is_checked_before_anything() {
    let app = TestApp::new();
    let room = alphabet(&app);
    let args = json!({"clientSequence": 1, "operation": insert(0, "x")});

    room.apply_with(&app.nobody(), args.clone()).assert_refused(Code::Unauthenticated, "Authentication required");
    room.apply_with(&app.user("eve"), args.clone())
        .assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
    let nowhere =
        json!({"meetingId": "meeting_0000000000000000000000001a", "clientSequence": 1, "operation": insert(0, "x")});
    app.user("eve")
        .call("notes/index/applyNoteOperation", nowhere)
        .assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
    let malformed = json!({"clientSequence": 1, "operation": insert(0, "")});
    room.apply_with(&app.nobody(), malformed).assert_refused(Code::InvalidArgument, "Invalid operation format");
}

#[test]
fn notes_are_edited_before_and_after_a_meeting_but_not_of_a_cancelled_one() {
    let app = TestApp::new();
    let later = app.now().0 + 86_400_000;
    let room = Room::made(&app, json!({"scheduledAt": later}));
    room.apply_with(&room.ben, json!({"clientSequence": 0, "operationId": "a", "operation": insert(0, "agenda")}))
        .value();

    room.call(&room.ada, "meetings/lifecycle/cancelMeeting", json!({})).value();

    let refused = room.apply(&room.ben, 1, insert(0, "x"));
    assert_eq!(refused.code(), "FAILED_PRECONDITION");
    assert_eq!(room.text(), "agenda");
    // Applied operations are still recognized.
    room.apply_with(&room.ben, json!({"clientSequence": 0, "operationId": "a", "operation": insert(0, "agenda")}))
        .value();

    let ended = Room::new(&app);
    ended.call(&ended.ada, "meetings/lifecycle/endMeeting", json!({})).value();
    ended.apply(&ended.ben, 0, insert(0, "minutes")).value();
    assert_eq!(ended.text(), "minutes");
    app.advance(std::time::Duration::from_secs(60));
}

#[test]
fn a_long_text_lies_in_pieces_and_checkpoints_are_made_on_the_way() {
    let app = super::room::unlimited();
    let room = Room::new(&app);
    let letter = |place: usize| char::from_u32(0x3400 + u32::try_from(place).expect("few")).expect("a letter");
    let text: String = (0..20_000).map(letter).collect();
    room.apply(&room.ada, 0, insert(0, &text)).value();
    assert!(app.count::<NotePiece>() >= 3);
    let mut expected: Vec<char> = text.chars().collect();

    for turn in 0..1_020usize {
        let position = turn * 7_919 % (expected.len() + 1);
        let seen = i64::try_from(turn + 1).expect("few");
        if turn % 3 == 0 && position + 3 <= expected.len() {
            room.apply(&room.ada, seen, delete(position, 3)).value();
            expected.drain(position..position + 3);
        } else {
            room.apply(&room.ada, seen, insert(position, "abc")).value();
            expected.splice(position..position, "abc".chars());
        }
    }

    assert_eq!(room.text(), expected.into_iter().collect::<String>());
    assert_eq!(app.count::<NoteCheckpoint>(), 2);
    let sizes: Vec<usize> =
        app.read(|db| Ok(db.scan::<NotePiece>().take(100)?.iter().map(|piece| piece.text.chars().count()).collect()));
    assert!(sizes.iter().all(|units| (1..=8_192).contains(units)), "{sizes:?}");
    let notes: Value = room.notes();
    assert_eq!((&notes["version"], &notes["sequence"]), (&json!(1_021), &json!(1_021)));
}

#[test]
fn split_delete_lists_conflicts_in_its_first_entry_only() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "abcdefghij")).value();
    for (seen, position) in [(1, 2), (2, 5), (3, 8)] {
        room.apply(&room.ada, seen, insert(position, "-")).value();
    }
    let cut = json!({"clientSequence": 1, "operation": delete(0, 10), "operationId": "cut"});

    let applied = room.apply_with(&room.ben, cut.clone());

    assert_eq!(room.text(), "---");
    assert_eq!(applied.value()["conflicts"].as_array().unwrap().len(), 3);
    let log = app.read(|db| Ok(db.scan::<NoteOperation>().take(100)?));
    let named: Vec<usize> = log.iter().skip(4).map(|entry| entry.conflicts_with.len()).collect();
    assert_eq!(named, [1, 0, 0, 0], "three in a row are one range");
    assert_eq!(room.apply_with(&room.ben, cut).value(), applied.value(), "a repetition is answered as the first time");
}
