//! Limits that several functions share, each with its reason.
//!
//! The type of a value holds its bounds. The runtime holds the bounds of calls, pages and the store. Limits that an
//! installation may change are settings: `[quotas]`, `[generation]` and `[retention]` in `convoke.toml`.

use std::time::Duration;

use convoke::Millis;

// Calls per user and class. A class with 0 calls has no limit (`[rates]` in `convoke.toml`). The runtime has two
// classes of its own: "read" for queries (6,000 per minute) and "write" for mutations and actions without a class
// (3,000 per minute).
convoke::rate_class!(
    /// Typing: one call per keystroke of a fast typist, with room for a burst after a reconnect.
    "notes", 3_000, per 60 s
);
convoke::rate_class!(
    /// Ingestion: a recognizer sends a few chunks per second for each speaker.
    "transcripts", 3_000, per 60 s
);
convoke::rate_class!(
    /// Access tokens and connection information: one call per connection. Signing is expensive.
    "tokens", 120, per 60 s
);
convoke::rate_class!(
    /// Insights and prompts: a provider charges for each call.
    "generation", 20, per 300 s
);

convoke::section! {
    /// Largest numbers of things that users create.
    pub struct Quotas in "quotas" {
        /// Addresses that one user may invite per day. A stolen account cannot send mass mail.
        pub invitations_per_user_per_day: usize = 2_000,
        /// Open invitations of one address, by all inviters: its owner joins all these meetings at the first login. Beyond
        /// the limit, the inviter with the most invitations loses the oldest one, so that no inviter can block an address.
        pub open_invitations_per_address: usize = 200,
        /// Open invitations of one address by one inviter: more meetings than two people plan with each other.
        pub open_invitations_per_inviter_and_address: usize = 20,
        /// Participants and invitations of one meeting: a query returns the complete list.
        pub people_per_meeting: usize = 2_000,
        /// Unacknowledged signals of one recipient: the signals to a client that never returns are bounded.
        pub unacknowledged_signals_per_recipient: usize = 1_000,
        /// Recipients of one broadcast signal: each is a row, and a larger mesh of peers does not work.
        pub broadcast_recipients: usize = 16,
        /// Rows of the interest catalog that one user may create: all users share the catalog.
        pub catalog_rows_per_user: usize = 100,
        /// Open media sessions of one user in one meeting: a few devices and tabs.
        pub open_sessions_per_user: usize = 8,
        /// Pending offline operations per user, meeting and client: several days of typing without a connection.
        pub pending_offline_operations_per_client: usize = 10_000,
        /// UTF-16 code units of the notes of one meeting: a long book.
        pub note_document_units: usize = 1_000_000,
        /// UTF-16 code units of one insert: a pasted chapter, which is one row of the log.
        pub note_insert_units: usize = 100_000,
        /// Largest number of log entries after the base of an operation: the transform reads all of them.
        pub note_entries_behind: usize = 10_000,
        /// Languages that the statistics of one transcript list: every chunk rewrites that row. Chunks in further
        /// languages are stored too.
        pub transcript_languages: usize = 50,
        /// Subscription leases of one user. They are in memory.
        pub leases_per_user: usize = 200,
        /// Subscription leases of all users. They are in memory.
        pub leases_in_all: usize = 100_000,
    }
}

convoke::section! {
    /// Resources that the generation of insights and prompts may use.
    pub struct Generation in "generation" {
        /// Generators that run concurrently, over all meetings: each uses one core. Others wait up to 25 s.
        pub at_once: usize = 2,
        /// Calls that may wait for a generator: each of them holds one of the slots for concurrent actions.
        pub waiting_max: usize = 64,
        /// Bytes of the latest part of a transcript, and of the notes, that insights read: about 20 hours of speech.
        pub insights_window_bytes: usize = 1_048_576,
        /// Bytes of the latest part of a transcript that prompts read: more than a person says in the minutes that count.
        pub prompts_window_bytes: usize = 131_072,
    }
}

