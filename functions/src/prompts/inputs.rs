//! The evidence of prompts from the database.
//!
//! This module decides which rows may appear in whose prompts. A reader's earlier meetings are those that the reader
//! joined. Another user's roles are those of the profile, or of a match with the reader.

use std::collections::{BTreeMap, HashSet};

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::limits::Generation;
use schema::{Insight, Match, Meeting, MeetingState, Participant, Presence, PromptKind, QueueEntry, User};

use super::generator::{EarlierMeeting, Guest, is_lull};
use super::repository::{self, Older};
use crate::meetings::participants;
use crate::names;
use crate::people::{self, PersonRecord};
use crate::transcripts::said::SpokenChunk;
use crate::transcripts::window;
use reading::material::Person;

/// Most other participants in a reader's prompts: in a larger meeting, prompts introduce no one.
const OTHERS_MAX: usize = 50;
/// Most of the reader's meetings to read, newest first.
const MEETINGS_MAX: usize = 200;
/// Most concluded meetings to search for the same participants, newest first.
const SEARCHED_MAX: usize = 30;
/// Most earlier meetings with prompts.
const EARLIER_MAX: usize = 5;
/// Most meetings of each participant to search for the next ones, newest first.
const COMING_MAX: usize = 50;
/// Most next meetings with new prompts.
const NEXT_MAX: usize = 5;
/// Most queue entries of participants to read.
const ENTRIES_MAX: usize = 5_000;

/// Arguments of the jobs: a meeting.
#[args(name = "PromptsOfMeeting")]
pub struct OfMeeting {
    pub meeting_id: Id<Meeting>,
}

/// Returns the participants of a scheduled meeting; empty in another state.
///
/// # Errors
/// A failure of the store.
#[query(internal)]
pub fn expected(ctx: &QueryCtx, args: OfMeeting) -> Result<Vec<Id<User>>> {
    let is_scheduled = |meeting: &Doc<Meeting>| meeting.state == MeetingState::Scheduled;
    if !ctx.db().get(args.meeting_id)?.as_ref().is_some_and(is_scheduled) {
        return Ok(Vec::new());
    }
    Ok(participants::all(ctx, args.meeting_id)?.iter().map(|participant| participant.user_id).collect())
}

/// Returns the scheduled meetings with at least two users who joined this one, soonest first.
///
/// # Errors
/// A failure of the store.
#[query(internal)]
pub fn next_meetings(ctx: &QueryCtx, args: OfMeeting) -> Result<Vec<Id<Meeting>>> {
    let people = participants::all(ctx, args.meeting_id)?;
    let joined = people.iter().filter(|participant| participant.joined_at.is_some()).take(OTHERS_MAX);
    let mut known: BTreeMap<Id<Meeting>, usize> = BTreeMap::new();
    for participant in joined {
        let places = ctx.db().query(Participant::by_user_meeting).eq(participant.user_id).order(Order::Desc);
        for place in places.take(COMING_MAX)? {
            *known.entry(place.meeting_id).or_default() += 1;
        }
    }
    let shared: Vec<Id<Meeting>> = known.into_iter().filter(|(_, users)| *users >= 2).map(|(id, _)| id).collect();
    let mut next: Vec<Doc<Meeting>> = ctx.db().get_many(&shared)?.into_iter().flatten().collect();
    next.retain(|meeting| meeting.state == MeetingState::Scheduled);
    next.sort_by_key(|meeting| (meeting.scheduled_at, meeting.id()));
    next.truncate(NEXT_MAX);
    Ok(next.iter().map(Doc::id).collect())
}

/// Arguments of [`before`] and [`existing`].
#[args]
pub struct OfReader {
    pub meeting_id: Id<Meeting>,
    pub user_id: Id<User>,
    pub kind: PromptKind,
    pub older: Older,
}

/// The evidence of prompts before a call.
#[value(output)]
pub struct Before {
    pub reader: Invitee,
    pub others: Vec<Invitee>,
    pub title: String,
    pub description: String,
    pub earlier: Vec<Earlier>,
    /// Contents of the reader's existing prompts.
    pub existing: Vec<String>,
}

