//! Leases of presences: a presence with a lease ends unless its client renews it.

use convoke::prelude::*;
use schema::{Metadata, Participant};

use super::expiry::EndPresence;
use super::moves;
use crate::access::Membership;
use crate::meetings::end_presence;

/// Gives a presence a lease, or renews it. It writes one row that no query reads, so live queries do not run for it.
///
/// # Errors
/// A failure of the store.
pub fn lease(ctx: &mut MutationCtx, participant: Id<Participant>) -> Result<()> {
    let end = EndPresence::renewed(participant, ctx.now());
    ctx.schedule_debounced::<end_presence>(&end.key(), end.until, end)?;
    Ok(())
}

/// Removes the lease of a presence, which then lasts until a call changes it.
///
/// # Errors
/// A failure of the store.
pub fn end_lease(ctx: &mut MutationCtx, participant: Id<Participant>) -> Result<()> {
    ctx.cancel_key::<end_presence>(&participant.to_string())?;
    Ok(())
}

/// Makes the caller leave and closes the caller's sessions, in any state of the meeting. A participant who has left
/// already only gets the metadata. Ends a lease. Returns the updated membership.
///
/// # Errors
/// A failure of the store.
pub fn leave(ctx: &mut MutationCtx, membership: Membership, metadata: Option<Metadata>) -> Result<Membership> {
    end_lease(ctx, membership.participant.id())?;
    moves::go(ctx, membership, metadata)
}