convoke::section! {
    /// Retention of rows that are no longer needed. Other rows are retained without a limit.
    pub struct Retention in "retention" {
        /// Signals, in hours: a negotiation takes seconds, and a client that reconnects starts a new one.
        pub signals_hours: u32 = 24,
        /// Closed and failed media sessions, in days: they show the past quality of connections.
        pub closed_sessions_days: u32 = 30,
        /// Synced, failed and cleared offline operations, in days: a late retry is recognized during that time.
        pub offline_operations_days: u32 = 30,
        /// The text of entries in the log of notes, in days. During that time it is listed, and rollbacks and operations
        /// can refer to it. Then it is merged into a checkpoint. The notes themselves do not change.
        pub note_history_days: u32 = 30,
        /// Matched, expired and cancelled queue entries, in days.
        pub finished_queue_entries_days: u32 = 90,
        /// Audit entries, in days: the usual review period.
        pub audit_days: u32 = 365,
    }
}

/// Returns days as a duration, saturating.
pub const fn days(days: u32) -> Duration {
    Duration::from_secs(days as u64 * 24 * 60 * 60)
}

/// Returns hours as a duration, saturating.
pub const fn hours(hours: u32) -> Duration {
    Duration::from_secs(hours as u64 * 60 * 60)
}

/// Longest time that one batch of a clean-up holds the writer: mutations behind it wait at most that long.
pub const CLEAN_UP_BATCH: Duration = Duration::from_millis(10);

/// Largest number of bytes of metadata (as JSON) in one list of the open sessions or the present participants of a
/// meeting: the limit of one page. The rest of an item is small, and the query returns the complete list.
pub const LISTED_METADATA_BYTES: usize = 4 * 1024 * 1024;

/// Offline operations per call ("Too many operations (max 500)"), so that a request stays small.
pub const OFFLINE_OPERATIONS_PER_CALL: usize = 500;

/// Number of users who must have a custom interest before the catalog shows it to others, so that the typing error of
/// one user does not become a suggestion.
pub const LISTED_FROM_USERS: i64 = 5;

/// Tolerance for clocks that differ: a meeting whose start is this close begins immediately, and a queue entry may
/// begin this long ago.
pub const NEAR: Duration = Duration::from_secs(5 * 60);

/// Time after which an empty meeting is concluded if a participant has joined before.
pub const EMPTY_MEETING: Duration = Duration::from_secs(15 * 60);

/// Longest duration of a meeting, and the time after which a meeting without any participant is concluded.
pub const LONGEST_MEETING: Duration = Duration::from_secs(24 * 60 * 60);

/// Time after which a connecting or disconnected session is closed, because its client is gone.
pub const STALE_SESSION: Duration = Duration::from_secs(5 * 60);

/// Length of a bucket of the transcript. It is no setting, because stored rows contain their bucket.
pub const TRANSCRIPT_BUCKET: Duration = Duration::from_secs(5 * 60);

/// Returns the start of the transcript bucket that contains a time.
pub fn transcript_bucket(start: Millis) -> Millis {
    let bucket_ms = i64::try_from(TRANSCRIPT_BUCKET.as_millis()).unwrap_or(i64::MAX);
    Millis(start.get().div_euclid(bucket_ms) * bucket_ms)
}

#[cfg(test)]
mod tests {
    use convoke::Section as _;

    use super::*;

    #[test]
    fn the_sections_have_their_names() {
        assert_eq!((Quotas::NAME, Generation::NAME, Retention::NAME), ("quotas", "generation", "retention"));
    }

    #[test]
    fn a_bucket_begins_every_five_minutes() {
        for (start, bucket) in [(0, 0), (1, 0), (299_999, 0), (300_000, 300_000), (599_999, 300_000)] {
            assert_eq!(transcript_bucket(Millis(start)), Millis(bucket));
        }
    }

    #[test]
    fn settings_have_defaults_and_reject_unknown_members() {
        let quotas: Quotas = serde_json::from_str(r#"{"broadcast_recipients": 4}"#).unwrap();
        assert_eq!(quotas, Quotas { broadcast_recipients: 4, ..Quotas::default() });
        assert!(serde_json::from_str::<Quotas>(r#"{"surprise": 4}"#).is_err());
        assert!(serde_json::from_str::<Retention>(r#"{"audit_days": -1}"#).is_err());
        assert_eq!(days(Retention::default().audit_days), Duration::from_secs(31_536_000));
        assert_eq!(hours(Retention::default().signals_hours), days(1));
    }
}
