//! When prompts are made by themselves.

use std::time::Duration;

use convoke::prelude::*;
use schema::{Meeting, MeetingState};

use super::generator::LULL_MS;
use super::inputs::OfMeeting;
use super::{before_meeting, watch_lull};
use crate::events::Event;

/// How long a meeting's people must stay as they are before prompts are made for them.
const SETTLED: Duration = Duration::from_secs(5);
/// How long nobody must have said anything.
const LULL: Duration = Duration::from_millis(LULL_MS.unsigned_abs());

crate::listener!(hear);

fn hear(ctx: &mut MutationCtx, meeting: &Doc<Meeting>, event: Event) -> Result<()> {
    match event {
        Event::PeopleCame | Event::ParticipantRemoved(_) => expect_call(ctx, meeting),
        Event::Spoken => expect_lull(ctx, meeting.id()),
        Event::Concluded => Ok(()),
    }
}

/// Has pre-call prompts made once the people of a scheduled meeting stay as they are.
fn expect_call(ctx: &mut MutationCtx, meeting: &Doc<Meeting>) -> Result<()> {
    if meeting.state == MeetingState::Scheduled {
        let args = OfMeeting { meeting_id: meeting.id() };
        ctx.schedule_debounced::<before_meeting>(&meeting.id().to_string(), SETTLED, args)?;
    }
    Ok(())
}

/// Has in-call prompts made once nobody has said anything for half a minute.
fn expect_lull(ctx: &mut MutationCtx, meeting: Id<Meeting>) -> Result<()> {
    let args = OfMeeting { meeting_id: meeting };
    ctx.schedule_debounced::<watch_lull>(&meeting.to_string(), LULL, args)?;
    Ok(())
}
