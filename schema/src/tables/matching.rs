//! Matching: the queue, the matches, and their feedback.

use convoke::{Id, Millis, table};

use super::meetings::Meeting;
use super::users::User;
use crate::values::{Comments, MatchConstraints, MatchFeatures, MatchStatus, Outcome, QueueStatus, Rating, Score};

/// A user's entry in the matching queue. At most one entry per user waits.
#[table(name = "queueEntries", prefix = "queue")]
#[index(by_user_status(user_id, status))]
#[index(by_status_available(status, available_to))]
#[index(by_status_updated(status, updated_at))]
#[index(one_waiting(user_id), unique, when(status = "waiting"))]
#[index(in_line(ticket), when(status = "waiting"))]
pub struct QueueEntry {
    /// The user.
    pub user_id: Id<User>,
    /// Start of the time in which the user is free.
    pub available_from: Millis,
    /// End of the time in which the user is free.
    pub available_to: Millis,
    /// The user's preferences.
    pub constraints: MatchConstraints,
    /// The state of the entry.
    pub status: QueueStatus,
    /// The resulting match.
    pub match_id: Option<Id<Match>>,
    /// Time of the last change. For an entry that no longer waits, the time at which it ended.
    pub updated_at: Millis,
    /// Its number in the order of the queue. Absent in rows of older releases.
    pub ticket: Option<i64>,
}

/// Number of waiting entries in one range of the matching queue. The position of an entry is the sum of the ranges
/// before it, so that no query counts entries.
#[table(name = "queueCounts", prefix = "queuecount")]
#[index(by_level_stretch(level, stretch), unique)]
pub struct QueueCount {
    /// Level of the range: it covers 64 to the power of this level tickets.
    pub level: i64,
    /// Number of the range, from 0.
    pub stretch: i64,
    /// Number of waiting entries in the range.
    pub waiting: i64,
}

/// A match of two users.
#[table(name = "matches", prefix = "match")]
#[index(by_users(user_a, user_b))]
#[index(by_status(status, window_to))]
pub struct Match {
    /// The user with the smaller id.
    pub user_a: Id<User>,
    /// The other user.
    pub user_b: Id<User>,
    /// The total score.
    pub score: Score,
    /// The score of each feature.
    pub features: MatchFeatures,
    /// The reasons, as sentences.
    pub explanation: Vec<String>,
    /// Start of the time in which both are free.
    pub window_from: Millis,
    /// End of the time in which both are free.
    pub window_to: Millis,
    /// The state of the match.
    pub status: MatchStatus,
    /// The meeting created from the match.
    pub meeting_id: Option<Id<Meeting>>,
}

/// The feedback of one user on a match.
#[table(name = "matchOutcomes", prefix = "outcome")]
#[index(by_match_user(match_id, user_id), unique)]
#[index(by_user(user_id))]
pub struct MatchOutcome {
    /// The match.
    pub match_id: Id<Match>,
    /// The user.
    pub user_id: Id<User>,
    /// The outcome.
    pub outcome: Outcome,
    /// The rating, in stars.
    pub rating: Option<Rating>,
    /// The comments.
    pub comments: Option<Comments>,
    /// Time at which the user declined the match. From then on the two are not matched again, whatever the user reports
    /// later.
    pub declined_at: Option<Millis>,
    /// Time of the last change.
    pub updated_at: Millis,
}
