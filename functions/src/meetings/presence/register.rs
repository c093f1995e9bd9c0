//! The register of who is there, and since when a meeting is empty.
//!
//! The register's clock is the order of commits: the last one received wins. [`settle`] keeps `emptySince`; anyone who
//! changes sessions or removes people calls it in the same transaction.

use convoke::prelude::*;
use schema::{Meeting, MeetingState, Metadata, Participant, Presence};

use crate::access::Membership;
use crate::meetings::participants::PARTICIPANTS_MAX;
use crate::meetings::sessions;

/// Refuses a newcomer where as many others are there as the meeting has room for. Hosts and those who were in before
/// are let in.
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

/// How many are there.
///
/// # Errors
/// A failure of the store.
pub fn joined(ctx: &impl Read, meeting: Id<Meeting>) -> Result<u64> {
    Ok(ctx.db().query(Participant::by_meeting_presence).eq(meeting).eq(Presence::Joined).count()?)
}

/// Writes the register of one participant. The same presence again changes only the metadata, which replaces the old
/// when given. Checks nothing, and leaves `emptySince` to [`settle`].
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

/// Notes since when an active meeting is empty (nobody there, no open session), or that it is not. A meeting that
/// nobody ever joined is not empty but waiting. Returns the meeting as it is now.
///
/// # Errors
/// A failure of the store.
pub fn settle(ctx: &mut MutationCtx, meeting: Id<Meeting>) -> Result<Doc<Meeting>> {
    settle_after(ctx, meeting, false)
}

/// As [`settle`], after somebody was removed of whom only the caller knows whether he `had_joined`.
///
/// # Errors
/// A failure of the store.
pub fn settle_after(ctx: &mut MutationCtx, meeting: Id<Meeting>, had_joined: bool) -> Result<Doc<Meeting>> {
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
    // Those who came have a presence of `left` now; the first of them usually answers.
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
