//! Notes: one edit, as it is sent and as it is logged, and what belongs to the offline queue.
//!
//! When an edit is valid and how two pass each other are rules of the notes, not of these types.

use convoke::value;

use super::numbers::Natural;
use super::tokens::ClientToken;

/// What an edit does.
#[value(name = "OperationType")]
pub enum OperationType {
    /// Puts `content` at `position`.
    Insert,
    /// Takes `length` units away from `position` on.
    Delete,
    /// Changes nothing: a cursor, or what is left of a delete whose text was gone.
    Retain,
}

/// An edit as a client sends it; what its type does not need is ignored.
///
/// ```json
/// {"type": "insert", "position": 4, "content": "XY"}
/// ```
#[value(name = "NoteEditInput")]
pub struct NoteEditInput {
    /// What it does.
    #[value(rename = "type")]
    pub kind: OperationType,
    /// Where, in UTF-16 code units from the beginning of the text.
    pub position: Natural,
    /// The text that an insert puts there: 1 … 100,000 units.
    pub content: Option<String>,
    /// How many units a delete takes away (at least 1) or a retain speaks of.
    pub length: Option<Natural>,
}

/// An edit as it stands in the log: always all four.
///
/// ```json
/// {"type": "insert", "position": 4, "content": "XY", "length": 2}
/// ```
#[value(name = "NoteEdit")]
#[derive(Eq)]
pub struct NoteEdit {
    /// What it does.
    #[value(rename = "type")]
    pub kind: OperationType,
    /// Where, in UTF-16 code units from the beginning of the text.
    pub position: i64,
    /// The text that it inserts; `""` unless it inserts.
    pub content: String,
    /// How many UTF-16 code units it inserts, takes away, or speaks of.
    pub length: i64,
}

/// By what an author's repeated operation is known: the client's id of it, or `<clientId>/<id>` if it was queued
/// offline. The two never collide: a [`ClientToken`] has no `/`.
#[value(text, min = 1, max = 257, pattern = "^[A-Za-z0-9._:@-]+(/[A-Za-z0-9._:@-]+)?$")]
pub struct OperationId(String);

impl OperationId {
    /// That of an operation applied at once.
    pub fn online(id: ClientToken) -> Self {
        Self(id.into_string())
    }

    /// That of an operation out of a client's queue.
    pub fn offline(client: &ClientToken, id: &ClientToken) -> Self {
        Self(format!("{client}/{id}"))
    }
}

/// Where an operation of the offline queue is.
#[value(name = "OfflineStatus")]
pub enum OfflineStatus {
    /// Waits for the drain.
    Pending,
    /// Is being applied. Seen by nobody: taking and applying are one transaction.
    Syncing,
    /// Is in the log.
    Synced,
    /// Was refused, with the reason.
    Failed,
}

/// Why notes are rolled back, at most 500 characters; for the audit.
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
