//! Automatic generation of prompts.

use std::time::Duration;

use convoke::prelude::*;
use schema::{Meeting, MeetingState};

use super::generator::LULL_MS;
use super::inputs::OfMeeting;
use super::{LULL_RETRY, RETRY, before_meeting, watch_lull};
use crate::events::Event;

/// Time without changes of the participants before prompts are generated.
const SETTLED: Duration = Duration::from_secs(5);
/// Time of silence before prompts are generated.
const LULL: Duration = Duration::from_millis(LULL_MS.unsigned_abs());

crate::listener!(hear);

fn hear(ctx: &mut MutationCtx, meeting: &Doc<Meeting>, event: Event) -> Result<()> {
    match event {
        Event::PeopleCame | Event::ParticipantRemoved(_) => expect_call(ctx, meeting),
        Event::Spoken => expect_lull(ctx, meeting.id()),
        Event::Concluded => Ok(()),
    }
}

/// Schedules pre-call prompts for the time when the participants of a scheduled meeting no longer change.
fn expect_call(ctx: &mut MutationCtx, meeting: &Doc<Meeting>) -> Result<()> {
    if meeting.state == MeetingState::Scheduled {
        let args = OfMeeting { meeting_id: meeting.id() };
        ctx.schedule_debounced::<before_meeting>(&meeting.id().to_string(), SETTLED, args)?.retry(RETRY);
    }
    Ok(())
}

/// Schedules in-call prompts after half a minute of silence.
fn expect_lull(ctx: &mut MutationCtx, meeting: Id<Meeting>) -> Result<()> {
    let args = OfMeeting { meeting_id: meeting };
    ctx.schedule_debounced::<watch_lull>(&meeting.to_string(), LULL, args)?.retry(LULL_RETRY);
    Ok(())
}
