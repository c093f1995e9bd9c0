//! Automatic generation of insights.

use std::time::Duration;

use convoke::prelude::*;
use schema::Meeting;

use super::follow_up;
use super::inputs::OfMeeting;
use crate::events::Event;

/// Delay after the end of a meeting, because the last part of a transcript arrives late.
const SETTLED: Duration = Duration::from_secs(30);

crate::listener!(hear);

/// Starts the follow-up of a concluded meeting.
fn hear(ctx: &mut MutationCtx, meeting: &Doc<Meeting>, event: Event) -> Result<()> {
    if event == Event::Concluded {
        ctx.start::<follow_up>(OfMeeting { meeting_id: meeting.id() })?.key(meeting.id()).after(SETTLED);
    }
    Ok(())
}
