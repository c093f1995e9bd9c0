//! Old log entries lose their text, and nothing else changes.

use std::time::Duration;

use convoke::Code;
use convoke::NoArgs;
use convoke::testing::TestApp;
use functions::notes::operation::Text;
use functions::system::retention;
use proptest::prelude::*;
use schema::{Note, NoteCheckpoint, NoteOperation, OfflineChain, OfflineOperation};
use serde_json::{Value, json};

use super::drafts::{Draft, Letters, draft};
use super::room::{Room, delete, insert, logged, offline, sent, unlimited};
use crate::support::{cases, system, with};

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Advances the clock and runs the nightly work at the end.
fn pass(app: &TestApp, time: Duration) {
    app.advance(Duration::from_secs(1));
    app.clock().advance(time);
    app.advance(Duration::from_secs(60));
}

fn contents(app: &TestApp) -> Vec<String> {
    app.read(|db| Ok(db.scan::<NoteOperation>().take(10_000)?))
        .into_iter()
        .map(|entry| entry.into_inner().operation.content)
        .collect()
}

fn checkpoints(app: &TestApp) -> Vec<(i64, String)> {
    app.read(|db| Ok(db.scan::<NoteCheckpoint>().take(100)?))
        .into_iter()
        .map(|checkpoint| (checkpoint.sequence, checkpoint.content.clone()))
        .collect()
}

fn list(room: &Room<'_>, from: i64) -> convoke::testing::Reply {
    room.call(&room.ada, "notes/queries/listNoteOperations", json!({"fromSequence": from}))
}

#[test]
fn the_text_of_entries_goes_after_thirty_days_and_that_of_the_notes_stays() {
    let app = unlimited();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "abcdefghij")).value();
    room.apply(&room.ben, 1, insert(4, "XY")).value();
    room.apply(&room.ben, 2, delete(0, 1)).value();
    pass(&app, DAY);
    room.apply(&room.ada, 3, insert(0, "new ")).value();
    assert_eq!(room.notes()["firstSequence"], 1);
    let before = room.notes();

    pass(&app, 29 * DAY);

    assert_eq!(contents(&app), ["", "", "", "new "]);
    assert_eq!(checkpoints(&app), [(3, "bcdXYefghij".to_owned())]);
    assert_eq!(room.notes(), with(before, json!({"firstSequence": 4})));
    assert_eq!(list(&room, 4).value()["operations"].as_array().map(Vec::len), Some(1));
    assert_eq!(list(&room, 4).value()["firstSequence"], 4);
    for from in [1, 3] {
        let refused = list(&room, from);
        refused.assert_refused(Code::Conflict, "History is too far behind");
        assert_eq!(refused.data()["firstSequence"], 4);
    }
    // In the end all of it. Operations on the end of the log are always accepted.
    pass(&app, 2 * DAY);
    assert_eq!(contents(&app), [""; 4]);
    assert_eq!(room.notes()["firstSequence"], 5);
    assert_eq!(list(&room, 5).value()["operations"], json!([]));
    room.apply(&room.ben, 4, insert(0, "!")).value();
    assert_eq!(room.text(), "!new bcdXYefghij");
    assert_eq!(contents(&app)[4], "!");
    pass(&app, 31 * DAY);
    assert_eq!((contents(&app)[4].as_str(), checkpoints(&app).len()), ("", 1));
}

#[test]
fn a_base_and_a_rollback_before_the_kept_text_are_refused() {
    let app = unlimited();
    let room = Room::new(&app);
    for seen in 0..3 {
        room.apply(&room.ada, seen, insert(0, "a")).value();
    }
    pass(&app, 31 * DAY);
    room.apply(&room.ada, 3, insert(0, "b")).value();
    let roll_back =
        |target: i64| room.call(&room.ada, "notes/index/rollbackToSequence", json!({"targetSequence": target}));
    let behind = "History is too far behind";

    room.apply(&room.ben, 2, insert(0, "-")).assert_refused(Code::Conflict, behind);
    let by_version = json!({"clientSequence": 4, "expectedVersion": 2, "operation": insert(0, "-")});
    room.apply_with(&room.ben, by_version).assert_refused(Code::Conflict, behind);
    let batch = json!({"expectedVersion": 2, "operations": [{"operation": insert(0, "-")}]});
    room.call(&room.ben, "notes/index/batchApplyNoteOperations", batch).assert_refused(Code::Conflict, behind);
    roll_back(2).assert_refused(Code::Conflict, behind);

    room.apply(&room.ben, 3, insert(3, "c")).value();
    assert_eq!(room.text(), "baaac");
    roll_back(3).value();
    assert_eq!(room.text(), "aaa");
    roll_back(4).value();
    assert_eq!(room.text(), "baaa");
}

