//! Generated texts for one reader each: insights after a meeting, prompts before and during it.

use convoke::{Id, Millis, table};

use super::meetings::Meeting;
use super::users::User;
use crate::values::{ActionItemDetail, Fingerprint, InsightLink, PromptFeedback, PromptKind, Recommendation, Score};

/// The insights of one participant from one meeting. No other user can read them.
#[table(name = "insights", prefix = "insight")]
#[index(by_meeting_user(meeting_id, user_id), unique)]
#[index(by_user(user_id))]
pub struct Insight {
    /// The reader.
    pub user_id: Id<User>,
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The summary, at most 1,200 characters.
    pub summary: String,
    /// The action items, the reader's own first, at most 25 words each.
    pub action_items: Vec<String>,
    /// The parts of the action items, in the same order. Absent in rows of older releases.
    pub action_item_details: Option<Vec<ActionItemDetail>>,
    /// Recommendations for the reader.
    pub recommendations: Vec<Recommendation>,
    /// URLs that occurred in the meeting.
    pub links: Vec<InsightLink>,
    /// The generator with its version, such as `builtin/7`.
    pub generator: String,
    /// Fingerprint of the source material. Equal material creates no new insights.
    pub source_hash: Fingerprint,
    /// Time of the last generation.
    pub updated_at: Millis,
}

/// A suggestion that one participant could say.
#[table(name = "prompts", prefix = "prompt")]
#[index(by_meeting_user_kind(meeting_id, user_id, kind))]
pub struct Prompt {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The reader.
    pub user_id: Id<User>,
    /// The phase of the meeting.
    pub kind: PromptKind,
    /// The text.
    pub content: String,
    /// The score by which prompts are ordered.
    pub relevance: Score,
    /// The reason, which begins with the kind of evidence.
    pub tags: Vec<String>,
    /// The reader's feedback.
    pub feedback: Option<PromptFeedback>,
    /// Time of the feedback.
    pub feedback_at: Option<Millis>,
}
