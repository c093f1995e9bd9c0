//! Notes: operations as clients send them and as the log holds them, and types of the offline queue.
//!
//! The functions of the notes decide if an operation is valid and how two operations are transformed.

use convoke::value;

use super::numbers::Natural;
use super::tokens::ClientToken;

/// The kind of an operation.
#[value(name = "OperationType")]
pub enum OperationType {
    /// Inserts `content` at `position`.
    Insert,
    /// Deletes `length` units from `position` on.
    Delete,
    /// Changes nothing: a cursor, or the rest of a delete whose text no longer exists.
    Retain,
}

/// An operation as a client sends it. Members that its type does not need are ignored.
///
/// ```json
/// {"type": "insert", "position": 4, "content": "XY"}
/// ```
#[value(name = "NoteEditInput")]
pub struct NoteEditInput {
    /// The kind of the operation.
    #[value(rename = "type")]
    pub kind: OperationType,
    /// The position in UTF-16 code units from the start of the text.
    pub position: Natural,
    /// The text of an insert: 1 … 100,000 units.
    pub content: Option<String>,
    /// The number of units of a delete (at least 1) or of a retain.
    pub length: Option<Natural>,
}

/// An operation as the log holds it, with all four members.
///
/// ```json
/// {"type": "insert", "position": 4, "content": "XY", "length": 2}
/// ```
#[value(name = "NoteEdit")]
#[derive(Eq)]
pub struct NoteEdit {
    /// The kind of the operation.
    #[value(rename = "type")]
    pub kind: OperationType,
    /// The position in UTF-16 code units from the start of the text.
    pub position: i64,
    /// The text of an insert; `""` for other operations.
    pub content: String,
    /// The number of UTF-16 code units of the operation.
    pub length: i64,
}

/// The key that identifies an author's retried operation: the client's id, or `<clientId>/<id>` if it was queued
/// offline. The two never conflict, because a [`ClientToken`] contains no `/`.
#[value(text, min = 1, max = 257, pattern = "^[A-Za-z0-9._:@-]+(/[A-Za-z0-9._:@-]+)?$")]
pub struct OperationId(String);

impl OperationId {
    /// Returns the key of an operation that is applied immediately.
    pub fn online(id: ClientToken) -> Self {
        Self(id.into_string())
    }

    /// Returns the key of an operation from a client's queue.
    pub fn offline(client: &ClientToken, id: &ClientToken) -> Self {
        Self(format!("{client}/{id}"))
    }
}

/// The state of an operation in the offline queue.
#[value(name = "OfflineStatus")]
pub enum OfflineStatus {
    /// Waiting for a drain.
    Pending,
    /// Being applied. No other transaction sees this state.
    Syncing,
    /// Added to the log.
    Synced,
    /// Rejected, with a reason.
    Failed,
}

/// The reason for a rollback of notes, at most 500 characters, for the audit.
///
/// ```json
/// "Pasted the wrong text"
/// ```
#[value(text, max = 500)]
pub struct RollbackReason(String);

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn an_edit_has_four_members_and_a_sent_one_needs_two() {
        let json = json!({"type": "insert", "position": 4, "content": "XY", "length": 2});
        let edit: NoteEdit = from_value(json.clone()).unwrap();
        assert_eq!(edit.kind, OperationType::Insert);
        assert_eq!(serde_json::to_value(&edit).unwrap(), json);
        assert!(from_value::<NoteEditInput>(json).is_ok());
        let sent: NoteEditInput = from_value(json!({"type": "retain", "position": 0, "length": null})).unwrap();
        assert_eq!((sent.content, sent.length), (None, None));
        assert!(from_value::<NoteEdit>(json!({"type": "retain", "position": 0})).is_err());
    }

    #[test]
    fn a_sent_edit_is_refused_by_its_form() {
        for bad in [
            json!({"type": "insert"}),
            json!({"position": 0}),
            json!({"type": "zzz", "position": 0}),
            json!({"type": "insert", "position": -1}),
            json!({"type": "insert", "position": 0.5}),
            json!({"type": "insert", "position": 0, "content": 1}),
            json!({"type": "insert", "position": 0, "content": "a\0"}),
            json!({"type": "delete", "position": 0, "length": -1}),
            json!({"type": "insert", "position": 0, "surprise": 1}),
        ] {
            assert!(from_value::<NoteEditInput>(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn ids_of_online_and_offline_operations_never_collide() {
        let token = |text: &str| ClientToken::new(text).unwrap();
        assert_eq!(OperationId::online(token("op-1")).as_str(), "op-1");
        let longest = "x".repeat(128);
        let id = OperationId::offline(&token(&longest), &token(&longest));
        assert_eq!(OperationId::new(id.as_str()).unwrap(), id);
        assert!(OperationId::new("a/b/c").is_err());
    }

    #[test]
    fn statuses_are_spelled_as_the_contract_does() {
        let names: Vec<&str> = OfflineStatus::ALL.iter().map(|status| status.as_str()).collect();
        assert_eq!(names, ["pending", "syncing", "synced", "failed"]);
        let names: Vec<&str> = OperationType::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(names, ["insert", "delete", "retain"]);
    }
}
