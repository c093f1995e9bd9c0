//! `notes/offline/…` and the drain behind it.

use std::time::Duration;

use convoke::Code;
use convoke::testing::{START, TestApp};
use schema::{NoteOperation, OfflineChain, OfflineOperation, OfflineStatus};
use serde_json::{Value, json};

use super::room::{Room, delete, insert, offline, retain, unlimited};
use crate::rights::{self, Call};
use crate::support::with;

inventory::submit!(Call::new("notes/offline/queueOfflineOperations", |ids| {
    json!({
        "meetingId": ids.meeting, "clientId": ids.client,
        "operations": [rights::offline(&ids.client, "offline-2", &ids.participant)],
    })
}));

const SECOND: Duration = Duration::from_secs(1);

/// Operations of the client `c`, whose ids are `o1`, `o2`, …
fn chain(edits: &[Value]) -> Value {
    numbered(1, edits)
}

fn numbered(first: i64, edits: &[Value]) -> Value {
    let number = |place: usize| first + i64::try_from(place).expect("few");
    edits
        .iter()
        .enumerate()
        .map(|(place, edit)| offline("c", &format!("o{}", number(place)), number(place), edit.clone()))
        .collect()
}

fn status(room: &Room<'_>) -> Value {
    room.of_queue(&room.ben, "c", "getOfflineQueueStatus", json!({}))
}

#[test]
fn offline_operations_are_applied_after_one_second() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "hello")).value();
    room.apply(&room.ada, 1, insert(0, "abc ")).value();

    let queued = room.queue(&room.ben, "c", chain(&[insert(5, "X"), insert(6, "Y")]), json!({"baseSequence": 1}));

    let queue_id = queued.value()["queueId"].as_str().unwrap();
    assert_eq!(queued.value(), &json!({"queueId": queue_id, "queued": 2, "success": true}));
    assert!(!queue_id.is_empty());
    app.advance(Duration::from_millis(999));
    assert_eq!(room.text(), "abc hello");
    app.advance(Duration::from_millis(1));
    assert_eq!(room.text(), "abc helloXY");
    let log = room.log();
    assert_eq!(log[2]["operationId"], "c/o1");
    assert_eq!((&log[2]["version"], &log[3]["version"]), (&json!(3), &json!(3)), "a drain is one version");
    assert_eq!(
        status(&room),
        json!({
            "pending": 0, "syncing": 0, "synced": 2, "failed": 0, "totalQueued": 2, "queueHealth": "healthy",
        })
    );
}

#[test]
fn operations_come_in_the_order_of_their_sequence_then_of_their_place() {
    let app = TestApp::new();
    let room = Room::new(&app);
    let operations = json!([
        offline("c", "third", 2, insert(2, "3")),
        offline("c", "first", 1, insert(0, "1")),
        offline("c", "second", 1, insert(1, "2")),
    ]);

    room.queue(&room.ben, "c", operations, json!({})).value();
    app.advance(SECOND);

    assert_eq!(room.text(), "123");
    let ids: Vec<_> = room.log().iter().map(|entry| entry["operationId"].clone()).collect();
    assert_eq!(ids, ["c/first", "c/second", "c/third"]);
}

