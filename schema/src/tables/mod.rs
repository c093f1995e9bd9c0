//! The tables.
//!
//! Every row also has `_id` and `_creationTime`, and every index ends with `_id`. Changes follow "expand, migrate,
//! contract": new fields are optional or have a default, and removed fields are retired first.

mod audit;
mod insights;
mod interests;
mod matching;
mod media;
mod meetings;
mod notes;
mod offline;
mod transcripts;
mod users;

use convoke::{Table, TableDef};

pub use audit::AuditEntry;
pub use insights::{Insight, Prompt};
pub use interests::{Interest, UserInterest};
pub use matching::{Match, MatchOutcome, QueueCount, QueueEntry};
pub use media::{MediaSession, Signal};
pub use meetings::{Invitation, InvitationCount, Meeting, Participant};
pub use notes::{ChangedBy, Note, NoteCheckpoint, NoteOperation, NotePiece, PieceOfNote};
pub use offline::{BridgeEntry, OfflineChain, OfflineOperation, RetriedChain};
pub use transcripts::{TranscriptChunk, TranscriptStats};
pub use users::{Profile, User};

/// The definitions of all tables.
pub const TABLES: &[&TableDef] = &[
    User::DEF,
    Profile::DEF,
    Interest::DEF,
    UserInterest::DEF,
    Meeting::DEF,
    Participant::DEF,
    Invitation::DEF,
    InvitationCount::DEF,
    MediaSession::DEF,
    Signal::DEF,
    TranscriptChunk::DEF,
    TranscriptStats::DEF,
    Note::DEF,
    NotePiece::DEF,
    NoteOperation::DEF,
    NoteCheckpoint::DEF,
    OfflineOperation::DEF,
    OfflineChain::DEF,
    Insight::DEF,
    Prompt::DEF,
    QueueEntry::DEF,
    QueueCount::DEF,
    Match::DEF,
    MatchOutcome::DEF,
    AuditEntry::DEF,
];
