//! The notes of a meeting: their text in pieces, and the log of all operations.
//!
//! Lengths and positions are UTF-16 code units. Sequences and versions begin at 1; 0 is the empty document.

use convoke::{Id, Millis, table, value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::meetings::Meeting;
use super::users::User;
use crate::values::{Fingerprint, NoteEdit, OperationId, OperationType};

/// The current notes of a meeting.
#[table(name = "notes", prefix = "note")]
#[index(by_meeting(meeting_id), unique)]
#[index(by_text_since(text_since))]
pub struct Note {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The length of the text.
    pub units: i64,
    /// The pieces of the text, in order.
    pub pieces: Vec<PieceOfNote>,
    /// Number of calls that changed the notes.
    pub version: i64,
    /// Number of entries of the log.
    pub sequence: i64,
    /// Time of the last change.
    pub updated_at: Millis,
    /// The first entry of the log that still has its text. A checkpoint holds the document before it, unless it is entry 1.
    #[default(1)]
    pub first_sequence: i64,
    /// The last entry whose text is deleted. The deletion proceeds to the entry before `first_sequence`.
    #[default(0)]
    pub cleared_sequence: i64,
    /// Time of the first entry whose text is still stored; [`Millis::MAX`] if there is none. 0 in rows of older releases
    /// until the log is read.
    #[default(0)]
    pub text_since: Millis,
}

/// A piece of the text: about 4,096 units, at most 8,192, so that a keystroke rewrites one row of that size.
#[table(name = "notePieces", prefix = "notepiece")]
#[index(by_meeting(meeting_id))]
pub struct NotePiece {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The text.
    pub text: String,
}

/// A piece of the text with its length, at its position in the list.
#[value(name = "PieceOfNote")]
#[derive(Eq)]
pub struct PieceOfNote {
    /// The row with the text.
    pub id: Id<NotePiece>,
    /// Length in UTF-16 code units, at least 1.
    pub units: i64,
}

/// An entry of the log. The log only grows. Old entries lose their text and nothing else.
#[table(name = "noteOperations", prefix = "noteop")]
#[index(by_meeting_sequence(meeting_id, sequence), unique)]
#[index(by_meeting_version(meeting_id, version))]
#[index(by_meeting_passed(meeting_id, sequence, author_id, operation_id, pieces, kind, position, length))]
#[index(by_meeting_author_operation(meeting_id, author_id, operation_id), unique)]
pub struct NoteOperation {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The sequence number.
    pub sequence: i64,
    /// The version of the notes after the call that the entry belongs to.
    pub version: i64,
    /// The author.
    pub author_id: Id<User>,
    /// The operation as it was applied. Its text is absent after it was merged into a checkpoint.
    pub operation: NoteEdit,
    /// The kind of `operation`. It is stored again, as are the next two fields, so that an index has all data that a
    /// transform needs and no long text is read. Absent in rows of older releases.
    pub kind: Option<OperationType>,
    /// The position of `operation`.
    pub position: Option<i64>,
    /// The length of `operation`.
    pub length: Option<i64>,
    /// The entries by which it was transformed. If an operation has several entries, the first one holds them.
    pub conflicts_with: Vec<ChangedBy>,
    /// The id that identifies a retry. Entries without an id never conflict.
    pub operation_id: Option<OperationId>,
    /// Fingerprint of the operation as it was sent. A retry with other content is rejected.
    pub fingerprint: Option<Fingerprint>,
    /// Number of entries of the operation. The first has the id, and the others follow it in sequence.
    pub pieces: i64,
}

/// Entries of the log by which an operation was transformed. An operation far behind the log can be transformed by
/// thousands of entries, mostly consecutive ones: a range takes a few bytes instead of hundreds of kilobytes.
///
/// ```json
/// [102, 9801]
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ChangedBy {
    /// All entries from one sequence to another, inclusive.
    Entries(i64, i64),
    /// One entry, as older releases wrote it.
    Entry(Id<NoteOperation>),
}

/// The document at an earlier entry of the log. A replay starts there.
#[table(name = "noteCheckpoints", prefix = "checkpoint")]
#[index(by_meeting_sequence(meeting_id, sequence), unique)]
pub struct NoteCheckpoint {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The entry of the log after which the document had this text.
    pub sequence: i64,
    /// The version after that entry.
    pub version: i64,
    /// The complete text.
    pub content: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn range_of_entries_is_short_and_one_that_was_written_long_is_still_read() {
        let id = "noteop_01kdvws5r2a4n8w7k0q3d6m9vt";
        let changed: Vec<ChangedBy> = from_value(json!([[102, 9801], id])).unwrap();
        assert_eq!(changed, [ChangedBy::Entries(102, 9_801), ChangedBy::Entry(id.parse().unwrap())]);
        assert_eq!(serde_json::to_string(&changed[..1]).unwrap(), "[[102,9801]]");
    }
}