#[test]
fn a_chain_goes_on_over_several_drains_and_calls_with_edits_of_others_in_between() {
    let app = unlimited();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "base")).value();
    // Offline: 60 letters in order behind "base". A drain takes 50.
    let typed: Vec<Value> = (0..60).map(|place| insert(4 + place, "x")).collect();
    room.queue(&room.ben, "c", chain(&typed), json!({"baseSequence": 1})).value();
    room.apply(&room.ada, 1, insert(0, ">> ")).value();

    let synced = room.of_queue(&room.ben, "c", "syncOfflineOperations", json!({}));
    assert_eq!((&synced["synced"], &synced["remainingInQueue"]), (&json!(50), &json!(10)));
    assert_eq!(synced["conflicts"], json!([room.log()[1]["_id"]]));
    assert_eq!(synced["newVersion"], 3);
    // Another user writes before and inside it; a second call without a base continues the pending chain.
    room.apply(&room.ada, 52, insert(0, "# ")).value();
    room.apply(&room.ada, 53, insert(12, "!")).value();
    room.queue(&room.ben, "c", numbered(61, &[insert(64, "y"), delete(0, 2)]), json!({})).value();
    app.advance(SECOND);

    assert_eq!(room.text(), format!("# >> sexxx!{}y", "x".repeat(57)));
    // A third call on the same base continues the chain, although nothing of it is pending.
    room.queue(&room.ben, "c", numbered(63, &[insert(63, "z")]), json!({"baseSequence": 1})).value();
    app.advance(SECOND);
    assert_eq!(room.text(), format!("# >> sexxx!{}yz", "x".repeat(57)));
    assert_eq!(room.replayed(), room.text());
    // A call on another base starts a new chain.
    let end = room.notes()["sequence"].clone();
    room.queue(&room.ben, "c", numbered(64, &[insert(0, "-")]), json!({"baseSequence": end})).value();
    app.advance(SECOND);
    assert!(room.text().starts_with("-# >> "));
    assert_eq!(app.count::<OfflineChain>(), 1);
}

#[test]
fn the_background_drain_goes_on_until_nothing_is_pending() {
    let app = unlimited();
    let room = Room::new(&app);
    let typed: Vec<Value> = (0..120).map(|place| insert(place, "x")).collect();

    room.queue(&room.ben, "c", chain(&typed), json!({})).value();
    app.advance(SECOND);

    assert_eq!(room.text(), "x".repeat(120));
    assert_eq!(room.notes()["version"], 3);
    assert_eq!(status(&room)["synced"], 120);
}

#[test]
fn an_operation_that_does_not_fit_fails_alone() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "abc")).value();
    room.apply(&room.ada, 1, insert(0, "_")).value();
    let operations = chain(&[insert(3, "d"), delete(4, 1), insert(4, "e")]);
    room.queue(&room.ben, "c", operations, json!({"baseSequence": 1})).value();

    let synced = room.of_queue(&room.ben, "c", "syncOfflineOperations", json!({}));

    assert_eq!(room.text(), "_abcde");
    assert_eq!((&synced["synced"], &synced["failed"]), (&json!(2), &json!(1)));
    assert_eq!(synced["errors"], json!([{"operationId": "o2", "error": "Delete operation exceeds document length"}]));
    let rows = app.read(|db| Ok(db.scan::<OfflineOperation>().take(10)?));
    assert_eq!(rows[1].error.as_deref(), Some("Delete operation exceeds document length"));
    assert_eq!((rows[1].attempts, rows[1].last_attempt), (1, Some(START)));
    app.advance(SECOND);
    assert_eq!(status(&room)["failed"], 1);
}

#[test]
fn a_drain_in_which_all_fails_makes_no_version() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.queue(&room.ben, "c", chain(&[delete(0, 1)]), json!({})).value();

    app.advance(SECOND);

    assert_eq!((&room.notes()["version"], &status(&room)["failed"]), (&json!(0), &json!(1)));
}

