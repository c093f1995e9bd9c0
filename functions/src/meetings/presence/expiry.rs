//! The end of a presence whose lease was not renewed.

use std::time::Duration;

use convoke::args;
use convoke::prelude::*;
use schema::{Participant, Presence, User};

use super::moves;
use crate::access::Membership;

/// Time from the last renewal to the end of a presence with a lease.
pub const LEASE: Duration = Duration::from_secs(60);
/// For a renewal in progress. Browsers run the timers of a hidden page only once per minute.
const GRACE: Duration = Duration::from_secs(10);
/// A lease that ends this much later was not renewed because the server was down; it lasts once more.
const LATE: Duration = Duration::from_secs(10);

/// Arguments of `meetings/endPresence`.
#[args(name = "MeetingsPresenceEndPresence")]
pub struct EndPresence {
    pub participant_id: Id<Participant>,
    /// End of the lease.
    pub until: Millis,
}

impl EndPresence {
    /// Returns the end of a lease that is given or renewed at `now`.
    pub fn renewed(participant_id: Id<Participant>, now: Millis) -> Self {
        Self { participant_id, until: now + LEASE + GRACE }
    }

    /// Returns the key of the job.
    pub fn key(&self) -> String {
        self.participant_id.to_string()
    }
}

/// The outcome of [`expire`].
pub enum Expiry {
    /// The participant is not present and needs no lease.
    Left,
    /// The presence lasts for another period.
    Lasts(EndPresence),
}

/// Ends a presence whose lease was not renewed. The caller handles the lease.
///
/// # Errors
/// A failure of the store.
pub fn expire(ctx: &mut MutationCtx, args: &EndPresence) -> Result<Expiry> {
    let Some(participant) = ctx.db().get(args.participant_id)?.filter(|row| row.presence == Presence::Joined) else {
        return Ok(Expiry::Left);
    };
    if ctx.now() > args.until + LATE {
        return Ok(Expiry::Lasts(EndPresence::renewed(args.participant_id, ctx.now())));
    }
    let (user, meeting) = (ctx.db().get::<User>(participant.user_id)?, ctx.db().get(participant.meeting_id)?);
    if let Some((user, meeting)) = user.zip(meeting) {
        moves::go(ctx, Membership { user, meeting, participant }, None)?;
    }
    Ok(Expiry::Left)
}