#[test]
fn old_repeated_operation_returns_its_first_response() {
    let app = unlimited();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "abcdefghij")).value();
    room.apply(&room.ada, 1, insert(4, "XY")).value();
    let one = json!({"clientSequence": 1, "operationId": "one", "operation": insert(9, "inserted")});
    let cut = json!({"clientSequence": 1, "operationId": "cut", "operation": delete(2, 5)});
    let batch = json!({
        "expectedVersion": 1,
        "operations": [
            {"operation": insert(0, "first"), "operationId": "first"}, {"operation": insert(5, "second")},
            {"operation": delete(0, 12)},
        ],
    });
    let send = |args: &Value| room.apply_with(&room.ben, args.clone()).value().clone();
    let send_all = || room.call(&room.ben, "notes/index/batchApplyNoteOperations", batch.clone()).value().clone();
    let answers = (send(&one), send(&cut), send_all());
    let text = room.text();

    pass(&app, 400 * DAY);

    assert_eq!((send(&one), send(&cut), send_all()), answers);
    let other = json!({"clientSequence": 1, "operationId": "one", "operation": insert(9, "otherwise")});
    room.apply_with(&room.ben, other)
        .assert_refused(Code::Conflict, "Operation one was already applied with different content");
    assert_eq!(room.text(), text);
}

#[test]
fn offline_operation_on_a_removed_base_fails_and_can_be_retried() {
    let app = unlimited();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "a")).value();
    room.apply(&room.ada, 1, insert(0, "b")).value();
    room.queue(&room.ben, "c", json!([offline("c", "o1", 1, insert(1, "x"))]), json!({"baseSequence": 1})).value();
    // No drain runs for a month, and the log is thinned.
    app.clock().advance(31 * DAY);
    for _ in 0..5 {
        system(&app).run::<retention>(NoArgs {}).unwrap();
    }
    assert_eq!(room.notes()["firstSequence"], 3);

    let synced = room.of_queue(&room.ben, "c", "syncOfflineOperations", json!({}));

    assert_eq!(room.text(), "ba");
    assert_eq!(synced["errors"], json!([{"operationId": "o1", "error": "History is too far behind"}]));
    let late = json!([offline("c", "o2", 2, insert(1, "x"))]);
    room.queue(&room.ben, "c", late, json!({"baseSequence": 1}))
        .assert_refused(Code::Conflict, "History is too far behind");
    room.of_queue(&room.ben, "c", "retryFailedOperations", json!({}));
    app.advance(Duration::from_secs(1));
    assert_eq!(room.text(), "bxa");
}

#[test]
fn a_chain_that_is_under_way_goes_on_though_its_base_is_gone() {
    let app = unlimited();
    let room = Room::new(&app);
    let queue = |number: i64, edit: Value| {
        let one = json!([offline("c", &format!("o{number}"), number, edit)]);
        room.queue(&room.ben, "c", one, json!({"baseSequence": 1}))
    };
    room.apply(&room.ada, 0, insert(0, "base")).value();
    room.apply(&room.ada, 1, insert(0, "> ")).value();
    queue(1, insert(4, "1")).value();
    pass(&app, 20 * DAY);
    room.apply(&room.ada, 3, insert(0, "> ")).value();
    queue(2, insert(5, "2")).value();

    pass(&app, 15 * DAY);

    // Entries up to the first drain have lost their text; the bridge leads past them.
    assert_eq!(room.notes()["firstSequence"], 4);
    queue(3, insert(6, "3")).value();
    pass(&app, Duration::from_secs(1));
    assert_eq!(room.text(), "> > base123");
}

#[test]
fn an_offline_operation_that_is_in_the_log_is_known_though_its_row_and_its_base_are_gone() {
    let app = unlimited();
    let room = Room::new(&app);
    let operations = json!([offline("c", "o1", 1, insert(0, "a")), offline("c", "o2", 2, insert(1, "b"))]);
    room.apply(&room.ada, 0, insert(0, "-")).value();
    room.queue(&room.ben, "c", operations.clone(), json!({"baseSequence": 0})).value();

    pass(&app, 40 * DAY);

    assert_eq!((app.count::<OfflineOperation>(), app.count::<OfflineChain>()), (0, 0), "the chain went with its rows");
    room.queue(&room.ben, "c", operations, json!({"baseSequence": 0})).value();
    app.advance(Duration::from_secs(1));
    assert_eq!(room.text(), "-ab");
    assert_eq!(room.of_queue(&room.ben, "c", "getOfflineQueueStatus", json!({}))["synced"], 2);
    let new = json!([offline("c", "o3", 3, insert(2, "c"))]);
    room.queue(&room.ben, "c", new, json!({"baseSequence": 0}))
        .assert_refused(Code::Conflict, "History is too far behind");
}

