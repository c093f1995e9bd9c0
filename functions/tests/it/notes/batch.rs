//! `notes/index/batchApplyNoteOperations`.

use std::time::Duration;

use convoke::Code;
use convoke::testing::{Reply, TestApp, TestCaller};
use schema::NoteOperation;
use serde_json::{Value, json};

use super::room::{Room, delete, insert};

fn batch(room: &Room<'_>, caller: &TestCaller<'_>, args: Value) -> Reply {
    room.call(caller, "notes/index/batchApplyNoteOperations", args)
}

#[test]
fn a_batch_is_a_chain_and_one_version() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "hello")).value();
    room.apply(&room.ada, 1, insert(0, "abc ")).value();

    let applied = batch(
        &room,
        &room.ben,
        json!({
            "expectedVersion": 1,
            "operations": [{"operation": insert(5, "X")}, {"operation": insert(6, "Y")}, {"operation": delete(0, 1)}],
        }),
    );

    assert_eq!(room.text(), "abc elloXY");
    let value = applied.value();
    assert_eq!((&value["success"], &value["newVersion"]), (&json!(true), &json!(3)));
    let results = value["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    assert_eq!(
        results[1],
        json!({
            "success": true, "serverSequence": 4, "newVersion": 3, "conflicts": [room.log()[1]["_id"]],
            "transformedOperation": {"type": "insert", "position": 10, "content": "Y", "length": 1},
        })
    );
    assert_eq!(room.notes()["version"], 3);
    assert_eq!(room.replayed(), room.text());
}

#[test]
fn without_a_version_a_batch_is_made_on_the_newest_text() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "hello")).value();

    batch(&room, &room.ben, json!({"operations": [{"operation": insert(5, "!")}]})).value();

    assert_eq!(room.text(), "hello!");
}

#[test]
fn all_of_a_batch_or_nothing() {
    let app = TestApp::new();
    let room = Room::new(&app);
    let operations = json!([{"operation": insert(0, "ab")}, {"operation": delete(1, 2)}]);

    let refused = batch(&room, &room.ada, json!({"operations": operations}));

    refused.assert_refused(Code::InvalidArgument, "Delete operation exceeds document length");
    assert_eq!(refused.field(), Some("operations[1].operation.length"));
    assert_eq!(room.notes()["version"], 0);
    assert_eq!(app.count::<NoteOperation>(), 0);
}

#[test]
fn repeated_batch_returns_its_first_response() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "abcdefghij")).value();
    room.apply(&room.ada, 1, insert(4, "XY")).value();
    let args = json!({
        "expectedVersion": 1,
        "operations": [
            {"operation": delete(2, 5), "operationId": "cut"}, {"operation": insert(0, ">")},
            {"operation": insert(1, "<"), "operationId": "mark"},
        ],
    });

    let first = batch(&room, &room.ben, args.clone());
    room.apply(&room.ada, 6, insert(0, "later")).value();

    assert_eq!(batch(&room, &room.ben, args.clone()).value(), first.value());
    assert_eq!(room.text(), "later><abXYhij");
    // A different batch with known ids is not a repetition, even if only an operation without id differs.
    let mut other = args.clone();
    other["operations"][1]["operation"]["content"] = json!("?");
    batch(&room, &room.ben, other)
        .assert_refused(Code::Conflict, "Operation cut was already applied with different content");
    let mut shorter = args;
    shorter["operations"].as_array_mut().unwrap().truncate(2);
    assert_eq!(batch(&room, &room.ben, shorter).code(), "CONFLICT");
}

#[test]
fn a_batch_has_one_to_a_hundred_operations_with_ids_of_their_own() {
    let app = TestApp::new();
    let room = Room::new(&app);
    let many = |count: usize| json!({"operations": vec![json!({"operation": insert(0, "x")}); count]});

    for count in [0, 101] {
        let refused = batch(&room, &room.ada, many(count));
        assert_eq!((refused.code(), refused.field()), ("INVALID_ARGUMENT", Some("operations")));
    }
    assert_eq!(batch(&room, &room.ada, many(100)).value()["results"].as_array().unwrap().len(), 100);
    let one = json!({"operation": insert(0, "x"), "operationId": "a"});
    let twice = batch(&room, &room.ada, json!({"operations": [one, one]}));
    assert_eq!((twice.code(), twice.field()), ("INVALID_ARGUMENT", Some("operations[1].operationId")));
    let formless =
        batch(&room, &room.ada, json!({"operations": [{"operation": insert(0, "x")}, {"operation": insert(0, "")}]}));
    formless.assert_refused(Code::InvalidArgument, "Invalid operation format");
    assert_eq!(formless.field(), Some("operations[1].operation.content"));
}

#[test]
fn a_batch_costs_the_caller_as_many_calls_as_it_has_operations() {
    let app = TestApp::with(|options| {
        options.settings = "[rates]\nnotes = 10".parse().expect("settings are TOML");
    });
    let room = Room::new(&app);
    let six = json!({"operations": vec![json!({"operation": insert(0, "x")}); 6]});

    batch(&room, &room.ada, six.clone()).value();

    assert_eq!(batch(&room, &room.ada, six).code(), "RATE_LIMITED");
}

#[test]
fn a_version_ahead_is_refused() {
    let app = TestApp::new();
    let room = Room::new(&app);

    let ahead = json!({"expectedVersion": 1, "operations": [{"operation": insert(0, "x")}]});

    batch(&room, &room.ada, ahead).assert_refused(Code::Conflict, "Version mismatch: expected 1, got 0");
}

#[test]
fn a_batch_too_far_behind_for_its_length_is_refused_and_can_be_sent_in_parts() {
    let app = TestApp::with(|options| {
        options.settings = "[rates]\nnotes = 0\nread = 0".parse().expect("settings are TOML");
        // An unoptimized build on a slow machine takes too long for this test.
        options.limits.mutation_timeout = Duration::from_secs(60);
    });
    let room = Room::new(&app);
    let letters = json!({"operations": vec![json!({"operation": insert(0, "y")}); 100]});
    for _ in 0..47 {
        batch(&room, &room.ada, letters.clone()).value();
    }
    let late = |count: usize| {
        let args = json!({"expectedVersion": 0, "operations": vec![json!({"operation": insert(0, "x")}); count]});
        batch(&room, &room.ben, args)
    };

    late(100).assert_refused(Code::Conflict, "History is too far behind; reload the notes");

    let applied = late(42);
    assert_eq!(applied.value()["results"][41]["conflicts"].as_array().unwrap().len(), 4_700);
}
