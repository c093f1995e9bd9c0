//! What a generator reads: the words of one meeting and the people in it.
//!
//! Owns nothing but the shapes. Whoever fills them answers for it that all of it belongs to the one meeting.

use serde::Serialize;

/// Everything that insights may rest on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Material {
    /// Final chunks of the transcript, in order of their sequence.
    pub chunks: Vec<Chunk>,
    /// The text of the notes; empty when there are none.
    pub notes: String,
    /// The participants, in order of creation.
    pub people: Vec<Person>,
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

/// A participant, as far as others may see him.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Person {
    pub id: String,
    pub name: String,
    /// Labels of his interests.
    pub interests: Vec<String>,
}
