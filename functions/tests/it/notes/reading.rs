//! `notes/queries/…`.

use std::time::Duration;

use convoke::Code;
use convoke::testing::{START, TestApp};
use serde_json::json;

use super::room::{Room, delete, insert};

#[test]
fn notes_include_content_version_and_time_of_change() {
    let app = TestApp::new();
    let room = Room::new(&app);
    assert_eq!(
        room.notes(),
        json!({"content": "", "version": 0, "sequence": 0, "firstSequence": 1, "updatedAt": START.0})
    );
    app.advance(Duration::from_millis(1_500));

    room.apply(&room.ben, 0, insert(0, "hello")).value();

    let notes =
        json!({"content": "hello", "version": 1, "sequence": 1, "firstSequence": 1, "updatedAt": START.0 + 1_500});
    assert_eq!(room.notes(), notes);
}

#[test]
fn the_log_is_listed_from_an_entry_on_and_says_where_to_go_on() {
    let app = TestApp::new();
    let room = Room::new(&app);
    let ben = room.ben.call("users/queries/getCurrentUser", json!({})).value()["_id"].clone();
    room.apply(&room.ada, 0, insert(0, "abcdefghij")).value();
    room.apply(&room.ada, 1, insert(4, "XY")).value();
    let split = json!({"clientSequence": 1, "operationId": "cut", "operation": delete(2, 5)});
    room.apply_with(&room.ben, split).value();
    let list = |args| room.call(&room.ben, "notes/queries/listNoteOperations", args).value().clone();

    let all = list(json!({}));
    let entries = all["operations"].as_array().unwrap();
    assert_eq!((entries.len(), &all["nextSequence"], &all["version"]), (4, &json!(5), &json!(3)));
    let mut second = entries[2].clone();
    assert!(second["_id"].as_str().unwrap().starts_with("noteop_"));
    second.as_object_mut().unwrap().remove("_id");
    assert_eq!(
        second,
        json!({
            "sequence": 3, "version": 3, "authorId": ben, "operationId": "cut", "createdAt": START.0,
            "operation": {"type": "delete", "position": 2, "content": "", "length": 2},
        })
    );
    assert_eq!(entries[3].get("operationId"), None);
    assert_eq!((&entries[3]["sequence"], &entries[3]["version"]), (&json!(4), &json!(3)));

    let page = list(json!({"fromSequence": 2, "limit": 2}));
    assert_eq!(page["operations"].as_array().unwrap()[..], entries[1..3]);
    assert_eq!(page["nextSequence"], 4);
    // Before the first entry, behind the last, and far behind it, where a client would miss later entries.
    assert_eq!(list(json!({"fromSequence": 0}))["operations"], all["operations"]);
    for from in [5, 50] {
        let nothing = json!({"operations": [], "nextSequence": 5, "version": 3, "firstSequence": 1});
        assert_eq!(list(json!({"fromSequence": from})), nothing);
    }
}

#[test]
fn only_participants_read_and_a_limit_has_bounds() {
    let app = TestApp::new();
    let room = Room::new(&app);
    let eve = app.user("eve");

    for path in ["notes/queries/getMeetingNotes", "notes/queries/listNoteOperations"] {
        room.call(&eve, path, json!({})).assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
        room.call(&app.nobody(), path, json!({})).assert_refused(Code::Unauthenticated, "Authentication required");
    }
    for limit in [0, 1_001] {
        let refused = room.call(&room.ada, "notes/queries/listNoteOperations", json!({"limit": limit}));
        let message = format!("limit: must be an integer between 1 and 1000 (got {limit})");
        refused.assert_refused(Code::InvalidArgument, &message);
        assert_eq!(refused.field(), Some("limit"));
    }
    // A participant who left can still read.
    room.call(&room.ben, "meetings/lifecycle/leaveMeeting", json!({})).value();
    room.call(&room.ben, "notes/queries/getMeetingNotes", json!({})).value();
}
