//! What is made of meetings for one reader each: insights afterwards, prompts before and during.

use convoke::{Id, Millis, table};

use super::meetings::Meeting;
use super::users::User;
use crate::values::{ActionItemDetail, Fingerprint, InsightLink, PromptFeedback, PromptKind, Recommendation, Score};

/// What one participant takes from one meeting. Nobody else reads it.
#[table(name = "insights", prefix = "insight")]
#[index(by_meeting_user(meeting_id, user_id), unique)]
#[index(by_user(user_id))]
pub struct Insight {
    /// For whom.
    pub user_id: Id<User>,
    /// Of which meeting.
    pub meeting_id: Id<Meeting>,
    /// What it was about, at most 1,200 characters.
    pub summary: String,
    /// What is to be done, the reader's own first, each in at most 25 words.
    pub action_items: Vec<String>,
    /// The same in their parts, in the same order; absent in rows of releases that told the lines only.
    pub action_item_details: Option<Vec<ActionItemDetail>>,
    /// What the reader could do next.
    pub recommendations: Vec<Recommendation>,
    /// Addresses that came up.
    pub links: Vec<InsightLink>,
    /// What made it, with its version, such as `builtin/7`.
    pub generator: String,
    /// Of the material: the same makes no new insight.
    pub source_hash: Fingerprint,
    /// When it was made last.
    pub updated_at: Millis,
}

/// Something that one participant could say.
#[table(name = "prompts", prefix = "prompt")]
#[index(by_meeting_user_kind(meeting_id, user_id, kind))]
pub struct Prompt {
    /// In which meeting.
    pub meeting_id: Id<Meeting>,
    /// Who.
    pub user_id: Id<User>,
    /// When.
    pub kind: PromptKind,
    /// What.
    pub content: String,
    /// How much it suggests itself.
    pub relevance: Score,
    /// Why it was made, the kind of evidence first.
    pub tags: Vec<String>,
    /// What happened to it.
    pub feedback: Option<PromptFeedback>,
    /// When that was said.
    pub feedback_at: Option<Millis>,
}
