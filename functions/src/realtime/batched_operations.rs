//! Presence, as often as clients like to send it: the register of `meetings/presence` takes the last one received.

use std::time::Duration;

use convoke::prelude::*;
use convoke::{args, mutation, value};
use schema::{Meeting, Metadata, Participant, PresenceChange};

use crate::access;
use crate::meetings::presence;

/// Within which others count to the same batch.
const BATCH: Duration = Duration::from_secs(1);

/// What [`batch_update_presence`] takes.
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "presence": "joined", "metadata": {"muted": true}}
/// ```
#[args]
pub struct BatchUpdatePresence {
    pub meeting_id: Id<Meeting>,
    pub presence: PresenceChange,
    /// Replaces what was sent before; absent, that stays.
    pub metadata: Option<Metadata>,
}

/// What [`batch_update_presence`] returns.
///
/// ```json
/// {"queued": true, "batchSize": 3}
/// ```
#[value]
pub struct PresenceQueued {
    /// Always true: it is written when this is answered.
    pub queued: bool,
    /// Participants of the meeting whose presence was written within the last second, the caller included.
    pub batch_size: u64,
}

/// Updates the caller's presence in a meeting. The latest state wins, however many are sent. A host who is there starts
/// a scheduled meeting; anybody else waits in it.
///
/// # Errors
/// - `FORBIDDEN`: the caller has no place in the meeting.
/// - `FAILED_PRECONDITION`: "Meeting is not currently active" (joining one that is over or called off), "Meeting is
///   full".
#[mutation]
pub fn batch_update_presence(ctx: &mut MutationCtx, args: BatchUpdatePresence) -> Result<PresenceQueued> {
    let membership = access::participant(ctx, args.meeting_id)?;
    match args.presence {
        PresenceChange::Joined => presence::join(ctx, membership, args.metadata)?,
        PresenceChange::Left => presence::leave(ctx, membership, args.metadata)?,
    };
    let recent = ctx.now() - BATCH..;
    let batch_size = ctx.db().query(Participant::by_meeting_presence_at).eq(args.meeting_id).range(recent).count()?;
    Ok(PresenceQueued { queued: true, batch_size })
}
