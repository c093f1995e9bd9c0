//! What was said, as those who read a transcript take it from the rows.

use std::collections::HashMap;

use convoke::prelude::*;
use convoke::value;
use schema::{TranscriptChunk, User};

use crate::names;
use reading::material::Chunk;

/// What one person said at one go.
#[value(output)]
pub struct Said {
    pub speaker_id: Id<User>,
    pub speaker_name: String,
    pub start_ms: i64,
    pub end_ms: i64,
    pub text: String,
    /// Absent where nobody named it.
    pub language: Option<String>,
}

impl Said {
    /// A chunk of the transcript, with the name of its speaker from these.
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

impl From<Said> for Chunk {
    fn from(said: Said) -> Self {
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

/// Times of speech before this one count from the beginning of a recording, ms since 1970.
const CALENDAR_MS_MIN: i64 = 946_684_800_000;

/// When a meeting was held: when it was first spoken, where clients tell that by the calendar, else when it began.
pub fn held_ms(said: &[Said], started_at: Option<Millis>) -> Option<i64> {
    let spoken = said.iter().map(|one| one.start_ms).min().filter(|start| *start >= CALENDAR_MS_MIN);
    spoken.or(started_at.map(Millis::get))
}