#[test]
fn a_repetition_is_passed_over_and_nothing_is_applied_twice() {
    let app = TestApp::new();
    let room = Room::new(&app);
    let operations = chain(&[insert(0, "a"), insert(1, "b")]);

    let first = room.queue(&room.ben, "c", operations.clone(), json!({})).value().clone();
    let pending = room.queue(&room.ben, "c", operations.clone(), json!({})).value().clone();
    app.advance(SECOND);
    let synced = room.queue(&room.ben, "c", operations.clone(), json!({})).value().clone();
    app.advance(SECOND);
    room.of_queue(&room.ben, "c", "syncOfflineOperations", json!({}));

    for again in [pending, synced] {
        assert_eq!(again, json!({"queueId": first["queueId"], "queued": 0, "success": true}));
    }
    assert_eq!(room.text(), "ab");
    // New operations in a partial repetition are stored in order, also if others wrote in the meantime.
    room.apply(&room.ada, 2, insert(0, "-")).value();
    let more = chain(&[insert(0, "a"), insert(1, "b"), insert(2, "c")]);
    let partial = room.queue(&room.ben, "c", more, json!({})).value().clone();
    assert_eq!(partial["queued"], 1);
    assert_ne!(partial["queueId"], first["queueId"]);
    app.advance(SECOND);
    assert_eq!(room.text(), "-abc");
    // Within one call, too.
    let one = offline("c", "o9", 9, insert(0, "!"));
    assert_eq!(room.queue(&room.ben, "c", json!([one, one]), json!({})).value()["queued"], 1);
    app.advance(SECOND);
    assert_eq!(app.count::<NoteOperation>(), 5);
}

#[test]
fn a_known_id_with_other_content_is_a_conflict_and_nothing_of_the_call_is_stored() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.queue(&room.ben, "c", chain(&[insert(0, "a")]), json!({})).value();
    app.advance(SECOND);
    let other = json!([offline("c", "new", 0, insert(0, "n")), offline("c", "o1", 1, insert(0, "b"))]);

    room.queue(&room.ben, "c", other, json!({}))
        .assert_refused(Code::Conflict, "Operation o1 was already queued with different content");
    let within = json!([offline("c", "x", 0, insert(0, "n")), offline("c", "x", 1, insert(0, "m"))]);
    room.queue(&room.ben, "c", within, json!({}))
        .assert_refused(Code::Conflict, "Operation x was already queued with different content");

    assert_eq!(app.count::<OfflineOperation>(), 1);
    // Rows belong to the caller and the client: the same id of another client is another operation.
    room.queue(&room.ada, "c", chain(&[insert(0, "b")]), json!({})).value();
    room.queue(&room.ben, "d", json!([offline("d", "o1", 1, insert(0, "c"))]), json!({})).value();
    app.advance(SECOND);
    assert_eq!(app.count::<OfflineOperation>(), 3);
    assert_eq!(room.text().len(), 3);
}

#[test]
fn operations_sent_as_synced_are_kept_and_never_applied() {
    let app = TestApp::new();
    let room = Room::new(&app);
    let synced = with(offline("c", "o1", 1, insert(0, "a")), json!({"status": "synced"}));
    let failed =
        with(offline("c", "o2", 2, insert(0, "b")), json!({"status": "failed", "error": "old", "attempts": 7}));
    let syncing = with(offline("c", "o3", 3, insert(1, "c")), json!({"status": "syncing", "transformedFrom": ["x"]}));

    assert_eq!(room.queue(&room.ben, "c", json!([synced, failed, syncing]), json!({})).value()["queued"], 3);
    let before = status(&room);
    app.advance(SECOND);

    assert_eq!((&before["pending"], &before["synced"]), (&json!(2), &json!(1)));
    assert_eq!(before["oldestPending"], START.0);
    assert_eq!(room.text(), "bc");
    let rows = app.read(|db| Ok(db.scan::<OfflineOperation>().take(10)?));
    assert_eq!((rows[0].attempts, rows[1].attempts), (0, 1), "what the client says of attempts is not stored");
    assert_eq!(rows[1].error, None);
    // Alone they need neither a drain nor a recent base.
    let alone = with(offline("c", "o4", 4, insert(0, "d")), json!({"status": "synced"}));
    room.queue(&room.ben, "c", json!([alone]), json!({"baseVersion": 99})).value();
    assert!(app.pending_jobs().iter().all(|job| job.path != "notes/drain"));
}