/// An invited user.
#[value(output)]
pub struct Invitee {
    pub id: Id<User>,
    pub name: String,
    pub interests: Vec<String>,
    pub roles: Vec<String>,
}

impl From<Invitee> for Guest {
    fn from(invitee: Invitee) -> Self {
        let person = Person { id: invitee.id.to_string(), name: invitee.name, interests: invitee.interests };
        Self { person, roles: invitee.roles }
    }
}

/// An earlier meeting of the reader with some of the others.
#[value(output)]
pub struct Earlier {
    pub title: String,
    pub people: Vec<Id<User>>,
    pub action_items: Vec<String>,
}

impl From<Earlier> for EarlierMeeting {
    fn from(meeting: Earlier) -> Self {
        let people = meeting.people.iter().map(ToString::to_string).collect();
        Self { title: meeting.title, people, action_items: meeting.action_items }
    }
}

/// Returns the evidence for one reader before a call; none if the reader is not in the meeting.
///
/// # Errors
/// A failure of the store.
#[query(internal)]
pub fn before(ctx: &QueryCtx, args: OfReader) -> Result<Option<Before>> {
    let Some(meeting) = ctx.db().get(args.meeting_id)? else { return Ok(None) };
    let mut others: Vec<Id<User>> =
        participants::all(ctx, meeting.id())?.iter().map(|participant| participant.user_id).collect();
    let Some(place) = others.iter().position(|user| *user == args.user_id) else { return Ok(None) };
    others.remove(place);
    others.truncate(OTHERS_MAX);
    let mut ids = vec![args.user_id];
    ids.extend(&others);
    let mut people = invitees(ctx, args.user_id, &ids)?.into_iter();
    let Some(reader) = people.next().filter(|reader| reader.id == args.user_id) else { return Ok(None) };
    Ok(Some(Before {
        reader,
        others: people.collect(),
        title: meeting.title.as_str().to_owned(),
        description: meeting.description.as_ref().map(|text| text.as_str().to_owned()).unwrap_or_default(),
        earlier: earlier(ctx, &meeting, args.user_id, &others)?,
        existing: contents(ctx, &args)?,
    }))
}

/// Returns the contents of a reader's existing prompts.
///
/// # Errors
/// A failure of the store.
fn contents(ctx: &impl Read, of: &OfReader) -> Result<Vec<String>> {
    let prompts = repository::all(ctx, of.meeting_id, of.user_id, of.kind)?;
    Ok(of.older.staying(prompts).into_iter().map(|prompt| prompt.content.clone()).collect())
}

fn invitees(ctx: &impl Read, reader: Id<User>, ids: &[Id<User>]) -> Result<Vec<Invitee>> {
    let entries = ctx.db().query(QueueEntry::by_user_status).any(ids).take(ENTRIES_MAX)?;
    let matched: HashSet<Id<Match>> =
        entries.iter().filter(|entry| entry.user_id == reader).filter_map(|entry| entry.match_id).collect();
    // Wishes in the queue are visible only to matched users.
    let is_told =
        |entry: &&Doc<QueueEntry>| entry.user_id == reader || entry.match_id.is_some_and(|of| matched.contains(&of));
    let roles = |person: &PersonRecord| -> Vec<String> {
        let theirs = entries.iter().filter(|entry| entry.user_id == person.user.id()).filter(is_told);
        let asked = theirs.max_by_key(|entry| entry.id()).map(|entry| entry.constraints.roles.clone());
        let asked = asked.into_iter().flatten().map(|role| role.as_str().to_owned());
        let title = person.profile.as_ref().and_then(|profile| profile.job_title.as_ref());
        asked.chain(title.map(|title| title.as_str().to_owned())).collect()
    };
    let invitee = |person: &PersonRecord| Invitee {
        id: person.user.id(),
        name: person.name(),
        interests: person.labels(),
        roles: roles(person),
    };
    Ok(people::of(ctx, ids)?.iter().map(invitee).collect())
}

