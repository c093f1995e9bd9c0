//! When insights are made by themselves.

use std::time::Duration;

use convoke::prelude::*;
use schema::Meeting;

use super::{OfMeeting, after_meeting};

/// How long after its end: the last words of a transcript come late.
const SETTLED: Duration = Duration::from_secs(30);

/// Has the insights of a meeting made that is over now.
///
/// # Errors
/// A failure of the store.
pub fn expect(ctx: &mut MutationCtx, meeting: Id<Meeting>) -> Result<()> {
    ctx.schedule::<after_meeting>(SETTLED, OfMeeting { meeting_id: meeting })?;
    Ok(())
}
