//! The numbers that several functions share, each with its reason.
//!
//! Bounds of a single value stand in its type; bounds of a call, a page and the store are the runtime's. The numbers
//! here that an installation may want otherwise are settings: `[quotas]`, `[generation]` and `[retention]` in `convoke.toml`.

use std::time::Duration;

use convoke::Millis;

// Calls of one user, per class; a class with 0 calls has no limit (`[rates]` in `convoke.toml`). Queries ("read", 6,000
// a minute) and mutations and actions that name no class ("write", 3,000) are the runtime's own classes.
convoke::rate_class!(
    /// Typing: one call a keystroke of a fast typist, with room for a burst after a reconnect.
    "notes", 3_000, per 60 s
);
convoke::rate_class!(
    /// Ingestion: a recognizer sends some chunks a second for each speaker.
    "transcripts", 3_000, per 60 s
);
convoke::rate_class!(
    /// Access tokens and connection information: once a connection, and signing costs.
    "tokens", 120, per 60 s
);
convoke::rate_class!(
    /// Insights and prompts: a provider is paid by the call.
    "generation", 20, per 300 s
);

convoke::section! {
    /// How much of something there may be.
    pub struct Quotas in "quotas" {
        /// Addresses that one user may invite a day: an account that was taken over is no mail cannon.
        pub invitations_per_user_per_day: usize = 2_000,
        /// Open invitations of one address, by all: their owner joins all these meetings with the first login. Past it the
        /// oldest invitation of the inviter who has most of them falls, so that nobody can block an address for the others.
        pub open_invitations_per_address: usize = 200,
        /// Open invitations of one address by one inviter: more meetings at once than two people plan with each other.
        pub open_invitations_per_inviter_and_address: usize = 20,
        /// Participants and invitations of one meeting: lists of them are answered whole.
        pub people_per_meeting: usize = 2_000,
        /// Unacknowledged signals of one recipient: a client that is gone for good is not written to for ever.
        pub unacknowledged_signals_per_recipient: usize = 1_000,
        /// Recipients of one broadcast signal: each is a row, and a mesh of more people does not work anyway.
        pub broadcast_recipients: usize = 16,
        /// Rows of the interest catalog that one user may make: the catalog is shared.
        pub catalog_rows_per_user: usize = 100,
        /// Open media sessions of one user in one meeting: some devices and tabs, no more.
        pub open_sessions_per_user: usize = 8,
        /// Pending offline operations of one user, meeting and client: some days of typing on a plane.
        pub pending_offline_operations_per_client: usize = 10_000,
        /// UTF-16 code units of one document of notes: a thick book.
        pub note_document_units: usize = 1_000_000,
        /// UTF-16 code units of one insert: a pasted chapter, and still one row of the log.
        pub note_insert_units: usize = 100_000,
        /// Entries that the base of an operation may lie behind the log's end: all of them are read to transform it.
        pub note_entries_behind: usize = 10_000,
        /// Languages that the figures of one transcript name: its row is written with every chunk. What is said in a
        /// further one is stored all the same.
        pub transcript_languages: usize = 50,
        /// Subscription leases of one user; they live in memory.
        pub leases_per_user: usize = 200,
        /// Subscription leases of all users; they live in memory.
        pub leases_in_all: usize = 100_000,
    }
}

convoke::section! {
    /// How much generating insights and prompts may take from everybody else.
    pub struct Generation in "generation" {
        /// Generators that run at once, over all meetings: each keeps a core busy. Others wait up to 25 s.
        pub at_once: usize = 2,
        /// Calls that may wait for it: each of them is one of the actions that may run at once, which others need.
        pub waiting_max: usize = 64,
        /// Bytes of the newest part of a transcript, and of the notes, that insights are made from: some twenty hours of talk.
        pub insights_window_bytes: usize = 1_048_576,
        /// Bytes of the newest part of a transcript that prompts are made from: more than anybody says in the minutes that
        /// count.
        pub prompts_window_bytes: usize = 131_072,
    }
}

