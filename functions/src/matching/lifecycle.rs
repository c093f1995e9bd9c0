//! Creation of the meeting of a match.

use convoke::mutation;
use convoke::prelude::*;
use schema::{Match, MaxParticipants, Meeting, MeetingDuration, MeetingTitle, MeetingType, Role, User};

use super::queries::OneMatch;
use super::standing::{self, Matched};
use crate::meetings::creation::{self, Features, MeetingCreated, NewMeeting};
use crate::meetings::{participants, provider};
use crate::{access, audit, names};

/// Creates the one-on-one meeting of an open match at a time when both users are available. Both are hosts. A repeated
/// call, by either user, returns the same meeting.
///
/// # Errors
/// - `NOT_FOUND`: the caller has no such match.
/// - `FAILED_PRECONDITION`: "Match is not open".
#[mutation(rights = standing::matched(args.match_id))]
pub fn create_match_meeting(ctx: &mut MutationCtx, matched: Matched, _: OneMatch) -> Result<MeetingCreated> {
    let Matched { user, row, theirs, .. } = matched;
    if let Some(meeting) = row.meeting_id {
        let meeting = ctx.db().get(meeting)?;
        let meeting = meeting.ok_or_else(|| Error::internal("the meeting of a match is gone"))?;
        return Ok(made(ctx, &meeting));
    }
    if !standing::is_open(&row, ctx.now()) {
        return Err(Error::failed_precondition("Match is not open"));
    }
    let new = meeting_of(ctx, &row)?;
    let created = creation::create(ctx, &user, new, [])?;
    invite(ctx, &user, created.meeting_id, theirs.user_id)?;
    ctx.db_mut().patch_doc(row, |row| row.meeting_id = Some(created.meeting_id))?;
    audit::by_key(ctx, &user)?;
    Ok(created)
}

fn made(ctx: &impl Read, meeting: &Doc<Meeting>) -> MeetingCreated {
    MeetingCreated {
        meeting_id: meeting.id(),
        webrtc_ready: !meeting.state.is_final() && provider::is_ready(ctx, meeting.video_provider),
        video_provider: meeting.video_provider,
        features: Features::of(meeting),
    }
}

fn meeting_of(ctx: &impl Read, row: &Match) -> Result<NewMeeting> {
    let people = names::people(ctx, &[row.user_a, row.user_b])?;
    let name = |id| people.get(&id).map(|person| person.display_name.as_str()).unwrap_or_default();
    let title = format!("{} and {}", name(row.user_a), name(row.user_b));
    // Two names of the greatest length exceed the length of a title.
    let title: String = title.chars().take(MeetingTitle::CHARS_MAX).collect();
    let free_ms = row.window_to.get() - row.window_from.max(ctx.now()).get();
    Ok(NewMeeting {
        title: MeetingTitle::new(title).map_err(|error| Error::internal(error.to_string()))?,
        description: None,
        scheduled_at: Some(row.window_from),
        duration: MeetingDuration::new(free_ms.min(MeetingDuration::default().get())).unwrap_or_default(),
        meeting_type: Some(MeetingType::OneOnOne),
        max_participants: None::<MaxParticipants>,
        recording_enabled: false,
        transcription_enabled: true,
    })
}

/// Both users are hosts, because neither invited the other.
fn invite(ctx: &mut MutationCtx, maker: &Doc<User>, meeting: Id<Meeting>, partner: Id<User>) -> Result<()> {
    let participant = participants::add(ctx, meeting, partner, Role::Host)?;
    let Some(meeting) = ctx.db().get(meeting)? else { return Ok(()) };
    let actor = access::actor(ctx, Some(maker));
    participants::record_added(ctx, &actor, &meeting, participant.id(), Role::Host)
}
