//! Operations on notes that clients made offline and that are not yet in the log.

use convoke::{Id, Millis, table, value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::meetings::Meeting;
use super::notes::NoteOperation;
use super::users::User;
use crate::values::{ClientToken, Fingerprint, NoteEdit, OfflineStatus, OperationType};

/// An operation of a client's offline queue.
#[table(name = "offlineOperations", prefix = "offlineop")]
#[index(by_operation(meeting_id, author_id, client_id, operation_id), unique)]
#[index(by_client_status(meeting_id, author_id, client_id, status, ordinal))]
#[index(by_author_status(author_id, status, meeting_id))]
#[index(by_status_queued(status, queued_at))]
pub struct OfflineOperation {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The user.
    pub author_id: Id<User>,
    /// The client.
    pub client_id: ClientToken,
    /// The call that queued it.
    pub queue_id: String,
    /// Its position in the client's queue.
    pub ordinal: i64,
    /// The client's id of the operation.
    pub operation_id: ClientToken,
    /// The operation; absent after it was cleared.
    pub operation: Option<NoteEdit>,
    /// Fingerprint of the operation as it was sent. A retry with other content is rejected, also after the operation was
    /// cleared.
    pub fingerprint: Fingerprint,
    /// The sequence of the log on which its chain is based.
    pub base_sequence: i64,
    /// The state.
    pub status: OfflineStatus,
    /// True if the content was deleted and only the id and the fingerprint remain.
    pub cleared: bool,
    /// Number of attempts.
    pub attempts: i64,
    /// Time of the last attempt.
    pub last_attempt: Option<Millis>,
    /// The reason of the failure.
    pub error: Option<String>,
    /// Time at which the server queued it.
    pub queued_at: Millis,
    /// Time at which it was added to the log.
    pub synced_at: Option<Millis>,
}

/// Progress of a client's chain of offline operations. A later drain continues from there.
#[table(name = "offlineChains", prefix = "chain")]
#[index(by_client(meeting_id, author_id, client_id), unique)]
#[index(by_touched(touched_at, meeting_id, author_id, client_id))]
pub struct OfflineChain {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The user.
    pub author_id: Id<User>,
    /// The client.
    pub client_id: ClientToken,
    /// The sequence of the log on which the chain is based; negative if only retried operations exist.
    pub base_sequence: i64,
    /// The last sequence of the log that the bridge contains.
    pub through_sequence: i64,
    /// The operations that others committed since the base, transformed past the chain so far.
    pub bridge: Vec<BridgeEntry>,
    /// Time at which a drain last processed it or last found operations of its client. The row is deleted with the last of
    /// these operations.
    #[default(0)]
    pub touched_at: Millis,
    /// Progress of the client's retried operations.
    pub retried: Option<RetriedChain>,
}

/// An entry of the log that inserts or deletes, transformed past the operations of an offline chain. There may be
/// thousands, and each drain writes all of them, so the stored form is compact.
///
/// ```json
/// [102, 4096, -12]
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BridgeEntry {
    /// The sequence, the current position in UTF-16 code units, and the number of units that it inserts (or deletes, if
    /// negative).
    Carried(i64, i64, i64),
    /// The form of older releases.
    Named {
        /// The sequence of the entry.
        id: Id<NoteOperation>,
        /// The kind of the operation.
        #[serde(rename = "type")]
        kind: OperationType,
        /// The current position in UTF-16 code units.
        position: i64,
        /// The length in UTF-16 code units.
        length: i64,
    },
}

/// Progress of a client's retried operations, which form a chain of their own.
#[value(name = "RetriedChain")]
#[derive(Eq)]
pub struct RetriedChain {
    /// The sequence of the log on which the chain is based.
    pub base_sequence: i64,
    /// The last sequence of the log that the bridge contains.
    pub through_sequence: i64,
    /// The operations that others committed since the base, transformed past the chain so far.
    pub bridge: Vec<BridgeEntry>,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn entry_of_a_bridge_is_short_and_one_that_was_written_long_is_still_read() {
        let id = "noteop_01kdvws5r2a4n8w7k0q3d6m9vt";
        let bridge: Vec<BridgeEntry> =
            from_value(json!([[102, 4096, -12], {"id": id, "type": "insert", "position": 3, "length": 2}])).unwrap();
        assert_eq!(serde_json::to_string(&bridge[..1]).unwrap(), "[[102,4096,-12]]");
        let kind = OperationType::Insert;
        assert_eq!(bridge[1], BridgeEntry::Named { id: id.parse().unwrap(), kind, position: 3, length: 2 });
    }
}
