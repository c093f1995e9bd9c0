//! The people in a meeting: adding, removing, roles, and the rule that somebody always hosts.

use convoke::prelude::*;
use schema::limits::Quotas;
use schema::{Actor, Details, Invitation, Meeting, Participant, Presence, Role, User};

use super::webrtc::room_service;
use super::{presence, sessions};
use crate::audit;
use crate::events::{self, Event};
use crate::notes::revocation;

/// More participants than any meeting has, whatever the quota is set to: what is read in one statement.
pub const PARTICIPANTS_MAX: usize = 100_000;

/// The row of a user in a meeting.
///
/// # Errors
/// A failure of the store.
pub fn find(ctx: &impl Read, meeting: Id<Meeting>, user: Id<User>) -> Result<Option<Doc<Participant>>> {
    Ok(ctx.db().query(Participant::by_meeting_user).eq(meeting).eq(user).unique()?)
}

/// Everybody in a meeting, in the order in which they were added.
///
/// # Errors
/// A failure of the store.
pub fn all(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Vec<Doc<Participant>>> {
    let mut participants = ctx.db().query(Participant::by_meeting_user).eq(meeting).take(PARTICIPANTS_MAX)?;
    participants.sort_by_key(|row| (row.creation_time(), row.id()));
    Ok(participants)
}

/// Adds a user who has not come yet; a row that stands there stays as it is. Leaves limits and audit to the caller.
///
/// # Errors
/// A failure of the store.
pub fn add(ctx: &mut MutationCtx, meeting: Id<Meeting>, user: Id<User>, role: Role) -> Result<Doc<Participant>> {
    let row = Participant {
        meeting_id: meeting,
        user_id: user,
        role,
        presence: Presence::Invited,
        joined_at: None,
        left_at: None,
        presence_metadata: None,
        presence_at: ctx.now(),
    };
    Ok(ctx.db_mut().insert_unique(Participant::by_meeting_user, row)?.into_doc())
}

/// Records that somebody was added to a meeting.
///
/// # Errors
/// A failure of the store.
pub fn record_added(
    ctx: &mut MutationCtx,
    actor: &Actor,
    meeting: &Doc<Meeting>,
    participant: Id<Participant>,
    role: Role,
) -> Result<()> {
    let details = Details::new().with("participantId", participant).with("role", role);
    audit::meeting(ctx, actor, "participant.added", meeting, details)
}

/// Refuses more people and invitations than one meeting holds.
///
/// # Errors
/// `FAILED_PRECONDITION`.
pub fn require_capacity(ctx: &impl Read, meeting: Id<Meeting>, more: usize) -> Result<()> {
    let people = ctx.db().query(Participant::by_meeting_user).eq(meeting).count()?;
    let invitations = ctx.db().query(Invitation::by_meeting_email).eq(meeting).count()?;
    let most = ctx.settings::<Quotas>().people_per_meeting;
    if people + invitations + more as u64 > most as u64 {
        let message = format!("Too many participants and invitations (max {most})");
        return Err(Error::failed_precondition(message));
    }
    Ok(())
}

/// Gives a participant a role; the same role again changes nothing.
///
/// # Errors
/// `FAILED_PRECONDITION` "Cannot demote the only host".
pub fn set_role(
    ctx: &mut MutationCtx,
    meeting: &Doc<Meeting>,
    participant: Doc<Participant>,
    role: Role,
    actor: &Actor,
) -> Result<()> {
    let (from, user) = (participant.role, participant.user_id);
    if from == role {
        return Ok(());
    }
    if from == Role::Host {
        require_another_host(ctx, meeting.id(), "Cannot demote the only host")?;
    }
    ctx.db_mut().patch_doc(participant, |row| row.role = role)?;
    let open = sessions::open_of(ctx, meeting.id(), user)?;
    room_service::follow_up(ctx, meeting, open.into_iter().map(|session| session.into_inner().session_id))?;
    let details = Details::new().with("userId", user).with("from", from).with("to", role);
    audit::meeting(ctx, actor, "participant.role", meeting, details)?;
    info!("{user} is {role} now");
    Ok(())
}

/// Takes a user out of a meeting: closes their sessions, puts them out of the room, ends their subscriptions and fails what
/// they queued offline for it.
///
/// # Errors
/// `FAILED_PRECONDITION` "Cannot remove the only host".
pub fn remove(
    ctx: &mut MutationCtx,
    meeting: &Doc<Meeting>,
    participant: Doc<Participant>,
    actor: &Actor,
) -> Result<()> {
    if participant.role == Role::Host {
        require_another_host(ctx, meeting.id(), "Cannot remove the only host")?;
    }
    let (user, had_joined) = (participant.user_id, participant.joined_at.is_some());
    let closed = sessions::close_of(ctx, meeting.id(), user)?;
    revocation::fail_pending_in(ctx, meeting.id(), user)?;
    ctx.db_mut().delete(participant.id())?;
    room_service::evict(ctx, meeting, user, closed)?;
    presence::settle_after(ctx, meeting.id(), had_joined)?;
    events::emit(ctx, meeting, Event::ParticipantRemoved(user))?;
    audit::meeting(ctx, actor, "participant.removed", meeting, Details::new().with("userId", user))?;
    info!("{user} removed from {}", meeting.id());
    Ok(())
}

/// Counts hosts inside the transaction, so that two who demote each other cannot both succeed.
fn require_another_host(ctx: &impl Read, meeting: Id<Meeting>, otherwise: &'static str) -> Result<()> {
    let hosts = ctx.db().query(Participant::by_meeting_role).eq(meeting).eq(Role::Host).take(2)?;
    if hosts.len() < 2 { Err(Error::failed_precondition(otherwise)) } else { Ok(()) }
}
