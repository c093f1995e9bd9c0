//! Invitations by e-mail address: users with the address become participants immediately, others at their first login
//! with it.

use std::collections::{BTreeMap, HashSet, VecDeque};

use convoke::prelude::*;
use schema::limits::Quotas;
use schema::{Actor, Details, EmailAddress, Invitation, InvitationCount, Meeting, Participant, Role, User};

use super::participants;
use crate::events::{self, Event};
use crate::{access, audit};

/// Most accounts with one verified address, of different issuers.
const ACCOUNTS_MAX: usize = 5_000;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The result of an invitation of several addresses.
#[derive(Debug, Default)]
pub struct Invited {
    /// All participants with these addresses, including earlier ones.
    pub participants: Vec<Id<Participant>>,
    /// New participants among them.
    pub added: Vec<Id<Participant>>,
    /// Addresses with an open invitation now, new or not.
    pub addresses: Vec<EmailAddress>,
}

/// Invites addresses to a meeting for `inviter`. All active users with a verified address become participants; an
/// address without a user gets an invitation. The inviter's own address and duplicates are skipped. The caller writes
/// the audit entry.
///
/// # Errors
/// `FAILED_PRECONDITION`: the limit of addresses per day, of open invitations per inviter and address, or of one
/// meeting is exceeded.
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
    participants::require_capacity(ctx, meeting, ids.len() - there.len() + unowned.len() - invited.len())?;

    let mut result = Invited::default();
    for id in ids {
        let participant = participants::add(ctx, meeting, id, Role::Participant)?.id();
        result.participants.push(participant);
        if !there.contains(&id) {
            result.added.push(participant);
        }
    }
    for email in unowned {
        if !invited.contains(&email) {
            make_room(ctx, &email, inviter)?;
            let inviter_id = Some(inviter.id());
            ctx.db_mut().insert(Invitation { meeting_id: meeting, email: email.clone(), inviter_id })?;
        }
        result.addresses.push(email);
    }
    Ok(result)
}

/// Converts the invitations of a user's verified address to participants, each with an audit entry of `actor`.
///
/// # Errors
/// A failure of the store.
pub fn accept(ctx: &mut MutationCtx, user: &Doc<User>, actor: &Actor) -> Result<()> {
    let Some(email) = user.verified_address().filter(|_| user.is_active) else { return Ok(()) };
    let invitations = ctx.db().query(Invitation::by_email).eq(email).take(INVITATIONS_MAX)?;
    let ids: Vec<Id<Meeting>> = invitations.iter().map(|invitation| invitation.meeting_id).collect();
    let meetings = ctx.db().get_many(&ids)?;
    let count = invitations.len();
    for (invitation, meeting) in invitations.into_iter().zip(meetings) {
        if let Some(meeting) = meeting.filter(|meeting| !meeting.state.is_final()) {
            if participants::find(ctx, meeting.id(), user.id())?.is_none() {
                let participant = participants::add(ctx, meeting.id(), user.id(), Role::Participant)?;
                participants::record_added(ctx, actor, &meeting, participant.id(), Role::Participant)?;
            }
            events::emit(ctx, &meeting, Event::PeopleCame)?;
        }
        ctx.db_mut().delete(invitation.id())?;
    }
    if count > 0 {
        info!("{} takes part in {count} meetings they were invited to", user.id());
    }
    Ok(())
}

/// Withdraws the invitation of an address to a meeting. Returns true if there was one.
///
/// # Errors
/// A failure of the store.
pub fn withdraw(ctx: &mut MutationCtx, meeting: Id<Meeting>, email: &EmailAddress) -> Result<bool> {
    match ctx.db().query(Invitation::by_meeting_email).eq(meeting).eq(email).unique()? {
        Some(invitation) => Ok(ctx.db_mut().delete(invitation.id())?),
        None => Ok(false),
    }
}

/// Returns the active users with these addresses.
///
/// # Errors
/// A failure of the store.
pub fn owners(ctx: &impl Read, emails: &[EmailAddress]) -> Result<Vec<Doc<User>>> {
    let mut users = ctx.db().query(User::by_email).any(emails).take(ACCOUNTS_MAX)?;
    users.retain(|user| user.is_active && user.email_verified);
    Ok(users)
}

