//! The people in a meeting: finding and adding them.

use convoke::prelude::*;
use schema::limits::Quotas;
use schema::{Actor, Details, Invitation, Meeting, Participant, Presence, Role, User};

use crate::audit;

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
