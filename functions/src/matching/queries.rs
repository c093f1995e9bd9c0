//! Queries of the caller's matches.

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::{Match, MatchFeatures, MatchStatus, Meeting, Outcome, Score};

use super::standing::{self, Matched};
use crate::profiles::queries::PublicProfile;

/// The id of a match: arguments of several functions.
#[args]
pub struct OneMatch {
    /// A match of the caller.
    pub match_id: Id<Match>,
}

/// A match from the caller's point of view.
#[value(output)]
pub struct ShownMatch {
    pub match_id: Id<Match>,
    /// The other user.
    pub partner: PublicProfile,
    /// Score of the match.
    pub score: Score,
    pub features: MatchFeatures,
    /// Explanations, in sentences.
    pub explanation: Vec<String>,
    /// Start of the time in which both are available.
    pub window_from: Millis,
    /// End of the time in which both are available.
    pub window_to: Millis,
    pub status: MatchStatus,
    /// Outcome of the caller.
    pub outcome: Outcome,
    /// Outcome of the other user.
    pub partner_outcome: Outcome,
    /// Meeting of the match, if it was created.
    pub meeting_id: Option<Id<Meeting>>,
}

/// Returns a match of the caller with the other user's profile.
///
/// # Errors
/// `NOT_FOUND`: the caller has no such match.
#[query(rights = standing::matched(args.match_id))]
pub fn get_match(ctx: &QueryCtx, matched: Matched, _: OneMatch) -> Result<ShownMatch> {
    let Matched { row, mine, theirs, .. } = matched;
    let partner = ctx.db().get(theirs.user_id)?.ok_or_else(|| Error::not_found("Match not found"))?;
    let status = standing::status_now(&row, ctx.now());
    let id = row.id();
    let row = row.into_inner();
    Ok(ShownMatch {
        match_id: id,
        partner: PublicProfile::of(ctx, &partner)?,
        score: row.score,
        features: row.features,
        explanation: row.explanation,
        window_from: row.window_from,
        window_to: row.window_to,
        status,
        outcome: mine.outcome,
        partner_outcome: theirs.outcome,
        meeting_id: row.meeting_id,
    })
}