#[test]
fn cleared_operations_lose_their_content_and_stay_known() {
    let app = TestApp::new();
    let room = Room::new(&app);
    let secret = chain(&[insert(0, "secret"), delete(0, 100)]);
    room.queue(&room.ben, "c", secret.clone(), json!({})).value();
    app.advance(SECOND);
    let clear = |args: Value| room.of_queue(&room.ben, "c", "clearSyncedOperations", args)["cleared"].clone();

    // An hour by default, from the time when the server received them.
    assert_eq!(clear(json!({})), 0);
    app.advance(Duration::from_secs(3_598));
    assert_eq!(clear(json!({})), 0);
    assert_eq!(clear(json!({"olderThanMs": 3_599_001})), 0);
    assert_eq!(room.of_queue(&room.ada, "c", "clearSyncedOperations", json!({"olderThanMs": 0}))["cleared"], 0);
    app.advance(SECOND);
    assert_eq!(clear(json!({})), 1);
    assert_eq!(clear(json!({"olderThanMs": 0})), 0);

    let rows = app.read(|db| Ok(db.scan::<OfflineOperation>().take(10)?));
    assert_eq!((rows[0].cleared, rows[0].operation.is_none()), (true, true));
    assert_eq!((rows[1].cleared, rows[1].operation.is_some()), (false, true), "what failed is not cleared");
    assert_eq!((&status(&room)["synced"], &status(&room)["totalQueued"]), (&json!(0), &json!(1)));
    // A late repetition is recognized, and so is other content with the id.
    assert_eq!(room.queue(&room.ben, "c", secret, json!({})).value()["queued"], 0);
    room.queue(&room.ben, "c", chain(&[insert(0, "other")]), json!({}))
        .assert_refused(Code::Conflict, "Operation o1 was already queued with different content");
    app.advance(SECOND);
    assert_eq!(room.text(), "secret");
    // New operations come behind cleared ones.
    room.queue(&room.ben, "c", numbered(3, &[insert(6, "!")]), json!({"baseSequence": 1})).value();
    app.advance(SECOND);
    assert_eq!(room.text(), "secret!");
}

#[test]
fn an_operation_that_is_in_the_log_is_not_applied_again_though_its_row_is_gone() {
    let app = TestApp::new();
    let room = Room::new(&app);
    let operations = chain(&[insert(0, "a")]);
    room.queue(&room.ben, "c", operations.clone(), json!({})).value();
    app.advance(SECOND);
    app.clock().advance(Duration::from_secs(32 * 24 * 3_600));
    app.run_due();
    assert_eq!(app.count::<OfflineOperation>(), 0, "retention has deleted the row");

    assert_eq!(room.queue(&room.ben, "c", operations, json!({})).value()["queued"], 1);
    app.advance(SECOND);

    assert_eq!(room.text(), "a");
    assert_eq!(status(&room)["synced"], 1);
}

#[test]
fn removed_participant_cannot_write_and_can_retry_after_return() {
    let app = TestApp::new();
    let room = Room::new(&app);
    room.queue(&room.ben, "c", chain(&[insert(0, "a"), insert(1, "b")]), json!({})).value();
    room.call(&room.ada, "meetings/lifecycle/removeParticipant", json!({"userId": "ben"})).value();
    app.advance(SECOND);

    assert_eq!(room.text(), "");
    let rows = app.read(|db| Ok(db.scan::<OfflineOperation>().take(10)?));
    assert!(rows.iter().all(|row| row.error.as_deref() == Some("Access denied")), "{rows:#?}");
    room.queue(&room.ben, "c", json!([]), json!({}))
        .assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");

    room.call(&room.ada, "meetings/lifecycle/addParticipant", json!({"userId": "ben"})).value();
    assert_eq!(status(&room)["failed"], 2);
    room.apply(&room.ada, 0, insert(0, "-")).value();
    assert_eq!(room.of_queue(&room.ben, "c", "retryFailedOperations", json!({})), json!({"retried": 2}));
    assert_eq!(room.of_queue(&room.ben, "c", "retryFailedOperations", json!({})), json!({"retried": 0}));
    app.advance(SECOND);
    // A separate chain at the end of the log: the second operation still follows the first.
    assert_eq!(room.text(), "ab-");
    assert_eq!(status(&room)["synced"], 2);
}

