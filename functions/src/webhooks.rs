//! Events for the webhook endpoints of organizations.
//!
//! An event of a meeting belongs to the organization of its organizer. Without an organization, only the operator's
//! endpoints receive it. `meetings/webhooks` manages the endpoints.

use convoke::prelude::*;
use schema::{Meeting, User};

const MEETING_ENDED: &str = "meeting.ended";
const INSIGHTS_READY: &str = "insights.ready";
/// The events that endpoints may name.
pub(crate) const EVENTS: [&str; 2] = [MEETING_ENDED, INSIGHTS_READY];

/// A meeting has ended.
#[value(output, name = "MeetingEndedEvent")]
pub struct MeetingEnded {
    pub meeting_id: Id<Meeting>,
    pub title: String,
    pub started_at: Option<Millis>,
    pub ended_at: Option<Millis>,
}

/// Insights of a meeting were generated.
#[value(output, name = "InsightsReadyEvent")]
pub struct InsightsReady {
    pub meeting_id: Id<Meeting>,
    /// Number of readers with new insights.
    pub readers: u32,
}

/// Returns the owner of a user's endpoints: the user's organization, if there is one.
pub fn owner(user: &User) -> Option<String> {
    let organization = user.org_id.as_deref().filter(|id| !id.is_empty())?;
    // An issuer is a URL and has no space.
    Some(format!("{} {organization}", user.issuer))
}

/// Delivers the event `meeting.ended`.
///
/// # Errors
/// A failure of the store.
pub fn meeting_ended(ctx: &mut MutationCtx, meeting: &Doc<Meeting>) -> Result<()> {
    let event = MeetingEnded {
        meeting_id: meeting.id(),
        title: meeting.title.as_str().to_owned(),
        started_at: meeting.started_at,
        ended_at: meeting.ended_at,
    };
    deliver(ctx, meeting, MEETING_ENDED, &event)
}

/// Delivers the event `insights.ready`.
///
/// # Errors
/// A failure of the store.
pub fn insights_ready(ctx: &mut MutationCtx, meeting: Id<Meeting>, readers: usize) -> Result<()> {
    let Some(meeting) = ctx.db().get(meeting)? else { return Ok(()) };
    let readers = u32::try_from(readers).unwrap_or(u32::MAX);
    deliver(ctx, &meeting, INSIGHTS_READY, &InsightsReady { meeting_id: meeting.id(), readers })
}

fn deliver(ctx: &mut MutationCtx, meeting: &Meeting, name: &str, event: &impl serde::Serialize) -> Result<()> {
    let organizer = ctx.db().get(meeting.organizer_id)?;
    match organizer.as_deref().and_then(owner) {
        Some(owner) => ctx.deliver_to(&owner, name, event),
        None => ctx.deliver(name, event),
    }
}
