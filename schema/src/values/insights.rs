//! Insights: what a reader is advised, and the addresses that came up.

use convoke::value;

use super::numbers::Confidence;

/// Something the reader could do next.
///
/// ```json
/// {"type": "follow-up", "content": "Follow up on your action item: send the report", "confidence": 0.6}
/// ```
#[value]
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
#[value]
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

/// An address that was said or written in the meeting.
///
/// ```json
/// {"type": "notes", "url": "https://example.org/plan", "title": "The plan"}
/// ```
#[value]
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
#[value]
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
        let json = json!({"type": "notes", "url": "https://example.org/plan", "title": "The plan"});
        assert_eq!(to_value(from_value::<InsightLink>(json.clone()).unwrap()).unwrap(), json);
    }
}
