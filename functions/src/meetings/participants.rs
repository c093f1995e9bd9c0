//! Finding and adding the participants of a meeting.

use convoke::prelude::*;
use schema::limits::Quotas;
use schema::{Actor, Details, Invitation, Meeting, Participant, Presence, Role, User};

use crate::audit;

/// Most participants that one statement reads; more than any quota allows.
pub const PARTICIPANTS_MAX: usize = 100_000;

/// Returns the row of a user in a meeting.
///
/// # Errors
/// A failure of the store.
pub fn find(ctx: &impl Read, meeting: Id<Meeting>, user: Id<User>) -> Result<Option<Doc<Participant>>> {
    Ok(ctx.db().query(Participant::by_meeting_user).eq(meeting).eq(user).unique()?)
}

/// Returns all participants of a meeting, in the order in which they were added.
///
/// # Errors
/// A failure of the store.
pub fn all(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Vec<Doc<Participant>>> {
    let mut participants = ctx.db().query(Participant::by_meeting_user).eq(meeting).take(PARTICIPANTS_MAX)?;
    participants.sort_by_key(|row| (row.creation_time(), row.id()));
    Ok(participants)
}

/// Adds a user who has not joined yet; an existing row does not change. The caller checks limits and writes the audit
/// entry.
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

/// Records the addition of a participant in the audit log.
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

/// Checks the limit of participants and invitations of one meeting.
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
