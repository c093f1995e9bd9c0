//! Running the matcher by hand.

use convoke::prelude::*;
use convoke::{action, args, value};
use schema::{Actor, Score};

use super::pairing::{self, Effect};
use crate::access;

/// What [`run_matching_cycle`] takes.
#[args]
pub struct RunMatchingCycle {
    /// Two who score less are not matched; the settings' by default.
    pub min_score: Option<Score>,
    /// Says what it would do, and does nothing.
    #[default(false)]
    pub dry_run: bool,
}

/// What a run of the matcher came to.
///
/// ```json
/// {"waiting": 5, "matched": 2, "totalWeight": 1612000, "method": "exact", "durationMs": 3}
/// ```
#[value]
pub struct MatchingCycle {
    /// Entries that waited.
    pub waiting: i64,
    /// Matches that were made; of a dry run, that would have been.
    pub matched: i64,
    /// The sum over the chosen pairs of a million times the score and a thousand a minute of waiting.
    pub total_weight: i64,
    /// `exact`, `thinned` or `greedy`.
    pub method: String,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
}

/// Runs the matcher now.
///
/// # Errors
/// `FORBIDDEN`: anybody but a deploy key calls.
#[action(admin, rights = access::deploy_key)]
pub async fn run_matching_cycle(ctx: &ActionCtx, _: Actor, args: RunMatchingCycle) -> Result<MatchingCycle> {
    let effect = if args.dry_run { Effect::Dry } else { Effect::Real };
    let cycle = pairing::run(ctx, args.min_score.map(Score::get), effect).await?;
    Ok(MatchingCycle {
        waiting: cycle.waiting,
        matched: cycle.matched,
        total_weight: cycle.total_weight,
        method: cycle.method.name().to_owned(),
        duration_ms: i64::try_from(ctx.elapsed().as_millis()).unwrap_or(i64::MAX),
    })
}