/// More open invitations of one address than any quota allows; the quota is checked at their creation.
const INVITATIONS_MAX: usize = 20_000;

/// Makes room for another invitation of an address by `inviter`.
///
/// If all invitations of the address exceed the limit, the inviter with the most of them loses the oldest. Rejecting
/// the new one would let a single inviter block all others.
fn make_room(ctx: &mut MutationCtx, email: &EmailAddress, inviter: &Doc<User>) -> Result<()> {
    let quotas = ctx.settings::<Quotas>();
    let (of_all, of_one) = (quotas.open_invitations_per_address, quotas.open_invitations_per_inviter_and_address);
    let own = ctx.db().query(Invitation::by_email_inviter).eq(email).eq(inviter.id()).count()?;
    if own >= of_one as u64 {
        let message = format!("Too many open invitations of one address (max {of_one} by one user)");
        return Err(Error::failed_precondition(message));
    }
    if ctx.db().query(Invitation::by_email).eq(email).count()? < of_all as u64 {
        return Ok(());
    }
    let open = ctx.db().query(Invitation::by_email).eq(email).take(INVITATIONS_MAX)?;
    let inviters = open.iter().map(|row| row.inviter_id);
    let falling: Vec<&Doc<Invitation>> =
        displaced(inviters, inviter.id(), of_all).into_iter().map(|at| &open[at]).collect();
    if open.len() - falling.len() >= of_all {
        let message = format!("Too many open invitations of one address (max {of_all})");
        return Err(Error::failed_precondition(message));
    }
    let actor = access::actor(ctx, Some(inviter));
    for row in falling {
        ctx.db_mut().delete(row.id())?;
        if let Some(meeting) = ctx.db().get(row.meeting_id)? {
            audit::meeting(ctx, &actor, "invitation.displaced", &meeting, Details::new())?;
        }
    }
    Ok(())
}

/// Returns the positions of the invitations to delete so that, with one more by `inviter`, there are at most `most`.
/// Each time, the inviter with the most invitations loses the oldest one; of equals, the oldest one of all. `inviters`
/// are the inviters of the open invitations by age; all unknown inviters count as one.
fn displaced(inviters: impl IntoIterator<Item = Option<Id<User>>>, inviter: Id<User>, most: usize) -> Vec<usize> {
    let mut by_inviter: BTreeMap<Option<Id<User>>, VecDeque<usize>> = BTreeMap::new();
    let mut open: usize = 0;
    for (place, inviter) in inviters.into_iter().enumerate() {
        by_inviter.entry(inviter).or_default().push_back(place);
        open += 1;
    }
    let mut falling = Vec::new();
    while open >= most.max(1) {
        let oldest = by_inviter
            .iter_mut()
            .filter(|(_, places)| !places.is_empty())
            .max_by_key(|(of, places)| {
                // The new invitation counts too.
                let count = places.len() + usize::from(**of == Some(inviter));
                (count, std::cmp::Reverse(places.front().copied()))
            })
            .and_then(|(_, places)| places.pop_front());
        let Some(oldest) = oldest else { break };
        falling.push(oldest);
        open -= 1;
    }
    falling
}

/// Counts the addresses that a user invites per day (UTC).
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

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    /// Returns the positions to delete for one more invitation by 9, of open ones by these inviters; 0 is unknown.
    fn falling(inviters: &[u128], most: usize) -> Vec<usize> {
        let id = |bits: u128| (bits > 0).then(|| Id::from_bits(bits));
        displaced(inviters.iter().map(|bits| id(*bits)), Id::from_bits(9), most)
    }

    #[test]
    fn oldest_invitation_of_the_most_frequent_inviter_is_dropped() {
        assert_eq!(falling(&[1, 2, 2, 3], 5), NONE, "there is room");
        assert_eq!(falling(&[1, 2, 2, 3], 4), [1]);
        assert_eq!(falling(&[1, 2, 9, 9, 2], 5), [2], "the new one counts as its inviter's");
        assert_eq!(falling(&[3, 1, 2], 3), [0], "of equals the oldest of all");
        assert_eq!(falling(&[1, 0, 0], 3), [1], "unknown inviters count as one");
        assert_eq!(falling(&[1, 1, 1, 2, 2, 2], 3), [0, 3, 1, 4], "as many as a lower bound takes");
        assert_eq!(falling(&[], 0), NONE);
    }
}
