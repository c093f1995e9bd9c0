//! The material of insights, as the rows have it, and who still needs some.
//!
//! Owns what counts as up to date: an insight carries the hash of what it was made from. Everything is read in one
//! snapshot and belongs to the one meeting.

use std::collections::HashMap;

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::limits::Generation;
use schema::{Fingerprint, Insight, Meeting, MeetingState, Note, Participant, User};

use super::generator::analysis::GENERATOR;
use crate::meetings::participants::{self, PARTICIPANTS_MAX};
use crate::notes::history;
use crate::transcripts::said::{Said, held_ms};
use crate::transcripts::{transcript, window};
use crate::{names, people};
use reading::material::{Chunk, Material, Person};

/// Which meeting.
#[args(name = "InsightsOfMeeting")]
pub struct OfMeeting {
    pub meeting_id: Id<Meeting>,
}

/// Whose insights are made.
#[value]
pub enum Demand {
    /// Of those whose insights were made from something else, or are not there.
    Current,
    /// Of all.
    Anew,
    /// As [`Demand::Current`]; what the built-in generator made in place of a model that failed is good enough.
    AsMade,
}

/// What [`gather`] takes.
#[args]
pub struct Gather {
    pub meeting_id: Id<Meeting>,
    pub demand: Demand,
    /// The name of the configured model's insights.
    pub model: Option<String>,
}

/// A meeting, as far as its insights need making.
#[value(output)]
pub struct Gathered {
    /// Those whose insights are to be made, in order of creation.
    pub readers: Vec<Reader>,
    /// What they are made from.
    pub evidence: Evidence,
    pub origin: Origin,
}

/// Somebody whose insights are to be made.
#[value(output)]
pub struct Reader {
    pub user_id: Id<User>,
    /// Whether a model may be asked for theirs: in a meeting that is going on, only if they were there.
    pub asks_model: bool,
    /// Their insights as they were.
    pub before: Option<Version>,
}

/// Which insights of a reader: others have another time, or another origin.
#[value]
pub struct Version {
    pub id: Id<Insight>,
    pub source_hash: Fingerprint,
    pub updated_at: Millis,
}

impl Version {
    /// The version of this row.
    pub fn of(row: &Doc<Insight>) -> Self {
        Self { id: row.id(), source_hash: row.source_hash.clone(), updated_at: row.updated_at }
    }
}

/// What insights are made from: all that tells whether they are up to date, but the generator.
#[value]
pub struct Origin {
    /// The last chunk's.
    pub transcript_sequence: i64,
    /// The last entry's of the notes.
    pub note_sequence: i64,
    /// In order of creation.
    pub people: Vec<Id<User>>,
}

impl Origin {
    /// The hash of what this generator makes insights from.
    pub fn hash(&self, generator: &str) -> Fingerprint {
        Fingerprint::of(&(self.transcript_sequence, self.note_sequence, &self.people, generator))
    }
}

/// What was said and written, as far as the window reaches back, and the people.
#[value(output)]
pub struct Evidence {
    pub said: Vec<Said>,
    pub notes: String,
    pub people: Vec<Attendee>,
    /// When the meeting began.
    pub started_at: Option<Millis>,
}

/// A participant, as far as others may see them.
#[value(output)]
pub struct Attendee {
    pub id: Id<User>,
    pub name: String,
    pub interests: Vec<String>,
}

impl From<Evidence> for Material {
    fn from(evidence: Evidence) -> Self {
        let person = |one: Attendee| Person { id: one.id.to_string(), name: one.name, interests: one.interests };
        let held_ms = held_ms(&evidence.said, evidence.started_at);
        Self {
            held_ms,
            chunks: evidence.said.into_iter().map(Chunk::from).collect(),
            notes: evidence.notes,
            people: evidence.people.into_iter().map(person).collect(),
        }
    }
}

