//! The input: the words of one meeting and its participants.
//!
//! Defines only the types. The caller ensures that all of it belongs to one meeting.

use std::collections::HashSet;

use serde::Serialize;

/// The material of the findings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Material {
    /// Final chunks of the transcript, in any order.
    pub chunks: Vec<Chunk>,
    /// Text of the notes; empty if there are none.
    pub notes: String,
    /// The participants, in order of creation.
    pub people: Vec<Person>,
    /// Time of the meeting, ms since 1970 (UTC), from which "tomorrow" is computed. None if unknown.
    pub held_ms: Option<i64>,
}

impl Material {
    /// Returns true if it contains no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.notes.trim().is_empty() && self.chunks.iter().all(|chunk| chunk.text.trim().is_empty())
    }
}

/// A chunk of one speaker.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chunk {
    pub speaker_id: String,
    pub speaker_name: String,
    /// In ms, on the same clock for all chunks of the meeting.
    pub start_ms: i64,
    pub end_ms: i64,
    pub text: String,
    /// BCP 47; None: the language is detected.
    pub language: Option<String>,
}

#[cfg(test)]
impl Chunk {
    /// Returns the chunks of a talk: 4 s for each speaker and text, and 1 s of silence in between.
    pub(crate) fn of_talk(lines: &[(&str, &str)], language: Option<&str>) -> Vec<Chunk> {
        let chunk = |(at, (speaker, text)): (i64, &(&str, &str))| Chunk {
            speaker_id: speaker.to_lowercase(),
            speaker_name: (*speaker).to_owned(),
            start_ms: at * 5_000,
            end_ms: at * 5_000 + 4_000,
            text: (*text).to_owned(),
            language: language.map(str::to_owned),
        };
        (0..).zip(lines).map(chunk).collect()
    }
}

/// A participant, as far as visible to the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Person {
    pub id: String,
    pub name: String,
    /// Labels of interests.
    pub interests: Vec<String>,
}

impl Person {
    /// Returns the labels of common interests, in the order of this participant's.
    #[must_use]
    pub fn shared_interests(&self, other: &Person) -> Vec<&str> {
        let theirs: HashSet<String> = other.interests.iter().map(|label| label.to_lowercase()).collect();
        self.interests.iter().filter(|label| theirs.contains(&label.to_lowercase())).map(String::as_str).collect()
    }
}
