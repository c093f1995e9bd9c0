//! Insights: recommendations, action items and links.

use convoke::{Id, value};

use super::numbers::Confidence;
use crate::tables::User;

/// A recommendation for the reader.
///
/// ```json
/// {"type": "follow-up", "content": "Follow up on your action item: send the report", "confidence": 0.6}
/// ```
#[value(name = "Recommendation")]
pub struct Recommendation {
    /// The subject.
    #[value(rename = "type")]
    pub kind: RecommendationKind,
    /// The recommendation, as one sentence.
    pub content: String,
    /// The confidence, 0 … 1. More evidence increases it.
    pub confidence: Confidence,
}

/// The subject of a recommendation.
#[value(name = "RecommendationKind")]
pub enum RecommendationKind {
    /// An agreed action.
    FollowUp,
    /// A person to meet.
    Networking,
    /// A topic to learn.
    Learning,
    /// The reader's share of the conversation.
    Participation,
}

/// The parts of an action item.
///
/// ```json
/// {"ownerId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "owner": "Ada", "task": "send the report",
///  "dueText": "by Friday", "due": "2026-01-02",
///  "evidence": ["I can do that by Friday.", "Could you send the report?"]}
/// ```
#[value(name = "ActionItemDetail")]
#[derive(Eq)]
pub struct ActionItemDetail {
    /// The owner's user id; absent if no owner was named or the owner is not in the meeting.
    pub owner_id: Option<Id<User>>,
    /// The owner's display name, or the name as it was said; absent if no owner was named.
    pub owner: Option<String>,
    /// The task without its due date: a verb and its objects, at most 16 words.
    pub task: String,
    /// The due date as it was said.
    pub due_text: Option<String>,
    /// The due date as an ISO 8601 date, relative to the UTC day of the meeting; absent if the words are not specific.
    pub due: Option<IsoDate>,
    /// The sentence that states the task, and the sentence that it answers. Absent in rows of older releases.
    pub evidence: Option<Vec<String>>,
}

/// A calendar date in ISO 8601 format.
///
/// ```json
/// "2026-01-02"
/// ```
#[value(text, max = 10, pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", expected = "a date such as 2026-01-02")]
pub struct IsoDate(String);

/// A URL that was said or written in the meeting.
///
/// ```json
/// {"type": "notes", "url": "https://example.org/plan", "title": "The plan"}
/// ```
#[value(name = "InsightLink")]
#[derive(Eq)]
pub struct InsightLink {
    /// The source of the link.
    #[value(rename = "type")]
    pub source: LinkSource,
    /// The URL.
    pub url: String,
    /// The title of the target.
    pub title: String,
}

/// The source of a link.
#[value(name = "LinkSource")]
pub enum LinkSource {
    /// The transcript.
    Transcript,
    /// The notes.
    Notes,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn they_look_as_their_docs_show() {
        let json = json!({"type": "follow-up", "content": "Send the report", "confidence": 0.6});
        let recommendation: Recommendation = from_value(json.clone()).unwrap();
        assert_eq!(recommendation.kind, RecommendationKind::FollowUp);
        assert_eq!(to_value(recommendation).unwrap(), json);
        let json = json!({"ownerId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "owner": "Ada", "task": "send the report",
            "dueText": "by Friday", "due": "2026-01-02",
            "evidence": ["I can do that by Friday.", "Could you send the report?"]});
        assert_eq!(to_value(from_value::<ActionItemDetail>(json.clone()).unwrap()).unwrap(), json);
        assert!(IsoDate::new("02.03.2026").is_err());
        let json = json!({"type": "notes", "url": "https://example.org/plan", "title": "The plan"});
        assert_eq!(to_value(from_value::<InsightLink>(json.clone()).unwrap()).unwrap(), json);
    }
}
