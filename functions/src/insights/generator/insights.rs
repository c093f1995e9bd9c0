//! The insights of one reader, in the form in which they are stored and sent.
//!
//! This module defines the limits of every text, for the built-in generator and for the provider.

use serde::Deserialize;

use reading::action_items::item::ActionItem;

/// Longest summary, in characters.
pub const SUMMARY_CHARS_MAX: usize = 1200;
/// Most recommendations of one reader.
pub const RECOMMENDATIONS_MAX: usize = 10;
/// Most links of one meeting.
pub const LINKS_MAX: usize = 20;

/// The insights of one reader.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Insights {
    pub summary: String,
    /// Action items; the reader's own come first.
    pub action_items: Vec<ActionItem>,
    pub recommendations: Vec<Recommendation>,
    pub links: Vec<Link>,
}

impl Insights {
    /// Returns the action items as lines ("Ada: send the report by Friday").
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.action_items.iter().map(ActionItem::line).collect()
    }
}

/// A suggestion for the reader.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommendation {
    pub kind: RecommendationKind,
    pub content: String,
    /// Confidence, 0 to 1; grows with the evidence.
    pub confidence: f64,
}

/// The kind of a recommendation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecommendationKind {
    FollowUp,
    Networking,
    Learning,
    Participation,
}

/// A URL from the meeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub kind: LinkKind,
    pub url: String,
    pub title: String,
}

/// The source of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    Transcript,
    Notes,
}
