//! Who is there: the one register that every move writes, and since when a meeting is empty.
//!
//! [`join`] and [`leave`] are the moves of a caller, whatever brought them about (joinMeeting, leaveMeeting, a connected
//! session, batchUpdatePresence). The register's clock is the order of commits: the last one received wins.
//! A presence may have a [`lease`]: it ends by itself unless its client renews it.
//! [`settle`] keeps `emptySince`; anyone who changes sessions or removes people calls it in the same transaction.

use std::time::Duration;

use convoke::args;
use convoke::prelude::*;
use schema::{Meeting, MeetingState, Metadata, Participant, Presence, User};

use super::{sessions, state};
use crate::access::{self, Membership};

/// How long a presence with a lease lasts after the last renewal.
pub const LEASE: Duration = Duration::from_secs(60);
/// For a renewal that is on its way. Browsers let the timers of a hidden page run once a minute only.
const GRACE: Duration = Duration::from_secs(10);
/// A lease that ends this much later was not renewed because the server was down; it lasts once more.
const LATE: Duration = Duration::from_secs(10);

/// What `meetings/endPresence` takes.
#[args]
pub struct EndPresence {
    pub participant_id: Id<Participant>,
    /// When the lease ends.
    pub until: Millis,
}

/// Gives a presence a lease, or renews it. It writes one row that no query reads, so live queries do not run for it.
///
/// # Errors
/// A failure of the store.
pub fn lease(ctx: &mut MutationCtx, participant: Id<Participant>) -> Result<()> {
    let until = ctx.now() + LEASE + GRACE;
    let args = EndPresence { participant_id: participant, until };
    ctx.schedule_debounced::<super::end_presence>(&participant.to_string(), until, args)?;
    Ok(())
}

/// Takes the lease from a presence: it lasts until a call changes it.
///
/// # Errors
/// A failure of the store.
pub fn end_lease(ctx: &mut MutationCtx, participant: Id<Participant>) -> Result<()> {
    ctx.cancel_key::<super::end_presence>(&participant.to_string())?;
    Ok(())
}

/// Ends a presence whose lease was not renewed, as [`leave`] does.
///
/// # Errors
/// A failure of the store.
pub fn expire(ctx: &mut MutationCtx, args: &EndPresence) -> Result<()> {
    let Some(participant) = ctx.db().get(args.participant_id)?.filter(|row| row.presence == Presence::Joined) else {
        return Ok(());
    };
    if ctx.now() > args.until + LATE {
        return lease(ctx, args.participant_id);
    }
    let (user, meeting) = (ctx.db().get::<User>(participant.user_id)?, ctx.db().get(participant.meeting_id)?);
    if let Some((user, meeting)) = user.zip(meeting) {
        leave(ctx, Membership { user, meeting, participant }, None)?;
    }
    Ok(())
}

/// The caller is there. A host who comes starts a scheduled meeting; anybody else waits in it. Somebody who is there
/// already only brings their metadata. Returns the membership as it is now.
///
/// # Errors
/// `FAILED_PRECONDITION` "Meeting is not currently active" (it is over or called off), "Meeting is full".
pub fn join(ctx: &mut MutationCtx, membership: Membership, metadata: Option<Metadata>) -> Result<Membership> {
    state::require_open(&membership.meeting)?;
    require_room(ctx, &membership)?;
    let Membership { user, mut meeting, participant } = membership;
    let was_there = participant.presence == Presence::Joined;
    let is_host = participant.role == schema::Role::Host;
    let participant = write(ctx, participant, Presence::Joined, metadata)?;
    if is_host && meeting.state == MeetingState::Scheduled {
        let actor = access::actor(ctx, Some(&user));
        meeting = state::start(ctx, meeting, &actor)?;
    } else if !was_there {
        meeting = settle(ctx, meeting.id())?;
    }
    Ok(Membership { user, meeting, participant })
}

/// The caller is gone, and their open sessions with them. In any state of the meeting; somebody who is gone already only
/// brings their metadata. Returns the membership as it is now.
///
/// # Errors
/// A failure of the store.
pub fn leave(ctx: &mut MutationCtx, membership: Membership, metadata: Option<Metadata>) -> Result<Membership> {
    let Membership { user, mut meeting, participant } = membership;
    let was_gone = participant.presence == Presence::Left;
    end_lease(ctx, participant.id())?;
    let participant = write(ctx, participant, Presence::Left, metadata)?;
    let closed = sessions::close_of(ctx, meeting.id(), user.id())?;
    if !was_gone || !closed.is_empty() {
        meeting = settle(ctx, meeting.id())?;
    }
    Ok(Membership { user, meeting, participant })
}

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
    for rows in [16, super::participants::PARTICIPANTS_MAX] {
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
