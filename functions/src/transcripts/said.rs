//! The transcript in the form for generators.

use std::collections::HashMap;

use convoke::prelude::*;
use convoke::value;
use schema::{TranscriptChunk, User};

use crate::names;
use reading::material::Chunk;

/// A chunk of one speaker.
#[value(output)]
pub struct SpokenChunk {
    pub speaker_id: Id<User>,
    pub speaker_name: String,
    pub start_ms: i64,
    pub end_ms: i64,
    pub text: String,
    /// Absent if the client did not name it.
    pub language: Option<String>,
}

impl SpokenChunk {
    /// Converts a chunk, with the name of its speaker from `people`.
    pub fn of(chunk: &TranscriptChunk, people: &HashMap<Id<User>, names::Person>) -> Self {
        Self {
            speaker_id: chunk.speaker_id,
            speaker_name: people.get(&chunk.speaker_id).map(|person| person.display_name.clone()).unwrap_or_default(),
            start_ms: chunk.start_ms.get(),
            end_ms: chunk.end_ms.get(),
            text: chunk.text.as_str().to_owned(),
            language: chunk.language.is_known().then(|| chunk.language.as_str().to_owned()),
        }
    }
}

impl From<SpokenChunk> for Chunk {
    fn from(said: SpokenChunk) -> Self {
        Self {
            speaker_id: said.speaker_id.to_string(),
            speaker_name: said.speaker_name,
            start_ms: said.start_ms,
            end_ms: said.end_ms,
            text: said.text,
            language: said.language,
        }
    }
}

/// Times of speech before this one are relative to the start of a recording, ms since 1970.
const CALENDAR_MS_MIN: i64 = 946_684_800_000;

/// Returns the time of a meeting: of the first speech if clients send calendar times, otherwise of its start.
pub fn held_ms(said: &[SpokenChunk], started_at: Option<Millis>) -> Option<i64> {
    let spoken = said.iter().map(|one| one.start_ms).min().filter(|start| *start >= CALENDAR_MS_MIN);
    spoken.or(started_at.map(Millis::get))
}
