//! What is read: the words of one meeting and the people in it.
//!
//! Owns nothing but the shapes. Those who fill them answer for it that all of it belongs to the one meeting.

use std::collections::HashSet;

use serde::Serialize;

/// Everything that findings may rest on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Material {
    /// Final chunks of the transcript, in any order.
    pub chunks: Vec<Chunk>,
    /// The text of the notes; empty when there are none.
    pub notes: String,
    /// The participants, in order of creation.
    pub people: Vec<Person>,
    /// When the meeting was held, ms since 1970 (UTC): what "tomorrow" is counted from. None where that is unknown.
    pub held_ms: Option<i64>,
}

impl Material {
    /// Whether there is nothing to say anything about.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.notes.trim().is_empty() && self.chunks.iter().all(|chunk| chunk.text.trim().is_empty())
    }
}

/// What one person said at one go.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chunk {
    pub speaker_id: String,
    pub speaker_name: String,
    /// ms, on the same clock as all chunks of the meeting.
    pub start_ms: i64,
    pub end_ms: i64,
    pub text: String,
    /// BCP 47; None where nobody said, and the language is detected.
    pub language: Option<String>,
}

/// A participant, as far as others may see them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Person {
    pub id: String,
    pub name: String,
    /// Labels of their interests.
    pub interests: Vec<String>,
}

impl Person {
    /// The labels of interests that both have, in the order of this one's.
    #[must_use]
    pub fn shared_interests(&self, other: &Person) -> Vec<&str> {
        let theirs: HashSet<String> = other.interests.iter().map(|label| label.to_lowercase()).collect();
        self.interests.iter().filter(|label| theirs.contains(&label.to_lowercase())).map(String::as_str).collect()
    }
}
