//! Making insights, for everybody in a meeting.

use convoke::prelude::*;
use convoke::{action, args, value};
use schema::{Insight, Meeting, MeetingState};

use super::generation;
use super::inputs::Demand;
use crate::access::{self, Membership};

/// What [`generate_insights`] takes.
#[args]
pub struct GenerateInsights {
    pub meeting_id: Id<Meeting>,
    /// Makes those anew that are up to date. Within a minute of the last time it changes nothing.
    #[default(false)]
    pub force_regenerate: bool,
}

/// What [`generate_insights`] returns.
///
/// ```json
/// {"success": true, "insightsGenerated": 2, "participantInsights": ["insight_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "insight_01jgfks5r2a4n8w7k0q3d6m9vt"]}
/// ```
#[value(output)]
pub struct InsightsGenerated {
    /// Always true: what cannot be done is an error.
    pub success: bool,
    /// How many were made, or made again, by this call.
    pub insights_generated: i64,
    /// The insights of all, in the order in which they were added to the meeting. Each is read by its own reader only.
    pub participant_insights: Vec<Id<Insight>>,
}

/// Makes the insights of everybody in a meeting from its transcript and notes. Those that were made from the same stay
/// as they are. Without a word said or written, and before the meeting begins, nothing is made.
///
/// # Errors
/// - `FORBIDDEN`: the caller has no place in the meeting.
/// - `FAILED_PRECONDITION`: the meeting was cancelled.
/// - `UNAVAILABLE`: others, of this meeting or of as many as generate at once, have been at it for 25 s.
/// - `PROVIDER_ERROR`, `TIMEOUT`: a provider is configured without fallback, and failed.
#[action(rate = "generation", rights = access::participant(args.meeting_id))]
pub async fn generate_insights(
    ctx: &ActionCtx,
    membership: Membership,
    args: GenerateInsights,
) -> Result<InsightsGenerated> {
    if membership.meeting.state == MeetingState::Cancelled {
        return Err(Error::failed_precondition("Cannot generate insights for a cancelled meeting"));
    }
    let demand = if args.force_regenerate { Demand::Anew } else { Demand::Current };
    let made = generation::generate(ctx, args.meeting_id, demand).await?;
    Ok(InsightsGenerated { success: true, insights_generated: made.generated, participant_insights: made.ids })
}
