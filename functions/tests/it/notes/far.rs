//! Operations with an old base: prepared before the transaction, with the same result as in it.

use std::time::Duration;

use convoke::testing::TestApp;
use proptest::prelude::*;
use schema::{ChangedBy, NoteOperation, OfflineChain};
use serde_json::{Value, json};

use super::drafts::{Draft, Letters, draft, drafts};
use super::room::{Room, delete, insert, offline, sent, unlimited};
use super::together::{expected, made};
use crate::support::cases;

/// Most entries that are passed inside a transaction.
const NEAR: usize = 200;

/// Ada inserts single letters at the beginning, in batches of a hundred.
fn write_before(room: &Room<'_>, entries: usize) {
    let letters: Vec<Value> = (0..100).map(|_| json!({"operation": insert(0, "y")})).collect();
    for _ in 0..entries / 100 {
        room.call(&room.ada, "notes/index/batchApplyNoteOperations", json!({"operations": letters})).value();
    }
}

fn stored(app: &TestApp, sequence: i64) -> NoteOperation {
    let entries = app.read(|db| Ok(db.scan::<NoteOperation>().take(10_000)?));
    entries.into_iter().find(|entry| entry.sequence == sequence).expect("there is such an entry").into_inner()
}

#[test]
fn distant_operation_is_applied_like_a_recent_operation() {
    let app = unlimited();
    for entries in [NEAR - 100, NEAR + 100] {
        let room = Room::new(&app);
        room.apply(&room.ada, 0, insert(0, "abcdef")).value();
        write_before(&room, entries);
        let ids: Vec<Value> = room.log()[1..].iter().map(|entry| entry["_id"].clone()).collect();
        let end = i64::try_from(entries).unwrap() + 2;

        let late = json!({"clientSequence": 1, "operationId": "late", "operation": delete(2, 3)});
        let applied = room.apply_with(&room.ben, late.clone());

        assert_eq!(
            applied.value(),
            &json!({
                "success": true, "serverSequence": end, "newVersion": 2 + entries / 100, "conflicts": ids,
                "transformedOperation": {"type": "delete", "position": entries + 2, "content": "", "length": 3},
            })
        );
        assert_eq!(room.text(), format!("{}abf", "y".repeat(entries)));
        assert_eq!(room.replayed(), room.text());
        assert_eq!(room.apply_with(&room.ben, late).value(), applied.value(), "and so is a repetition");
        let meeting = room.meeting.clone();
        let row = app.read(|db| Ok(db.scan::<NoteOperation>().take(10_000)?));
        let row = row.into_iter().find(|row| row.meeting_id.to_string() == meeting && row.sequence == end).unwrap();
        assert_eq!(row.conflicts_with, [ChangedBy::Entries(2, end - 1)], "what changed it takes a few bytes");
    }
}

#[test]
fn distant_operation_outside_its_base_text_is_rejected() {
    let app = unlimited();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "a😀b")).value();
    write_before(&room, NEAR + 100);
    let before = room.notes();

    for (operation, message) in [
        (insert(5, "x"), "Invalid insert position: 5"),
        (delete(3, 2), "Delete operation exceeds document length"),
        (insert(2, "x"), "Position splits a surrogate pair"),
    ] {
        let refused = room.apply(&room.ben, 1, operation);
        refused.assert_refused(convoke::Code::InvalidArgument, message);
    }

    assert_eq!(room.notes(), before);
    let batch = |operations: Value| {
        let args = json!({"expectedVersion": 1, "operations": operations});
        room.call(&room.ben, "notes/index/batchApplyNoteOperations", args)
    };
    let refused = batch(json!([{"operation": insert(0, "x")}, {"operation": insert(3, "x")}]));
    assert_eq!(refused.field(), Some("operations[1].operation.position"));
    let done = batch(json!([{"operation": insert(0, "<"), "operationId": "one"}, {"operation": insert(5, ">")}]));
    assert_eq!(room.text(), format!("{}<a😀b>", "y".repeat(NEAR + 100)));
    let again = batch(json!([{"operation": insert(0, "<"), "operationId": "one"}, {"operation": insert(5, ">")}]));
    assert_eq!(again.value(), done.value());
    assert_eq!(done.value()["results"][1]["conflicts"].as_array().map(Vec::len), Some(NEAR + 100));
}

