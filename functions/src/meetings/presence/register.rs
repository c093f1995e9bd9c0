//! The presence rows of participants, and the time since when a meeting is empty.
//!
//! The last commit wins. [`update_empty_since`] maintains `emptySince`; functions that change sessions or remove participants call
//! it in the same transaction.

use convoke::prelude::*;
use schema::{Meeting, MeetingState, Metadata, Participant, Presence};

use crate::access::Membership;
use crate::meetings::participants::PARTICIPANTS_MAX;
use crate::meetings::sessions;

/// Rejects a new participant if the meeting is full. Hosts and returning participants are always admitted.
///
/// # Errors
/// `FAILED_PRECONDITION` "Meeting is full".
pub fn require_room(ctx: &impl Read, membership: &Membership) -> Result<()> {
    if membership.is_host() || membership.participant.joined_at.is_some() {
        return Ok(());
    }
    if joined(ctx, membership.meeting.id())? >= membership.meeting.max_participants.get().unsigned_abs() {
        return Err(Error::failed_precondition("Meeting is full"));
    }
    Ok(())
}

/// Returns the number of present participants.
///
/// # Errors
/// A failure of the store.
pub fn joined(ctx: &impl Read, meeting: Id<Meeting>) -> Result<u64> {
    Ok(ctx.db().query(Participant::by_meeting_presence).eq(meeting).eq(Presence::Joined).count()?)
}

/// Writes the presence of one participant. An unchanged presence only updates the metadata, which replaces the old one
/// if it is given. Checks nothing, and leaves `emptySince` to [`update_empty_since`].
///
/// # Errors
/// A failure of the store.
pub fn write(
    ctx: &mut MutationCtx,
    participant: Doc<Participant>,
    to: Presence,
    metadata: Option<Metadata>,
) -> Result<Doc<Participant>> {
    let now = ctx.now();
    let participant = ctx.db_mut().patch_doc(participant, |row| {
        match (row.presence, to) {
            (Presence::Invited | Presence::Left, Presence::Joined) => row.joined_at = Some(now),
            (Presence::Invited | Presence::Joined, Presence::Left) => row.left_at = Some(now),
            (Presence::Invited | Presence::Joined | Presence::Left, _) => {}
        }
        row.presence = to;
        row.presence_at = now;
        if metadata.is_some() {
            row.presence_metadata = metadata;
        }
    })?;
    Ok(participant)
}

/// Updates the time since when an active meeting is empty (no present participant, no open session). A meeting that no
/// participant ever joined counts as waiting, not as empty. Returns the updated meeting.
///
/// # Errors
/// A failure of the store.
pub fn update_empty_since(ctx: &mut MutationCtx, meeting: Id<Meeting>) -> Result<Doc<Meeting>> {
    update_empty_since_after(ctx, meeting, false)
}

/// Like [`update_empty_since`], after the removal of a participant; `had_joined` is true if the participant had joined.
///
/// # Errors
/// A failure of the store.
pub fn update_empty_since_after(ctx: &mut MutationCtx, meeting: Id<Meeting>, had_joined: bool) -> Result<Doc<Meeting>> {
    let meeting = ctx.db().get(meeting)?.ok_or_else(|| Error::internal("a meeting vanished under its participants"))?;
    if meeting.state != MeetingState::Active {
        return Ok(meeting);
    }
    let empty_since = match meeting.empty_since {
        _ if !is_empty(ctx, meeting.id())? => None,
        Some(since) => Some(since),
        None if had_joined || somebody_had_joined(ctx, meeting.id())? => Some(ctx.now()),
        None => None,
    };
    Ok(ctx.db_mut().patch_doc(meeting, |row| row.empty_since = empty_since)?)
}

fn is_empty(ctx: &impl Read, meeting: Id<Meeting>) -> Result<bool> {
    let there = ctx.db().query(Participant::by_meeting_presence).eq(meeting).eq(Presence::Joined).first()?;
    Ok(there.is_none() && !sessions::any_open(ctx, meeting)?)
}

fn somebody_had_joined(ctx: &impl Read, meeting: Id<Meeting>) -> Result<bool> {
    // Participants who have joined have the presence `left` now; the first few usually answer the question.
    for rows in [16, PARTICIPANTS_MAX] {
        let gone = ctx.db().query(Participant::by_meeting_presence).eq(meeting).eq(Presence::Left).take(rows)?;
        if gone.iter().any(|row| row.joined_at.is_some()) {
            return Ok(true);
        }
        if gone.len() < rows {
            break;
        }
    }
    Ok(false)
}
