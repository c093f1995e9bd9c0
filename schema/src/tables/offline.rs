//! What clients did to notes while they were offline, on its way into the log.

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
    /// On which meeting's notes.
    pub meeting_id: Id<Meeting>,
    /// Whose.
    pub author_id: Id<User>,
    /// From which client.
    pub client_id: ClientToken,
    /// The call that brought it.
    pub queue_id: String,
    /// Its place in the client's queue.
    pub ordinal: i64,
    /// The client's id of it.
    pub operation_id: ClientToken,
    /// What was done; gone once it is cleared.
    pub operation: Option<NoteEdit>,
    /// Of the operation as it was sent: a repetition with other content is refused, also after it was cleared.
    pub fingerprint: Fingerprint,
    /// The sequence of the log on which its chain was made.
    pub base_sequence: i64,
    /// Where it is.
    pub status: OfflineStatus,
    /// Whether its content is gone and only id and fingerprint are left.
    pub cleared: bool,
    /// How often it was tried.
    pub attempts: i64,
    /// When it was tried last.
    pub last_attempt: Option<Millis>,
    /// Why it failed.
    pub error: Option<String>,
    /// When the server took it.
    pub queued_at: Millis,
    /// When it came into the log.
    pub synced_at: Option<Millis>,
}

/// How far a client's chain of offline operations has come, so that a later drain can go on with it.
#[table(name = "offlineChains", prefix = "chain")]
#[index(by_client(meeting_id, author_id, client_id), unique)]
#[index(by_touched(touched_at, meeting_id, author_id, client_id))]
pub struct OfflineChain {
    /// On which meeting's notes.
    pub meeting_id: Id<Meeting>,
    /// Whose.
    pub author_id: Id<User>,
    /// From which client.
    pub client_id: ClientToken,
    /// The sequence of the log on which the chain was made; below 0 if there is none, but operations that are retried.
    pub base_sequence: i64,
    /// Up to which sequence the log is in the bridge.
    pub through_sequence: i64,
    /// What others committed since the base, carried past the chain so far.
    pub bridge: Vec<BridgeEntry>,
    /// When a drain came to it last, or when it was seen that its client's operations are still there. It goes with the
    /// last of them.
    #[default(0)]
    pub touched_at: Millis,
    /// How far those of its client's operations have come that are retried.
    pub retried: Option<RetriedChain>,
}

/// An entry of the log that inserts or deletes, carried past the operations of an offline chain so far. There may be
/// thousands, and each drain writes all of them: so they are as short as can be.
///
/// ```json
/// [102, 4096, -12]
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BridgeEntry {
    /// Its sequence; where it acts now, in UTF-16 code units; how many of them it inserts, or, below 0, takes away.
    Carried(i64, i64, i64),
    /// As earlier releases wrote it.
    Named {
        /// The entry it was.
        id: Id<NoteOperation>,
        /// What it does.
        #[serde(rename = "type")]
        kind: OperationType,
        /// Where it does it now, in UTF-16 code units.
        position: i64,
        /// On how many of them.
        length: i64,
    },
}

/// How far the operations of a client that are retried have come: a chain of their own.
#[value(name = "RetriedChain")]
#[derive(Eq)]
pub struct RetriedChain {
    /// The sequence of the log on which it was made.
    pub base_sequence: i64,
    /// Up to which sequence the log is in the bridge.
    pub through_sequence: i64,
    /// What others committed since the base, carried past the chain so far.
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