#[test]
fn of_a_chain_from_far_one_that_fails_is_nothing_to_those_after_it() {
    let app = unlimited();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "a😀b")).value();
    let edits = [
        insert(4, "1"),
        // Out of range: detected by the preparation.
        delete(9, 1),
        insert(5, "2"),
        // Inside a character: detected only in the transaction.
        insert(2, "?"),
        insert(6, "3"),
        delete(0, 1),
        insert(6, "4"),
    ];
    let chain: Vec<Value> =
        (0..).zip(&edits).map(|(place, edit)| offline("c", &format!("o{place}"), place, edit.clone())).collect();
    room.queue(&room.ben, "c", json!(chain[..6]), json!({"baseSequence": 1})).value();
    write_before(&room, NEAR + 100);

    let synced = room.of_queue(&room.ben, "c", "syncOfflineOperations", json!({}));

    assert_eq!((&synced["synced"], &synced["failed"]), (&json!(4), &json!(2)));
    assert_eq!(
        synced["errors"],
        json!([
            {"operationId": "o1", "error": "Invalid delete position: 9"},
            {"operationId": "o3", "error": "Position splits a surrogate pair"},
        ])
    );
    assert_eq!(synced["conflicts"].as_array().map(Vec::len), Some(NEAR + 100));
    let others = "y".repeat(NEAR + 100);
    assert_eq!(room.text(), format!("{others}😀b123"));
    // Its bridge is correct: operations queued on the same base continue behind it.
    room.queue(&room.ben, "c", json!(chain[6..]), json!({"baseSequence": 1})).value();
    app.advance(Duration::from_secs(1));
    assert_eq!(room.text(), format!("{others}😀b1234"));
    assert_eq!(room.replayed(), room.text());
    let bridge = app.read(|db| Ok(db.scan::<OfflineChain>().take(1)?.remove(0).bridge.clone()));
    assert!(serde_json::to_string(&bridge).unwrap().len() < 14 * bridge.len(), "an entry of it takes few bytes");
}

#[test]
fn operations_that_are_retried_from_far_behind_come_after_those_before_them() {
    let app = unlimited();
    let room = Room::new(&app);
    let edits: Vec<Value> = (0..60).map(|place| insert(place, "x")).collect();
    let chain: Vec<Value> =
        (0..).zip(edits).map(|(place, edit)| offline("c", &format!("o{place}"), place, edit)).collect();
    room.queue(&room.ben, "c", json!(chain), json!({})).value();
    room.call(&room.ada, "meetings/lifecycle/removeParticipant", json!({"userId": "ben"})).value();
    app.advance(Duration::from_secs(1));
    room.call(&room.ada, "meetings/lifecycle/addParticipant", json!({"userId": "ben"})).value();
    room.of_queue(&room.ben, "c", "retryFailedOperations", json!({}));
    write_before(&room, NEAR + 100);

    let first = room.of_queue(&room.ben, "c", "syncOfflineOperations", json!({"maxOperations": 500}));

    assert_eq!((&first["synced"], &first["remainingInQueue"]), (&json!(50), &json!(10)));
    app.advance(Duration::from_secs(1));
    assert_eq!(room.text(), format!("{}{}", "y".repeat(NEAR + 100), "x".repeat(60)));
    assert_eq!(stored(&app, 301).operation.content, "x");
}

/// An event while a client is away.
#[derive(Clone, Debug)]
enum Turn {
    /// Other users write more than is passed inside a transaction.
    Others(Vec<Draft>),
    /// The client requests a drain of this number.
    Sync(usize),
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        2 => prop::collection::vec(draft(), 100..101).prop_map(Turn::Others),
        1 => (1..6usize).prop_map(Turn::Sync),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(12), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn distant_chain_preserves_the_intent_of_its_client(
        before in drafts(1..6),
        offline_drafts in prop::collection::vec((draft(), prop::bool::weighted(0.9)), 6..16),
        turns in prop::collection::vec(turn(), 4..10),
    ) {
        let app = unlimited();
        let room = Room::new(&app);
        let mut letters = Letters::default();
        write_all(&room, &before, &mut letters);
        let (base, base_text) = (room.notes()["sequence"].as_u64().unwrap(), room.text());
        let chain = made(&base_text, &offline_drafts, &mut letters);
        let all: Vec<Value> = (0..)
            .zip(&chain)
            .map(|(place, made)| offline("c", &format!("o{place}"), place, sent(&made.operation)))
            .collect();
        room.queue(&room.ben, "c", json!(all), json!({"baseSequence": base})).value();
        for turn in turns {
            match turn {
                Turn::Others(drafts) => write_all(&room, &drafts, &mut letters),
                Turn::Sync(count) => {
                    room.of_queue(&room.ben, "c", "syncOfflineOperations", json!({"maxOperations": count}));
                }
            }
        }
        app.advance(Duration::from_secs(1));

        let log = room.log();
        prop_assert_eq!(room.text(), expected(&base_text, &chain, &log[usize::try_from(base).unwrap()..]));
        prop_assert_eq!(room.replayed(), room.text());
    }
}

/// Ada applies these edits as one batch, each on the result of the ones before it.
fn write_all(room: &Room<'_>, drafts: &[Draft], letters: &mut Letters) {
    let mut text = functions::notes::operation::Text::from(room.text().as_str());
    let operations: Vec<Value> =
        drafts.iter().map(|draft| json!({"operation": sent(&draft.apply(&mut text, letters))})).collect();
    room.call(&room.ada, "notes/index/batchApplyNoteOperations", json!({"operations": operations})).value();
}
