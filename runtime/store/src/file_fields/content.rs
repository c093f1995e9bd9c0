//! The rows of contents.

use convoke_core::clock::Millis;
use convoke_macros::{table, value};

/// The state of a content.
#[value(name = "FileState")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ContentState {
    /// The bytes are in the storage.
    Stored,
    /// The bytes are being removed. No row may refer to the content any more.
    Removing,
    /// The bytes were removed. The row stays for an hour, so that an upload that ran at the same time notices it.
    Removed,
}

/// A content: its bytes are in the storage under its hash. Equal contents have one row.
#[table(name = "_files", prefix = "storedfile")]
#[index(by_hash(hash), unique)]
#[index(by_state(state, changed_at))]
#[index(unreferenced(unreferenced_at), when(references = 0))]
pub struct StoredFile {
    /// SHA-256 of the bytes, in lower-case hexadecimal.
    pub hash: String,
    /// Length in bytes.
    pub bytes: i64,
    /// Type, determined from the bytes.
    pub content_type: String,
    /// State.
    pub state: ContentState,
    /// Number of fields of rows that refer to the content.
    pub references: i64,
    /// Time at which the content was found without references, or of its latest upload; null while rows refer to it.
    pub unreferenced_at: Option<Millis>,
    /// Identity that first uploaded the content, as `issuer|subject`. The bytes count toward the quota of this identity.
    pub owner: Option<String>,
    /// Time of the last change of the state.
    pub changed_at: Millis,
}