/// Returns the latest concluded meetings that the reader joined, with those of the others who joined too.
fn earlier(ctx: &impl Read, upcoming: &Doc<Meeting>, reader: Id<User>, others: &[Id<User>]) -> Result<Vec<Earlier>> {
    let places = ctx.db().query(Participant::by_user_meeting).eq(reader).order(Order::Desc).take(MEETINGS_MAX)?;
    let joined = places.iter().filter(|place| place.joined_at.is_some() && place.meeting_id != upcoming.id());
    let ids: Vec<Id<Meeting>> = joined.map(|place| place.meeting_id).collect();
    let mut over: Vec<Doc<Meeting>> = ctx.db().get_many(&ids)?.into_iter().flatten().collect();
    over.retain(|meeting| meeting.state == MeetingState::Concluded);
    over.sort_by_key(|meeting| std::cmp::Reverse(meeting.ended_at));
    let mut found = Vec::new();
    for meeting in over.into_iter().take(SEARCHED_MAX) {
        let participants =
            ctx.db().query(Participant::by_meeting_user).eq(meeting.id()).any(others).take(others.len())?;
        let people: Vec<Id<User>> = participants
            .iter()
            .filter(|participant| participant.joined_at.is_some())
            .map(|participant| participant.user_id)
            .collect();
        if people.is_empty() {
            continue;
        }
        let insight = ctx.db().query(Insight::by_meeting_user).eq(meeting.id()).eq(reader).unique()?;
        found.push(Earlier {
            title: meeting.title.as_str().to_owned(),
            people,
            action_items: insight.map(|insight| insight.action_items.clone()).unwrap_or_default(),
        });
        if found.len() == EARLIER_MAX {
            break;
        }
    }
    Ok(found)
}

/// The last part of the talk in a meeting.
#[value(output)]
pub struct During {
    pub said: Vec<SpokenChunk>,
    /// Present participants.
    pub people: Vec<names::Person>,
    /// True if there was silence for half a minute while at least two participants are present.
    pub is_lull: bool,
}

/// Returns the evidence of prompts during a call; none if the meeting is not active.
///
/// # Errors
/// A failure of the store.
#[query(internal)]
pub fn during(ctx: &QueryCtx, args: OfMeeting) -> Result<Option<During>> {
    let is_active = |meeting: &Doc<Meeting>| meeting.state == MeetingState::Active;
    if !ctx.db().get(args.meeting_id)?.as_ref().is_some_and(is_active) {
        return Ok(None);
    }
    let chunks = window::newest(ctx, args.meeting_id, ctx.settings::<Generation>().prompts_window_bytes)?.chunks;
    let there = ctx.db().query(Participant::by_meeting_presence).eq(args.meeting_id).eq(Presence::Joined);
    let there: Vec<Id<User>> =
        there.take(participants::PARTICIPANTS_MAX)?.iter().map(|participant| participant.user_id).collect();
    // The times in a chunk may come from another clock; the creation time is the server's.
    let spoken = chunks.last().map_or(ctx.now(), Doc::creation_time);
    let is_lull = is_lull(spoken.get(), ctx.now().get(), there.len());
    let mut ids: Vec<Id<User>> = chunks.iter().map(|chunk| chunk.speaker_id).collect();
    ids.extend(&there);
    ids.sort_unstable();
    ids.dedup();
    let people = names::people(ctx, &ids)?;
    let said = chunks.iter().map(|chunk| SpokenChunk::of(chunk, &people)).collect();
    let people = there.iter().filter_map(|id| people.get(id).cloned()).collect();
    Ok(Some(During { said, people, is_lull }))
}

/// Returns the contents of a reader's existing prompts, which new ones must not repeat.
///
/// # Errors
/// A failure of the store.
#[query(internal)]
pub fn existing(ctx: &QueryCtx, args: OfReader) -> Result<Vec<String>> {
    contents(ctx, &args)
}
