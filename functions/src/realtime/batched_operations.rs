//! Presence updates at the rate at which clients send them; `meetings/presence` keeps the last one.

use std::time::Duration;

use convoke::prelude::*;
use convoke::{args, mutation, value};
use schema::{Meeting, MeetingState, Metadata, Participant, Presence, PresenceChange};

use crate::access::{self, Membership};
use crate::meetings::presence;

/// Time within which presence updates count as one batch.
const BATCH: Duration = Duration::from_secs(1);

/// Arguments of [`batch_update_presence`].
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "presence": "joined", "metadata": {"muted": true}, "lease": true}
/// ```
#[args]
pub struct BatchUpdatePresence {
    pub meeting_id: Id<Meeting>,
    pub presence: PresenceChange,
    /// Replaces the previous metadata; absent: it stays.
    pub metadata: Option<Metadata>,
    /// True: `joined` ends 60 s after the last call with `lease`, so the client should call every 20 s. Absent or
    /// false: `joined` lasts until another call.
    pub lease: Option<bool>,
}

/// The result of [`batch_update_presence`].
///
/// ```json
/// {"queued": true, "batchSize": 3}
/// ```
#[value]
pub struct PresenceQueued {
    /// Always true: the presence is stored before the response.
    pub queued: bool,
    /// Number of participants of the meeting, including the caller, whose presence was stored within the last second.
    pub batch_size: u64,
}

/// Updates the caller's presence in a meeting; the last update counts. A host who joins starts a scheduled meeting, and
/// any other participant waits in it. With `lease`, a client that disappears becomes `left` after 60 s.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
/// - `FAILED_PRECONDITION`: "Meeting is not currently active" (joining one that is over or called off), "Meeting is
///   full".
#[mutation(rights = access::participant(args.meeting_id))]
pub fn batch_update_presence(
    ctx: &mut MutationCtx,
    membership: Membership,
    args: BatchUpdatePresence,
) -> Result<PresenceQueued> {
    let participant = membership.participant.id();
    let has_lease = args.lease == Some(true);
    match args.presence {
        // A renewal writes nothing that live queries read.
        PresenceChange::Joined if has_lease && args.metadata.is_none() && is_there(&membership) => {}
        PresenceChange::Joined => drop(presence::join(ctx, membership, args.metadata)?),
        PresenceChange::Left => drop(presence::leave(ctx, membership, args.metadata)?),
    }
    match args.presence {
        PresenceChange::Joined if has_lease => presence::lease(ctx, participant)?,
        PresenceChange::Joined => presence::end_lease(ctx, participant)?,
        // The lease ended with the presence.
        PresenceChange::Left => {}
    }
    let recent = ctx.now() - BATCH;
    let written = ctx.db().query(Participant::by_meeting_presence_at).eq(args.meeting_id).range(recent..).count()?;
    let renewed = ctx.db().get(participant)?.is_some_and(|row| row.presence_at < recent);
    Ok(PresenceQueued { queued: true, batch_size: written + u64::from(renewed) })
}

/// Returns true if a call with `joined` and without metadata would change only the time.
fn is_there(membership: &Membership) -> bool {
    let is_open = matches!(membership.meeting.state, MeetingState::Scheduled | MeetingState::Active);
    is_open && membership.participant.presence == Presence::Joined
}
