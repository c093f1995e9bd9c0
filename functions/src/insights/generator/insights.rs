//! What a generator answers: the insights of one reader, in the form in which they are kept and sent.
//!
//! Owns the bounds of every text in them, which the built-in generator and the provider share.

use serde::{Deserialize, Serialize};

/// The longest summary, characters.
pub const SUMMARY_CHARS_MAX: usize = 1200;
/// The most action items of one reader.
pub const ACTION_ITEMS_MAX: usize = 10;
/// The most recommendations of one reader.
pub const RECOMMENDATIONS_MAX: usize = 10;
/// The most links of one meeting.
pub const LINKS_MAX: usize = 20;
/// The longest action item, recommendation or title, characters: a line or three on a screen.
pub const LINE_CHARS_MAX: usize = 300;

/// The insights of one reader:
///
/// ```json
/// {"summary": "12 minutes, 2 speakers (Ada, Bob). Main topics: release plan.",
///  "actionItems": ["Ada: send the report by Friday"],
///  "recommendations": [{"type": "follow-up", "content": "Follow up on your action item: send the report by Friday",
///  "confidence": 0.6}],
///  "links": [{"type": "notes", "url": "https://example.org/plan", "title": "The plan"}]}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Insights {
    pub summary: String,
    pub action_items: Vec<String>,
    pub recommendations: Vec<Recommendation>,
    pub links: Vec<Link>,
}

/// Something the reader could do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recommendation {
    #[serde(rename = "type")]
    pub kind: RecommendationKind,
    pub content: String,
    /// 0 … 1; grows with the evidence.
    pub confidence: f64,
}

/// What a recommendation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecommendationKind {
    FollowUp,
    Networking,
    Learning,
    Participation,
}

/// An address that was said or written in the meeting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    #[serde(rename = "type")]
    pub kind: LinkKind,
    pub url: String,
    pub title: String,
}

/// Where a link stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    Transcript,
    Notes,
}

/// The text, cut to at most `chars_max` characters at the end of a word, with an ellipsis where something is missing.
#[must_use]
pub fn clipped(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let Some(room) = chars_max.checked_sub(1) else { return String::new() };
    let cut = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let kept = &text[..cut];
    // A script without spaces has no end of a word to look for.
    let whole_words = kept.rsplit_once(char::is_whitespace).map_or(kept, |(words, _)| words);
    format!("{}…", whole_words.trim_end())
}

/// A text with a capital at its beginning.
#[must_use]
pub fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A confidence with two decimals: more would claim a precision that the evidence does not have.
#[must_use]
pub fn rounded(confidence: f64) -> f64 {
    (confidence * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn insights_have_the_documented_form() {
        let shown = json!({
            "summary": "12 minutes, 2 speakers (Ada, Bob). Main topics: release plan.",
            "actionItems": ["Ada: send the report by Friday"],
            "recommendations": [{
                "type": "follow-up",
                "content": "Follow up on your action item: send the report by Friday",
                "confidence": 0.6,
            }],
            "links": [{"type": "notes", "url": "https://example.org/plan", "title": "The plan"}],
        });
        let read: Insights = serde_json::from_value(shown.clone()).unwrap();
        assert_eq!(read.recommendations[0].kind, RecommendationKind::FollowUp);
        assert_eq!(serde_json::to_value(&read).unwrap(), shown);
    }

    #[test]
    fn a_text_is_cut_at_the_end_of_a_word() {
        assert_eq!(clipped("one two three", 13), "one two three");
        assert_eq!(clipped("one two three", 12), "one two…");
        assert_eq!(clipped("onetwothree", 5), "onet…");
        assert_eq!(clipped("日本語の文章です", 4), "日本語…");
        assert_eq!(clipped("anything", 0), "");
    }

    proptest! {
        #[test]
        fn a_cut_text_keeps_to_its_bound(text in "\\PC{0,80}", bound in 0usize..90) {
            prop_assert!(clipped(&text, bound).chars().count() <= bound);
        }
    }
}
