//! The material of insights from the database, and the readers who need new ones.
//!
//! An insight is current if it has the hash of the present material. Everything is read on one snapshot and belongs to
//! one meeting.

use std::collections::HashMap;

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::limits::Generation;
use schema::{Fingerprint, Insight, Meeting, MeetingState, Note, Participant, User};

use super::generator::analysis::GENERATOR;
use crate::meetings::participants::{self, PARTICIPANTS_MAX};
use crate::notes::history;
use crate::transcripts::said::{SpokenChunk, held_ms};
use crate::transcripts::{transcript, window};
use crate::{names, people};
use reading::material::{Chunk, Material, Person};

/// A meeting.
#[args(name = "InsightsOfMeeting")]
pub struct OfMeeting {
    pub meeting_id: Id<Meeting>,
}

/// The readers whose insights are generated.
#[value]
pub enum Demand {
    /// Readers whose insights are missing or not current.
    Current,
    /// All readers.
    Anew,
    /// Like [`Demand::Current`], but accepts built-in insights in place of those of a failed model.
    AsMade,
}

/// Arguments of [`gather`].
#[args]
pub struct Gather {
    pub meeting_id: Id<Meeting>,
    pub demand: Demand,
    /// Name of the configured model.
    pub model: Option<String>,
}

/// A meeting with the readers who need insights.
#[value(output)]
pub struct Gathered {
    /// The readers, in order of creation.
    pub readers: Vec<Reader>,
    /// The material.
    pub evidence: Evidence,
    pub origin: Origin,
}

/// A reader who needs insights.
#[value(output)]
pub struct Reader {
    pub user_id: Id<User>,
    /// True if a model may be used: in an active meeting, only for readers who joined it.
    pub asks_model: bool,
    /// The reader's previous insights.
    pub before: Option<Version>,
}

/// The version of a reader's insights: it changes with their time or origin.
#[value]
pub struct Version {
    pub id: Id<Insight>,
    pub source_hash: Fingerprint,
    pub updated_at: Millis,
}

impl Version {
    /// Returns the version of this row.
    pub fn of(row: &Doc<Insight>) -> Self {
        Self { id: row.id(), source_hash: row.source_hash.clone(), updated_at: row.updated_at }
    }
}

/// The inputs of insights, without the generator; they decide if insights are current.
#[value]
pub struct Origin {
    /// Sequence of the last chunk.
    pub transcript_sequence: i64,
    /// Sequence of the last log entry of the notes.
    pub note_sequence: i64,
    /// Participants, in order of creation.
    pub people: Vec<Id<User>>,
}

impl Origin {
    /// Returns the hash of the inputs with this generator.
    pub fn hash(&self, generator: &str) -> Fingerprint {
        Fingerprint::of(&(self.transcript_sequence, self.note_sequence, &self.people, generator))
    }
}

/// Transcript and notes, as far as the window reaches, and the participants.
#[value(output)]
pub struct Evidence {
    pub said: Vec<SpokenChunk>,
    pub notes: String,
    pub people: Vec<Attendee>,
    /// Start of the meeting.
    pub started_at: Option<Millis>,
}

/// A participant, as far as visible to the others.
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

/// Returns the readers who need insights, and the material; none if there are no such readers, or the meeting has not
/// started or was cancelled.
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

/// Returns the insights of a meeting by reader.
///
/// # Errors
/// A failure of the store.
pub fn of_meeting(ctx: &impl Read, meeting: Id<Meeting>) -> Result<HashMap<Id<User>, Doc<Insight>>> {
    let rows = ctx.db().query(Insight::by_meeting_user).eq(meeting).take(PARTICIPANTS_MAX)?;
    Ok(rows.into_iter().map(|row| (row.user_id, row)).collect())
}

fn said(ctx: &impl Read, meeting: Id<Meeting>, bytes_max: usize) -> Result<Vec<SpokenChunk>> {
    let window = window::newest(ctx, meeting, bytes_max)?;
    let mut speakers: Vec<Id<User>> = window.chunks.iter().map(|chunk| chunk.speaker_id).collect();
    speakers.sort_unstable();
    speakers.dedup();
    let people = names::people(ctx, &speakers)?;
    Ok(window.chunks.iter().map(|chunk| SpokenChunk::of(chunk, &people)).collect())
}

fn attendees(ctx: &impl Read, ids: &[Id<User>]) -> Result<Vec<Attendee>> {
    let people = people::of(ctx, ids)?;
    let attendee =
        |one: &people::PersonRecord| Attendee { id: one.user.id(), name: one.name(), interests: one.labels() };
    Ok(people.iter().map(attendee).collect())
}
