//! What a generator answers: the insights of one reader, in the form in which they are kept and sent.
//!
//! Owns the bounds of every text in them, which the built-in generator and the provider share.

use serde::Deserialize;

use reading::action_items::item::ActionItem;

/// The longest summary, characters.
pub const SUMMARY_CHARS_MAX: usize = 1200;
/// The most recommendations of one reader.
pub const RECOMMENDATIONS_MAX: usize = 10;
/// The most links of one meeting.
pub const LINKS_MAX: usize = 20;

/// The insights of one reader.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Insights {
    pub summary: String,
    /// The reader's own first.
    pub action_items: Vec<ActionItem>,
    pub recommendations: Vec<Recommendation>,
    pub links: Vec<Link>,
}

impl Insights {
    /// The action items as lines ("Ada: send the report by Friday").
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.action_items.iter().map(ActionItem::line).collect()
    }
}

/// Something the reader could do next.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommendation {
    pub kind: RecommendationKind,
    pub content: String,
    /// 0 … 1; grows with the evidence.
    pub confidence: f64,
}

/// What a recommendation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecommendationKind {
    FollowUp,
    Networking,
    Learning,
    Participation,
}

/// An address that was said or written in the meeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub kind: LinkKind,
    pub url: String,
    pub title: String,
}

/// Where a link stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    Transcript,
    Notes,
}
