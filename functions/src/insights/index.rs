//! Generation of insights for all participants.

use convoke::prelude::*;
use convoke::{action, args, value};
use schema::{Insight, Meeting, MeetingState};

use super::generation;
use super::inputs::Demand;
use crate::access::{self, Membership};

/// Arguments of [`generate_insights`].
#[args]
pub struct GenerateInsights {
    pub meeting_id: Id<Meeting>,
    /// True to replace current insights too. Has no effect within a minute of the last time.
    #[default(false)]
    pub force_regenerate: bool,
}

/// The result of [`generate_insights`].
///
/// ```json
/// {"success": true, "insightsGenerated": 2, "participantInsights": ["insight_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "insight_01jgfks5r2a4n8w7k0q3d6m9vt"]}
/// ```
#[value(output)]
pub struct InsightsGenerated {
    /// Always true; a failure is an error.
    pub success: bool,
    /// Number of insights that this call created or replaced.
    pub insights_generated: i64,
    /// Ids of the insights of all participants, in the order in which they were added. Only its reader can read an
    /// insight.
    pub participant_insights: Vec<Id<Insight>>,
}

/// Generates the insights of all participants of a meeting from its transcript and notes. Insights of the same material
/// stay. Without transcript and notes, and before the meeting starts, none are generated.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting.
/// - `FAILED_PRECONDITION`: the meeting was cancelled.
/// - `UNAVAILABLE`: others, of this meeting or of as many as generate at once, have been at it for 25 s.
/// - `PROVIDER_ERROR`, `TIMEOUT`: a provider is configured without fallback, and failed.
#[action(tool, rate = "generation", rights = access::participant(args.meeting_id))]
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