#[test]
fn the_drain_checks_the_rights_of_the_author_itself() {
    let app = TestApp::new();
    let room = Room::made(&app, json!({"scheduledAt": app.now().0 + 86_400_000}));
    room.queue(&room.ben, "c", chain(&[insert(0, "a")]), json!({})).value();
    room.call(&room.ada, "meetings/lifecycle/cancelMeeting", json!({})).value();

    app.advance(SECOND);

    assert_eq!(room.text(), "");
    assert_eq!(status(&room)["failed"], 1);
}

#[test]
fn a_retried_operation_does_not_disturb_the_chain() {
    let app = unlimited();
    let room = Room::new(&app);
    room.apply(&room.ada, 0, insert(0, "base")).value();
    // The second fails; the chain continues behind it, over several drains.
    let mut edits = vec![insert(4, "a"), insert(99, "?")];
    edits.extend((0..58).map(|place| insert(5 + place, "x")));
    room.queue(&room.ben, "c", chain(&edits), json!({"baseSequence": 1})).value();
    room.of_queue(&room.ben, "c", "syncOfflineOperations", json!({}));
    let padding = "p".repeat(120);
    room.apply(&room.ada, 50, insert(0, &padding)).value();
    room.apply(&room.ada, 51, insert(0, "> ")).value();

    assert_eq!(room.of_queue(&room.ben, "c", "retryFailedOperations", json!({}))["retried"], 1);
    app.advance(SECOND);
    room.queue(&room.ben, "c", numbered(61, &[insert(63, "z")]), json!({"baseSequence": 1})).value();
    app.advance(SECOND);

    let text = room.text();
    assert_eq!(text.replacen('?', "", 1), format!("> {padding}basea{}z", "x".repeat(58)));
    // Retried on the text at the time of the retry.
    let retried = room.log().into_iter().find(|entry| entry["operationId"] == "c/o2").unwrap();
    assert_eq!(retried["operation"]["position"], 99);
    assert_eq!(status(&room)["failed"], 0);
    assert_eq!(room.replayed(), text);
}

#[test]
fn invalid_offline_operation_is_rejected_with_its_field() {
    let app = TestApp::new();
    let room = Room::new(&app);
    let of = |changes: Value| {
        json!([offline("c", "o1", 1, insert(0, "a")), with(offline("c", "o2", 2, insert(0, "b")), changes)])
    };

    for (operations, field, message) in [
        (of(json!({"content": ""})), "operations[1].content", "Invalid operation: o2"),
        (of(json!({"content": null})), "operations[1].content", "Invalid operation: o2"),
        (of(json!({"type": "delete"})), "operations[1].length", "Invalid operation: o2"),
        (of(json!({"type": "delete", "length": 0})), "operations[1].length", "Invalid operation: o2"),
        (of(json!({"clientId": "other"})), "operations[1].clientId", "Invalid operation: o2"),
        (
            of(json!({"position": -1})),
            "operations[1].position",
            "operations[1].position: must be an integer of at least 0 (got -1)",
        ),
        (
            of(json!({"status": "done"})),
            "operations[1].status",
            "operations[1].status: must be one of pending, syncing, synced, failed (got \"done\")",
        ),
        (of(json!({"authorId": null})), "operations[1].authorId", "Missing required argument: operations[1].authorId"),
        (of(json!({"more": 1})), "operations[1].more", "Unknown argument: operations[1].more"),
        (numbered(1, &vec![retain(0); 501]), "operations", "Too many operations (max 500)"),
    ] {
        let refused = room.queue(&room.ben, "c", operations, json!({}));
        refused.assert_refused(Code::InvalidArgument, message);
        assert_eq!(refused.field(), Some(field));
    }
    assert_eq!(app.count::<OfflineOperation>(), 0);
    room.queue(&app.nobody(), "c", json!([]), json!({}))
        .assert_refused(Code::Unauthenticated, "Authentication required");
    room.queue(&app.user("eve"), "c", json!([]), json!({}))
        .assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
    for function in ["clearSyncedOperations", "syncOfflineOperations", "getOfflineQueueStatus", "retryFailedOperations"]
    {
        let refused = room.call(&app.user("eve"), &format!("notes/offline/{function}"), json!({"clientId": "c"}));
        refused.assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
    }
}

