//! Invitations by e-mail address: who has an account takes part at once, anybody else once he logs in with it.

use std::collections::HashSet;

use convoke::prelude::*;
use schema::limits::Quotas;
use schema::{Actor, EmailAddress, Invitation, InvitationCount, Meeting, Participant, Role, User};

use super::seats;
use crate::prompts::scheduling as prompts;
use crate::users::claims;

/// Accounts with one verified address, of different issuers.
const ACCOUNTS_MAX: usize = 5_000;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// What became of the addresses.
#[derive(Debug, Default)]
pub struct Invited {
    /// Those who take part now, of whom some may have before.
    pub participants: Vec<Id<Participant>>,
    /// Those of them who did not before.
    pub added: Vec<Id<Participant>>,
    /// Addresses with an open invitation now, whether it is new or not.
    pub addresses: Vec<EmailAddress>,
}

/// Invites addresses to a meeting in the name of `inviter`: all active users with that verified address become
/// participants; an address without one gets an invitation. His own address and duplicates are passed over. Leaves
/// the audit to the caller.
///
/// # Errors
/// `FAILED_PRECONDITION` past the limits of addresses a day, of open invitations of one address, and of one meeting.
pub fn invite(
    ctx: &mut MutationCtx,
    meeting: Id<Meeting>,
    emails: impl IntoIterator<Item = EmailAddress>,
    inviter: &Doc<User>,
) -> Result<Invited> {
    let mut seen: HashSet<EmailAddress> = inviter.email.iter().cloned().collect();
    let emails: Vec<EmailAddress> = emails.into_iter().filter(|email| seen.insert(email.clone())).collect();
    if emails.is_empty() {
        return Ok(Invited::default());
    }
    count(ctx, inviter.id(), emails.len())?;
    let users = owners(ctx, &emails)?;
    let owned: HashSet<&EmailAddress> = users.iter().filter_map(|user| user.email.as_ref()).collect();
    let unowned: Vec<EmailAddress> = emails.iter().filter(|email| !owned.contains(email)).cloned().collect();
    let ids: Vec<Id<User>> = users.iter().map(|user| user.id()).collect();
    let there = ctx.db().query(Participant::by_meeting_user).eq(meeting).any(&ids).take(ids.len())?;
    let there: HashSet<Id<User>> = there.iter().map(|row| row.user_id).collect();
    let invited = ctx.db().query(Invitation::by_meeting_email).eq(meeting).any(&unowned).take(unowned.len())?;
    let invited: HashSet<EmailAddress> = invited.iter().map(|row| row.email.clone()).collect();
    seats::require_capacity(ctx, meeting, ids.len() - there.len() + unowned.len() - invited.len())?;

    let mut result = Invited::default();
    for id in ids {
        let participant = seats::add(ctx, meeting, id, Role::Participant)?.id();
        result.participants.push(participant);
        if !there.contains(&id) {
            result.added.push(participant);
        }
    }
    for email in unowned {
        if !invited.contains(&email) {
            require_open_ones(ctx, &email)?;
            ctx.db_mut().insert(Invitation { meeting_id: meeting, email: email.clone() })?;
        }
        result.addresses.push(email);
    }
    Ok(result)
}

/// Turns the invitations to a user's verified address into places in their meetings, each with its entry in the audit:
/// `actor` is whose deed it is that they are taken up.
///
/// # Errors
/// A failure of the store.
pub fn accept(ctx: &mut MutationCtx, user: &Doc<User>, actor: &Actor) -> Result<()> {
    let Some(email) = claims::verified_address(user).filter(|_| user.is_active) else { return Ok(()) };
    let invitations = ctx.db().query(Invitation::by_email).eq(email).take(INVITATIONS_MAX)?;
    let ids: Vec<Id<Meeting>> = invitations.iter().map(|invitation| invitation.meeting_id).collect();
    let meetings = ctx.db().get_many(&ids)?;
    let count = invitations.len();
    for (invitation, meeting) in invitations.into_iter().zip(meetings) {
        if let Some(meeting) = meeting.filter(|meeting| !meeting.state.is_final()) {
            if seats::find(ctx, meeting.id(), user.id())?.is_none() {
                let participant = seats::add(ctx, meeting.id(), user.id(), Role::Participant)?;
                seats::record_added(ctx, actor, &meeting, participant.id(), Role::Participant)?;
            }
            prompts::expect_call(ctx, &meeting)?;
        }
        ctx.db_mut().delete(invitation.id())?;
    }
    if count > 0 {
        info!("{} takes part in {count} meetings he was invited to", user.id());
    }
    Ok(())
}

/// Takes the invitation of an address to a meeting back; says whether there was one.
///
/// # Errors
/// A failure of the store.
pub fn withdraw(ctx: &mut MutationCtx, meeting: Id<Meeting>, email: &EmailAddress) -> Result<bool> {
    match ctx.db().query(Invitation::by_meeting_email).eq(meeting).eq(email).unique()? {
        Some(invitation) => Ok(ctx.db_mut().delete(invitation.id())?),
        None => Ok(false),
    }
}

/// The active users who own one of these addresses.
///
/// # Errors
/// A failure of the store.
pub fn owners(ctx: &impl Read, emails: &[EmailAddress]) -> Result<Vec<Doc<User>>> {
    let mut users = ctx.db().query(User::by_email).any(emails).take(ACCOUNTS_MAX)?;
    users.retain(|user| user.is_active && user.email_verified);
    Ok(users)
}

/// More open invitations of one address than any quota allows; the quota is checked when they are made.
const INVITATIONS_MAX: usize = 20_000;

fn require_open_ones(ctx: &impl Read, email: &EmailAddress) -> Result<()> {
    let most = ctx.settings::<Quotas>().open_invitations_per_address;
    if ctx.db().query(Invitation::by_email).eq(email).count()? >= most as u64 {
        let message = format!("Too many open invitations of one address (max {most})");
        return Err(Error::failed_precondition(message));
    }
    Ok(())
}

/// Counts the addresses that a user invites on one day (UTC).
fn count(ctx: &mut MutationCtx, inviter: Id<User>, addresses: usize) -> Result<()> {
    let day = ctx.now().get().div_euclid(DAY_MS);
    let blank = InvitationCount { user_id: inviter, day, addresses: 0 };
    let row = ctx.db_mut().insert_unique(InvitationCount::by_user, blank)?.into_doc();
    let before = if row.day == day { row.addresses } else { 0 };
    let addresses = before.saturating_add(i64::try_from(addresses).unwrap_or(i64::MAX));
    let most = ctx.settings::<Quotas>().invitations_per_user_per_day;
    if addresses.unsigned_abs() > most as u64 {
        let message = format!("Too many invitations in one day (max {most})");
        return Err(Error::failed_precondition(message));
    }
    ctx.db_mut().patch_doc(row, |row| {
        row.day = day;
        row.addresses = addresses;
    })?;
    Ok(())
}