convoke::section! {
    /// How long what is not needed any more is kept. What is not named here is kept for good.
    pub struct Retention in "retention" {
        /// Signals, in hours: a negotiation takes seconds, and a client that comes back starts anew.
        pub signals_hours: u32 = 24,
        /// Closed and failed media sessions, in days: for the list of who was connected how well.
        pub closed_sessions_days: u32 = 30,
        /// Offline operations that are synced, failed or cleared, in days: as long a late repetition is known.
        pub offline_operations_days: u32 = 30,
        /// The text of entries in the log of notes, in days: until then it is listed, and a rollback or an operation may
        /// go back there. Afterwards it is folded into a checkpoint; the notes themselves stay as they are.
        pub note_history_days: u32 = 30,
        /// Queue entries that are matched, expired or cancelled, in days.
        pub finished_queue_entries_days: u32 = 90,
        /// Audit entries, in days: the usual period of review.
        pub audit_days: u32 = 365,
    }
}

/// Days as a duration, saturating.
pub const fn days(days: u32) -> Duration {
    Duration::from_secs(days as u64 * 24 * 60 * 60)
}

/// Hours as a duration, saturating.
pub const fn hours(hours: u32) -> Duration {
    Duration::from_secs(hours as u64 * 60 * 60)
}

/// How long one batch of a clean-up may hold the writer: a mutation that waits behind it should not notice.
pub const CLEAN_UP_BATCH: Duration = Duration::from_millis(10);

/// Bytes of metadata (as JSON) in one list of a meeting's open sessions, or of who is there: what one page of any list may
/// have. The rest of an item is small, and the list is answered whole.
pub const LISTED_METADATA_BYTES: usize = 4 * 1024 * 1024;

/// Operations that one call may queue offline ("Too many operations (max 500)"): a request stays small.
pub const OFFLINE_OPERATIONS_PER_CALL: usize = 500;

/// Users who must have an interest that somebody added before others see it in the catalog: one person's typing error
/// is nobody else's suggestion.
pub const LISTED_FROM_USERS: i64 = 5;

/// How far from its beginning a meeting begins at once, and how far back a queue entry may reach: clocks differ.
pub const NEAR: Duration = Duration::from_secs(5 * 60);

/// How long a meeting that somebody had joined may be empty before it is concluded.
pub const EMPTY_MEETING: Duration = Duration::from_secs(15 * 60);

/// How long a meeting may last, and how long one waits that nobody ever joined.
pub const LONGEST_MEETING: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a session may be connecting or disconnected before it is closed: its client is gone.
pub const STALE_SESSION: Duration = Duration::from_secs(5 * 60);

/// The length of a bucket of the transcript. No setting: stored rows name their bucket.
pub const TRANSCRIPT_BUCKET: Duration = Duration::from_secs(5 * 60);

/// The beginning of the transcript bucket that a time lies in.
pub fn transcript_bucket(start: Millis) -> Millis {
    let bucket_ms = i64::try_from(TRANSCRIPT_BUCKET.as_millis()).unwrap_or(i64::MAX);
    Millis(start.get().div_euclid(bucket_ms) * bucket_ms)
}

#[cfg(test)]
mod tests {
    use convoke::section::Section as _;

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
    fn settings_have_defaults_and_refuse_what_they_do_not_know() {
        let quotas: Quotas = serde_json::from_str(r#"{"broadcast_recipients": 4}"#).unwrap();
        assert_eq!(quotas, Quotas { broadcast_recipients: 4, ..Quotas::default() });
        assert!(serde_json::from_str::<Quotas>(r#"{"surprise": 4}"#).is_err());
        assert!(serde_json::from_str::<Retention>(r#"{"audit_days": -1}"#).is_err());
        assert_eq!(days(Retention::default().audit_days), Duration::from_secs(31_536_000));
        assert_eq!(hours(Retention::default().signals_hours), days(1));
    }
}