#[test]
fn queue_accepts_zero_to_five_hundred_operations() {
    let app = unlimited();
    let room = Room::new(&app);

    let none = room.queue(&room.ben, "c", json!([]), json!({})).value().clone();
    assert_eq!(none["queued"], 0);
    assert!(none["queueId"].is_string());
    assert_eq!(room.queue(&room.ben, "c", numbered(1, &vec![insert(0, "x"); 500]), json!({})).value()["queued"], 500);
    let all = room.of_queue(&room.ben, "c", "syncOfflineOperations", json!({"maxOperations": 500}));

    assert_eq!((&all["synced"], &all["remainingInQueue"], &all["newVersion"]), (&json!(500), &json!(0), &json!(10)));
    app.advance(SECOND);
    assert_eq!(room.text(), "x".repeat(500));
}

#[test]
fn the_base_is_held_to_the_notes_as_online() {
    let app = TestApp::with(|options| {
        options.settings = "[quotas]\nnote_entries_behind = 3".parse().expect("settings are TOML");
    });
    let room = Room::new(&app);
    for seen in 0..4 {
        room.apply(&room.ada, seen, insert(0, "-")).value();
    }
    let queue = |id: i64, base: Value| room.queue(&room.ben, "c", numbered(id, &[insert(0, "+")]), base);

    queue(1, json!({"baseVersion": 5})).assert_refused(Code::Conflict, "Version mismatch: expected 5, got 4");
    queue(1, json!({"baseVersion": 0})).assert_refused(Code::Conflict, "History is too far behind; reload the notes");
    queue(1, json!({"baseSequence": 0})).assert_refused(Code::Conflict, "History is too far behind; reload the notes");
    // Without a base: the sequence of the first operation, or the end of the log.
    queue(0, json!({})).assert_refused(Code::Conflict, "History is too far behind; reload the notes");
    queue(1, json!({})).value();
    app.advance(SECOND);
    assert_eq!(room.text(), "---+-");
    queue(900, json!({})).value();
    app.advance(SECOND);
    assert_eq!(room.text(), "+---+-");
    queue(901, json!({"baseSequence": 1_000})).value();
    app.advance(SECOND);
    assert_eq!(room.text(), "++---+-");
}

#[test]
fn a_chain_that_fell_too_far_behind_before_its_drain_fails_with_the_reason() {
    let app = TestApp::with(|options| {
        options.settings = "[quotas]\nnote_entries_behind = 3".parse().expect("settings are TOML");
    });
    let room = Room::new(&app);
    room.queue(&room.ben, "c", chain(&[insert(0, "+")]), json!({"baseSequence": 0})).value();
    for seen in 0..4 {
        room.apply(&room.ada, seen, insert(0, "-")).value();
    }

    app.advance(SECOND);

    assert_eq!(room.text(), "----");
    let rows = app.read(|db| Ok(db.scan::<OfflineOperation>().take(10)?));
    assert_eq!(rows[0].error.as_deref(), Some("History is too far behind; reload the notes"));
    // Retried at the end of the log, it is applied.
    room.of_queue(&room.ben, "c", "retryFailedOperations", json!({}));
    app.advance(SECOND);
    assert_eq!(room.text(), "+----");
}

