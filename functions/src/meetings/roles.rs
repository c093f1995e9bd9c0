//! Roles in a meeting, the removal of participants, and the rule that a meeting always has a host.

use convoke::prelude::*;
use schema::{Actor, Details, Meeting, Participant, Role};

use super::presence::register;
use super::sessions;
use super::webrtc::media_server;
use crate::audit;
use crate::events::{self, Event};
use crate::notes::revocation;

/// Sets the role of a participant; the same role changes nothing.
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
    media_server::follow_up(ctx, meeting, open.into_iter().map(|session| session.into_inner().session_id))?;
    let details = Details::new().with("userId", user).with("from", from).with("to", role);
    audit::meeting(ctx, actor, "participant.role", meeting, details)?;
    info!("{user} is {role} now");
    Ok(())
}

/// Removes a user from a meeting: closes the user's sessions, ejects the user from the room, ends the user's
/// subscriptions and fails queued offline operations.
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
    media_server::evict(ctx, meeting, user, closed)?;
    register::update_empty_since_after(ctx, meeting.id(), had_joined)?;
    events::emit(ctx, meeting, Event::ParticipantRemoved(user))?;
    audit::meeting(ctx, actor, "participant.removed", meeting, Details::new().with("userId", user))?;
    info!("{user} removed from {}", meeting.id());
    Ok(())
}

/// Counts hosts inside the transaction, so that two hosts who demote each other cannot both succeed.
fn require_another_host(ctx: &impl Read, meeting: Id<Meeting>, otherwise: &'static str) -> Result<()> {
    let hosts = ctx.db().query(Participant::by_meeting_role).eq(meeting).eq(Role::Host).take(2)?;
    if hosts.len() < 2 { Err(Error::failed_precondition(otherwise)) } else { Ok(()) }
}