#[test]
fn a_chain_stays_as_long_as_its_client_has_an_operation() {
    let app = unlimited();
    let room = Room::new(&app);
    room.queue(&room.ben, "c", json!([offline("c", "o1", 1, insert(0, "a"))]), json!({})).value();
    pass(&app, 20 * DAY);
    // Only a row, and nothing to drain.
    let synced = with(offline("c", "o2", 2, insert(0, "b")), json!({"status": "synced"}));
    room.queue(&room.ben, "c", json!([synced]), json!({})).value();

    pass(&app, 15 * DAY);
    assert_eq!((app.count::<OfflineOperation>(), app.count::<OfflineChain>()), (1, 1));
    pass(&app, 40 * DAY);
    assert_eq!((app.count::<OfflineOperation>(), app.count::<OfflineChain>()), (0, 0));
}

#[test]
fn a_long_log_is_thinned_in_steps_each_of_which_leaves_the_notes_whole() {
    let app = unlimited();
    let room = Room::new(&app);
    for turn in 0..13usize {
        let text = format!("{turn:0>100}");
        let letters: Vec<Value> = text.chars().map(|c| json!({"operation": insert(turn, &c.to_string())})).collect();
        room.call(&room.ada, "notes/index/batchApplyNoteOperations", json!({"operations": letters})).value();
    }
    let text = room.text();
    app.clock().advance(31 * DAY);
    let mut firsts = Vec::new();

    for step in 0.. {
        system(&app).run::<retention>(NoArgs {}).unwrap();
        firsts.push(room.notes()["firstSequence"].as_i64().unwrap());
        assert_eq!(room.text(), text);
        assert!(checkpoints(&app).len() <= 3);
        if app.read(|db| Ok(db.scan::<Note>().take(1)?.remove(0).text_since)) == convoke::Millis::MAX {
            break;
        }
        assert!(step < 100);
    }

    firsts.dedup();
    // At most one replay from a checkpoint at a time.
    assert_eq!(firsts, [1_301]);
    assert_eq!(checkpoints(&app), [(1_300, text)]);
    assert!(contents(&app).iter().all(String::is_empty));
    app.advance(Duration::from_secs(60));
}

/// An event of the notes.
#[derive(Clone, Debug)]
enum Turn {
    Edit(Draft),
    /// This number of days pass.
    Days(u64),
    /// This number of steps of the retention run.
    Thin(usize),
    /// A rollback to a position of the log.
    Back(usize),
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        6 => draft().prop_map(Turn::Edit),
        2 => (1..25u64).prop_map(Turn::Days),
        3 => (1..6usize).prop_map(Turn::Thin),
        1 => (0..100usize).prop_map(Turn::Back),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(48), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn thinning_at_any_moment_changes_no_text_and_forgets_no_operation(turns in prop::collection::vec(turn(), 10..60)) {
        let app = unlimited();
        let room = Room::new(&app);
        let mut letters = Letters::default();
        let mut sent_so_far: Vec<(Value, Value)> = Vec::new();
        let mut text = Text::default();
        for turn in turns {
            match turn {
                Turn::Edit(draft) => {
                    let operation = draft.apply(&mut text, &mut letters);
                    let id = format!("o{}", sent_so_far.len());
                    let seen = room.notes()["sequence"].clone();
                    let args = json!({"clientSequence": seen, "operationId": id, "operation": sent(&operation)});
                    let answer = room.apply_with(&room.ben, args.clone()).value().clone();
                    sent_so_far.push((args, answer));
                }
                Turn::Days(days) => app.clock().advance(DAY * u32::try_from(days).unwrap()),
                Turn::Thin(steps) => {
                    for _ in 0..steps {
                        system(&app).run::<retention>(NoArgs {}).unwrap();
                    }
                }
                Turn::Back(at) => {
                    let notes = room.notes();
                    let (first, end) = (notes["firstSequence"].as_u64().unwrap(), notes["sequence"].as_u64().unwrap());
                    let target = first - 1 + at as u64 % (end + 2 - first);
                    let args = json!({"targetSequence": target});
                    room.call(&room.ada, "notes/index/rollbackToSequence", args).value();
                    text = Text::from(room.text().as_str());
                }
            }
            prop_assert_eq!(room.text(), String::from(&text));
        }
        // From the first entry with text on, a replay yields the text at every entry.
        let first = room.notes()["firstSequence"].as_i64().unwrap();
        let begun = checkpoints(&app).into_iter().find(|(sequence, _)| *sequence == first - 1);
        let mut replayed = Text::from(begun.map_or_else(String::new, |(_, content)| content).as_str());
        let entries = list(&room, first).value()["operations"].as_array().unwrap().clone();
        for entry in &entries {
            prop_assert_eq!(replayed.apply(&logged(entry)), Ok(()));
        }
        prop_assert_eq!(String::from(&replayed), String::from(&text));
        for (args, answer) in &sent_so_far {
            let again = room.apply_with(&room.ben, args.clone());
            prop_assert_eq!(again.value(), answer);
        }
        prop_assert_eq!(room.text(), String::from(&text));
        app.advance(Duration::from_secs(60));
    }
}
