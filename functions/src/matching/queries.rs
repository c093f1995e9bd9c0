//! Reading one's matches.

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::{Match, MatchFeatures, MatchStatus, Meeting, Outcome, Score};

use super::standing::{self, Matched};
use crate::profiles::queries::PublicProfile;

/// A match, by its id: what several functions take.
#[args]
pub struct OneMatch {
    /// One of the caller's own.
    pub match_id: Id<Match>,
}

/// A match as one of its two sees it.
#[value(output)]
pub struct ShownMatch {
    pub match_id: Id<Match>,
    /// The other one.
    pub partner: PublicProfile,
    /// How well the two fit, all in all.
    pub score: Score,
    pub features: MatchFeatures,
    /// Why, in sentences.
    pub explanation: Vec<String>,
    /// Both are free from.
    pub window_from: Millis,
    /// Both are free until.
    pub window_to: Millis,
    pub status: MatchStatus,
    /// What the caller says.
    pub outcome: Outcome,
    /// What the other says.
    pub partner_outcome: Outcome,
    /// The meeting that was made of it.
    pub meeting_id: Option<Id<Meeting>>,
}

/// One of the caller's matches, with who the other is.
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
