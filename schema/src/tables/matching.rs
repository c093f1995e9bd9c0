//! Who waits for somebody, who was found for whom, and what came of it.

use convoke::{Id, Millis, table};

use super::meetings::Meeting;
use super::users::User;
use crate::values::{Comments, MatchConstraints, MatchFeatures, MatchStatus, Outcome, QueueStatus, Rating, Score};

/// A user's place in the matching queue; at most one waits.
#[table(name = "queueEntries", prefix = "queue")]
#[index(by_user_status(user_id, status))]
#[index(by_status_available(status, available_to))]
#[index(by_status_updated(status, updated_at))]
#[index(one_waiting(user_id), unique, when(status = "waiting"))]
#[index(in_line(ticket), when(status = "waiting"))]
pub struct QueueEntry {
    /// Who.
    pub user_id: Id<User>,
    /// Free from.
    pub available_from: Millis,
    /// Free until.
    pub available_to: Millis,
    /// What the user looks for.
    pub constraints: MatchConstraints,
    /// Where the entry is.
    pub status: QueueStatus,
    /// What it led to.
    pub match_id: Option<Id<Match>>,
    /// When the row changed last: of one that does not wait any more, when it ended.
    pub updated_at: Millis,
    /// Its number in the order of those who wait; absent in rows of releases that gave none.
    pub ticket: Option<i64>,
}

/// How many wait in one stretch of the matching queue: a place in it is the sum of those before, not a count of entries.
#[table(name = "queueCounts", prefix = "queuecount")]
#[index(by_level_stretch(level, stretch), unique)]
pub struct QueueCount {
    /// How long the stretch is: 64 tickets to the power of this.
    pub level: i64,
    /// The stretch's number, from 0.
    pub stretch: i64,
    /// Entries in it that wait.
    pub waiting: i64,
}

/// Two users who were found for each other.
#[table(name = "matches", prefix = "match")]
#[index(by_users(user_a, user_b))]
#[index(by_status(status, window_to))]
pub struct Match {
    /// The one with the smaller id.
    pub user_a: Id<User>,
    /// The other.
    pub user_b: Id<User>,
    /// How well they fit, all in all.
    pub score: Score,
    /// How well they fit, feature by feature.
    pub features: MatchFeatures,
    /// Why, in sentences.
    pub explanation: Vec<String>,
    /// Both are free from.
    pub window_from: Millis,
    /// Both are free until.
    pub window_to: Millis,
    /// Where it is.
    pub status: MatchStatus,
    /// The meeting that was made of it.
    pub meeting_id: Option<Id<Meeting>>,
}

/// What one of the two says about a match.
#[table(name = "matchOutcomes", prefix = "outcome")]
#[index(by_match_user(match_id, user_id), unique)]
#[index(by_user(user_id))]
pub struct MatchOutcome {
    /// About which match.
    pub match_id: Id<Match>,
    /// Who.
    pub user_id: Id<User>,
    /// What.
    pub outcome: Outcome,
    /// In stars.
    pub rating: Option<Rating>,
    /// In words.
    pub comments: Option<Comments>,
    /// When it was declined, while it is: the two are kept apart from then on, whatever is said about it later.
    pub declined_at: Option<Millis>,
    /// When the row changed last.
    pub updated_at: Millis,
}
