//! Insights: what a reader is advised, and the addresses that came up.

use convoke::{Id, value};

use super::numbers::Confidence;
use crate::tables::User;

/// Something the reader could do next.
///
/// ```json
/// {"type": "follow-up", "content": "Follow up on your action item: send the report", "confidence": 0.6}
/// ```
#[value(name = "Recommendation")]
pub struct Recommendation {
    /// What it is about.
    #[value(rename = "type")]
    pub kind: RecommendationKind,
    /// The advice, in a sentence.
    pub content: String,
    /// 0 … 1; grows with the evidence.
    pub confidence: Confidence,
}

/// What a recommendation is about.
#[value(name = "RecommendationKind")]
pub enum RecommendationKind {
    /// What was agreed on.
    FollowUp,
    /// People to meet.
    Networking,
    /// Something to learn.
    Learning,
    /// How much the reader spoke.
    Participation,
}

/// One action item, in its parts.
///
/// ```json
/// {"ownerId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "owner": "Ada", "task": "send the report",
///  "dueText": "by Friday", "due": "2026-01-02",
///  "evidence": ["I can do that by Friday.", "Could you send the report?"]}
/// ```
#[value(name = "ActionItemDetail")]
#[derive(Eq)]
pub struct ActionItemDetail {
    /// Whose it is; absent where nobody was named, and of somebody who is not in the meeting.
    pub owner_id: Option<Id<User>>,
    /// The name of the one whose it is, as others see it or as it was said; absent where nobody was named.
    pub owner: Option<String>,
    /// What is to be done, without the time: a verb and what it is done with, at most 16 words.
    pub task: String,
    /// By when, as it was said.
    pub due_text: Option<String>,
    /// The same as a day (ISO 8601), counted in UTC from the day of the meeting; absent where the words leave it open.
    pub due: Option<IsoDate>,
    /// The sentence that says it, and the one that it answers; absent in insights of former releases.
    pub evidence: Option<Vec<String>>,
}

/// A day of the calendar by ISO 8601.
///
/// ```json
/// "2026-01-02"
/// ```
#[value(text, max = 10, pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", expected = "a date such as 2026-01-02")]
pub struct IsoDate(String);

/// An address that was said or written in the meeting.
///
/// ```json
/// {"type": "notes", "url": "https://example.org/plan", "title": "The plan"}
/// ```
#[value(name = "InsightLink")]
#[derive(Eq)]
pub struct InsightLink {
    /// Where it stands.
    #[value(rename = "type")]
    pub source: LinkSource,
    /// The address.
    pub url: String,
    /// What it leads to.
    pub title: String,
}

/// Where a link stands.
#[value(name = "LinkSource")]
pub enum LinkSource {
    /// It was said.
    Transcript,
    /// It was written.
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
