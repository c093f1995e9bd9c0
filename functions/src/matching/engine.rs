//! A manual run of the matcher.

use convoke::prelude::*;
use convoke::{action, args, value};
use schema::{Actor, Score};

use super::pairing::{self, Effect};
use crate::access;

/// Arguments of [`run_matching_cycle`].
#[args]
pub struct RunMatchingCycle {
    /// Lowest score of a match. Default: the setting.
    pub min_score: Option<Score>,
    /// True to report the result without storing it.
    #[default(false)]
    pub dry_run: bool,
}

/// The result of a run of the matcher.
///
/// ```json
/// {"waiting": 5, "matched": 2, "totalWeight": 1612000, "method": "exact", "durationMs": 3}
/// ```
#[value]
pub struct MatchingCycle {
    /// Number of waiting queue entries.
    pub waiting: i64,
    /// Number of created matches, or of possible matches in a dry run.
    pub matched: i64,
    /// Total weight of the chosen pairs: a million times the score, plus a thousand per minute of waiting.
    pub total_weight: i64,
    /// `exact`, `thinned` or `greedy`.
    pub method: String,
    /// Duration in milliseconds.
    pub duration_ms: i64,
}

/// Runs the matcher now.
///
/// # Errors
/// `FORBIDDEN`: the caller is not a deploy key.
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