#[test]
fn client_has_a_limit_of_pending_operations() {
    let app = TestApp::with(|options| {
        options.settings = "[quotas]\npending_offline_operations_per_client = 3".parse().expect("settings are TOML");
    });
    let room = Room::new(&app);
    room.queue(&room.ben, "c", chain(&[insert(0, "1"), insert(1, "2")]), json!({})).value();
    let two = numbered(3, &[insert(2, "3"), insert(3, "4")]);

    let refused = room.queue(&room.ben, "c", two.clone(), json!({}));
    refused.assert_refused(Code::RateLimited, "Too many pending operations (max 3)");
    assert!(refused.data()["retryAfterMs"].as_i64().unwrap() > 0);
    app.advance(SECOND);
    room.queue(&room.ben, "c", two, json!({})).value();
    app.advance(SECOND);

    assert_eq!(room.text(), "1234");
}

#[test]
fn the_status_judges_the_queue() {
    let app = unlimited();
    let room = Room::new(&app);
    room.queue(&room.ben, "c", numbered(1, &vec![delete(0, 1); 11]), json!({})).value();
    assert_eq!(status(&room)["queueHealth"], "healthy");
    app.advance(SECOND);
    assert_eq!(status(&room)["queueHealth"], "critical");
    let room = Room::new(&app);
    room.queue(&room.ben, "c", numbered(1, &vec![insert(0, "x"); 51]), json!({})).value();
    let waiting = status(&room);
    assert_eq!(waiting["queueHealth"], "warning");
    assert_eq!((&waiting["oldestPending"], &waiting["newestPending"]), (&json!(app.now().0), &json!(app.now().0)));
    app.advance(SECOND);
}

/// A log with this number of entries, each one letter at the beginning.
fn typed_by_others(room: &Room<'_>, entries: usize) {
    let letters: Vec<Value> = (0..100).map(|_| json!({"operation": insert(0, "y")})).collect();
    for _ in 0..entries / 100 {
        room.call(&room.ada, "notes/index/batchApplyNoteOperations", json!({"operations": letters})).value();
    }
}

#[test]
fn operations_far_behind_the_log_are_drained_a_few_at_a_time() {
    let app = TestApp::with(|options| {
        options.settings = "[rates]\nnotes = 0\nread = 0".parse().expect("settings are TOML");
        // An unoptimized build on a slow machine takes too long for this test.
        options.limits.mutation_timeout = Duration::from_secs(30);
    });
    let room = Room::new(&app);
    let typed: Vec<Value> = (0..50).map(|place| insert(place, "x")).collect();
    room.queue(&room.ben, "c", chain(&typed), json!({"baseSequence": 0})).value();
    typed_by_others(&room, 3_000);

    let synced = room.of_queue(&room.ben, "c", "syncOfflineOperations", json!({"maxOperations": 500}));

    // The call passes 100,000 entries, and completes the current one.
    assert_eq!((&synced["synced"], &synced["remainingInQueue"]), (&json!(34), &json!(16)));
    assert_eq!(synced["conflicts"].as_array().unwrap().len(), 3_000, "each once");
    app.advance(SECOND);
    assert_eq!(status(&room)["synced"], 50);
    assert_eq!(room.text(), format!("{}{}", "y".repeat(3_000), "x".repeat(50)));
}

#[test]
fn a_removed_author_with_many_pending_operations_is_removed_and_writes_nothing() {
    let app = unlimited();
    let room = Room::new(&app);
    for call in 0..2 {
        room.queue(&room.ben, "c", numbered(1 + 500 * call, &vec![insert(0, "x"); 500]), json!({})).value();
    }

    room.call(&room.ada, "meetings/lifecycle/removeParticipant", json!({"userId": "ben"})).value();

    let failed = app.read(|db| Ok(db.query(OfflineOperation::by_status_queued).eq(OfflineStatus::Failed).count()?));
    assert_eq!(failed, 500, "the rest is the drain's");
    app.advance(SECOND);
    let pending = app.read(|db| Ok(db.query(OfflineOperation::by_status_queued).eq(OfflineStatus::Pending).count()?));
    assert_eq!((pending, room.text().as_str()), (0, ""));
}