/// Whose insights of a meeting are to be made, and from what; nothing if there is nobody, or the meeting has not begun
/// or was called off.
///
/// # Errors
/// A failure of the store.
#[query(internal)]
pub fn gather(ctx: &QueryCtx, args: Gather) -> Result<Option<Gathered>> {
    let Some(meeting) = ctx.db().get(args.meeting_id)? else { return Ok(None) };
    let is_over = match meeting.state {
        MeetingState::Active => false,
        MeetingState::Concluded => true,
        MeetingState::Scheduled | MeetingState::Cancelled => return Ok(None),
    };
    let participants = participants::all(ctx, meeting.id())?;
    let note = ctx.db().query(Note::by_meeting).eq(meeting.id()).unique()?;
    let origin = Origin {
        transcript_sequence: transcript::figures(ctx, meeting.id())?.map_or(0, |row| row.total_chunks),
        note_sequence: note.as_ref().map_or(0, |note| note.sequence),
        people: participants.iter().map(|participant| participant.user_id).collect(),
    };
    let readers = readers(ctx, &args, &participants, &origin, is_over)?;
    if readers.is_empty() {
        return Ok(None);
    }
    let bytes_max = ctx.settings::<Generation>().insights_window_bytes;
    let notes = note.map_or_else(|| Ok(String::new()), |note| history::text(ctx.db(), &note))?;
    let notes = window::end_of(notes, bytes_max);
    let evidence = Evidence {
        said: said(ctx, meeting.id(), bytes_max)?,
        notes,
        people: attendees(ctx, &origin.people)?,
        started_at: meeting.started_at.or(meeting.scheduled_at),
    };
    Ok(Some(Gathered { readers, evidence, origin }))
}

fn readers(
    ctx: &impl Read,
    args: &Gather,
    participants: &[Doc<Participant>],
    origin: &Origin,
    is_over: bool,
) -> Result<Vec<Reader>> {
    let rows = of_meeting(ctx, args.meeting_id)?;
    let built_in = origin.hash(GENERATOR);
    let modelled = args.model.as_deref().map(|model| origin.hash(model));
    let reader = |participant: &Doc<Participant>| {
        let asks_model = modelled.is_some() && (is_over || participant.joined_at.is_some());
        let wanted = modelled.as_ref().filter(|_| asks_model).unwrap_or(&built_in);
        let before = rows.get(&participant.user_id).map(Version::of);
        let is_due = match args.demand {
            Demand::Current => before.as_ref().is_none_or(|row| row.source_hash != *wanted),
            Demand::Anew => true,
            Demand::AsMade => {
                before.as_ref().is_none_or(|row| row.source_hash != *wanted && row.source_hash != built_in)
            }
        };
        is_due.then_some(Reader { user_id: participant.user_id, asks_model, before })
    };
    Ok(participants.iter().filter_map(reader).collect())
}

/// The insights of a meeting, by reader.
///
/// # Errors
/// A failure of the store.
pub fn of_meeting(ctx: &impl Read, meeting: Id<Meeting>) -> Result<HashMap<Id<User>, Doc<Insight>>> {
    let rows = ctx.db().query(Insight::by_meeting_user).eq(meeting).take(PARTICIPANTS_MAX)?;
    Ok(rows.into_iter().map(|row| (row.user_id, row)).collect())
}

fn said(ctx: &impl Read, meeting: Id<Meeting>, bytes_max: usize) -> Result<Vec<Said>> {
    let window = window::newest(ctx, meeting, bytes_max)?;
    let mut speakers: Vec<Id<User>> = window.chunks.iter().map(|chunk| chunk.speaker_id).collect();
    speakers.sort_unstable();
    speakers.dedup();
    let people = names::people(ctx, &speakers)?;
    Ok(window.chunks.iter().map(|chunk| Said::of(chunk, &people)).collect())
}

fn attendees(ctx: &impl Read, ids: &[Id<User>]) -> Result<Vec<Attendee>> {
    let people = people::of(ctx, ids)?;
    let attendee =
        |one: &people::PersonRecord| Attendee { id: one.user.id(), name: one.name(), interests: one.labels() };
    Ok(people.iter().map(attendee).collect())
}
