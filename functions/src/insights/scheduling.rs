//! When insights are made by themselves.

use std::time::Duration;

use convoke::prelude::*;
use schema::Meeting;

use super::after_meeting;
use super::inputs::OfMeeting;
use crate::events::Event;

/// How long after its end: the last words of a transcript come late.
const SETTLED: Duration = Duration::from_secs(30);

crate::listener!(hear);

/// Has the insights of a meeting made that is over now.
fn hear(ctx: &mut MutationCtx, meeting: &Doc<Meeting>, event: Event) -> Result<()> {
    if event == Event::Concluded {
        ctx.schedule::<after_meeting>(SETTLED, OfMeeting { meeting_id: meeting.id() })?;
    }
    Ok(())
}
