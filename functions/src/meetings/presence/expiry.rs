//! The end of a presence whose lease was not renewed.

use std::time::Duration;

use convoke::args;
use convoke::prelude::*;
use schema::{Participant, Presence, User};

use super::moves;
use crate::access::Membership;

/// How long a presence with a lease lasts after the last renewal.
pub const LEASE: Duration = Duration::from_secs(60);
/// For a renewal that is on its way. Browsers let the timers of a hidden page run once a minute only.
const GRACE: Duration = Duration::from_secs(10);
/// A lease that ends this much later was not renewed because the server was down; it lasts once more.
const LATE: Duration = Duration::from_secs(10);

/// What `meetings/endPresence` takes.
#[args(name = "MeetingsPresenceEndPresence")]
pub struct EndPresence {
    pub participant_id: Id<Participant>,
    /// When the lease ends.
    pub until: Millis,
}

impl EndPresence {
    /// The end of a lease that is given or renewed at `now`.
    pub fn renewed(participant_id: Id<Participant>, now: Millis) -> Self {
        Self { participant_id, until: now + LEASE + GRACE }
    }

    /// The key of the job.
    pub fn key(&self) -> String {
        self.participant_id.to_string()
    }
}

/// The outcome of [`expire`].
pub enum Expiry {
    /// The participant is not there, and needs no lease.
    Left,
    /// The presence lasts once more.
    Lasts(EndPresence),
}

/// Ends a presence whose lease was not renewed. Leaves the lease to the caller.
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
