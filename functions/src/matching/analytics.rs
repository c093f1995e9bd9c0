//! What came of the caller's matches: saying it, and looking back.

use convoke::prelude::*;
use convoke::{args, mutation, query, value};
use schema::{Comments, Limit, Match, MatchFeatures, MatchOutcome, Offset, Outcome, Rating, User};

use super::standing::{self, Matched};
use crate::{access, audit};

/// What [`get_match_history`] takes.
#[args]
pub struct GetMatchHistory {
    #[default(Limit::default())]
    pub limit: Limit<20, 1000>,
    /// How many of the newest are passed over.
    #[default(Offset::default())]
    pub offset: Offset,
}

/// A match that the caller had.
///
/// ```json
/// {"_id": "outcome_01jgfjs5r2a4n8w7k0q3d6m9vt", "matchId": "match_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "createdAt": 1767225600000,
///  "features": {"interestOverlap": 1, "experienceGap": 0.5, "industryMatch": 0.5, "timezoneCompatibility": 1,
///   "vectorSimilarity": 0.4, "orgConstraintMatch": 1, "languageOverlap": 0.5, "roleComplementarity": 0.7},
///  "outcome": "accepted", "feedback": {"rating": 5}}
/// ```
#[value(output)]
pub struct HistoryEntry {
    #[value(rename = "_id")]
    pub id: Id<MatchOutcome>,
    pub match_id: Id<Match>,
    pub created_at: Millis,
    pub features: MatchFeatures,
    pub outcome: Outcome,
    pub feedback: Option<MatchFeedback>,
}

/// What somebody says about a match.
///
/// ```json
/// {"rating": 5, "comments": "We talked for hours."}
/// ```
#[value]
pub struct MatchFeedback {
    /// Stars.
    pub rating: Rating,
    pub comments: Option<Comments>,
}

/// The caller's matches, newest first.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls.
#[query(rights = access::user)]
pub fn get_match_history(ctx: &QueryCtx, user: Doc<User>, args: GetMatchHistory) -> Result<Vec<HistoryEntry>> {
    let offset = args.offset.rows();
    let mut outcomes = outcomes(ctx, user.id(), offset + args.limit.get())?;
    outcomes.drain(..offset.min(outcomes.len()));
    let ids: Vec<Id<Match>> = outcomes.iter().map(|outcome| outcome.match_id).collect();
    let matches = ctx.db().get_many(&ids)?;
    Ok(outcomes.into_iter().zip(matches).filter_map(|(outcome, row)| Some(entry(outcome, &*row?))).collect())
}

fn entry(outcome: Doc<MatchOutcome>, row: &Match) -> HistoryEntry {
    let (id, created_at) = (outcome.id(), outcome.creation_time());
    let outcome = outcome.into_inner();
    HistoryEntry {
        id,
        match_id: outcome.match_id,
        created_at,
        features: row.features.clone(),
        outcome: outcome.outcome,
        feedback: outcome.rating.map(|rating| MatchFeedback { rating, comments: outcome.comments }),
    }
}

/// The newest outcomes of a user.
fn outcomes(ctx: &impl Read, user: Id<User>, rows_max: usize) -> Result<Vec<Doc<MatchOutcome>>> {
    Ok(ctx.db().query(MatchOutcome::by_user).eq(user).order(Order::Desc).take(rows_max)?)
}

/// What [`submit_match_feedback`] takes.
#[args]
pub struct SubmitMatchFeedback {
    /// One of the caller's own.
    pub match_id: Id<Match>,
    pub outcome: Outcome,
    /// What was said before stays without it.
    pub feedback: Option<MatchFeedback>,
}

/// Records whether the caller accepts, declines or completed a match, and how they rate it.
///
/// # Errors
/// - `NOT_FOUND`: the caller has no such match.
/// - `FAILED_PRECONDITION`: a completed outcome is final; a declined one cannot be completed; outcomes change only
///   until the match's time has passed; a match cannot be taken up again while one of the two has another open one.
#[mutation(rights = standing::matched(args.match_id))]
pub fn submit_match_feedback(ctx: &mut MutationCtx, matched: Matched, args: SubmitMatchFeedback) -> Result<()> {
    let Matched { user, row, mine, theirs } = matched;
    let now = ctx.now();
    require_move(mine.outcome, args.outcome, row.window_to, now)?;
    let status = standing::status([args.outcome, theirs.outcome], row.window_to, now);
    let opens = status == schema::MatchStatus::Proposed && !standing::is_open(&row, now);
    if opens {
        for side in [row.user_a, row.user_b] {
            if standing::open_match(ctx.db(), side, Some(row.id()), now)?.is_some() {
                return Err(Error::failed_precondition("One of the two has another open match"));
            }
        }
    }
    ctx.db_mut().patch_doc(mine, |mine| {
        mine.declined_at = match args.outcome {
            Outcome::Declined => Some(mine.declined_at.unwrap_or(now)),
            Outcome::Accepted | Outcome::Completed => None,
        };
        mine.outcome = args.outcome;
        if let Some(feedback) = args.feedback {
            mine.rating = Some(feedback.rating);
            mine.comments = feedback.comments.filter(|text| !text.as_str().is_empty());
        }
        mine.updated_at = now;
    })?;
    ctx.db_mut().patch_doc(row, |row| row.status = status)?;
    audit::by_key(ctx, &user)
}

fn require_move(from: Outcome, to: Outcome, window_to: Millis, now: Millis) -> Result<()> {
    match (from, to) {
        (Outcome::Accepted, Outcome::Accepted | Outcome::Completed)
        | (Outcome::Declined, Outcome::Declined)
        | (Outcome::Completed, Outcome::Completed) => Ok(()),
        (Outcome::Accepted, Outcome::Declined) | (Outcome::Declined, Outcome::Accepted) if now < window_to => Ok(()),
        (Outcome::Accepted, Outcome::Declined) | (Outcome::Declined, Outcome::Accepted) => {
            Err(Error::failed_precondition("The time of the match has passed"))
        }
        (Outcome::Declined, Outcome::Completed) => {
            Err(Error::failed_precondition("A declined match cannot be completed"))
        }
        (Outcome::Completed, Outcome::Accepted | Outcome::Declined) => {
            Err(Error::failed_precondition("A completed match cannot be changed"))
        }
    }
}

/// Statistics of the caller's matches.
///
/// ```json
/// {"totalMatches": 4, "accepted": 1, "declined": 1, "completed": 2, "successRate": 0.5, "averageRating": 4.5,
///  "topFeatures": [{"feature": "interestOverlap", "average": 0.9}]}
/// ```
#[value(output)]
pub struct MatchingStats {
    /// All that they were matched in.
    pub total_matches: i64,
    /// By what the caller says of them now.
    pub accepted: i64,
    /// Those that the caller declined.
    pub declined: i64,
    /// Those that took place, as the caller says.
    pub completed: i64,
    /// Completed ones of all; 0 without any.
    pub success_rate: f64,
    /// Over the caller's ratings; absent without one.
    pub average_rating: Option<f64>,
    /// The three features that are highest on average over the matches that they did not decline, highest first.
    pub top_features: Vec<AverageFeature>,
}

/// A feature and its mean.
#[value(output)]
pub struct AverageFeature {
    /// Its name as in a match's features.
    pub feature: String,
    /// 0 … 1, over the caller's matches.
    pub average: f64,
}

/// Matches of one user that are looked at, the newest.
const MATCHES_MAX: usize = 10_000;
/// Features that are named.
const FEATURES_MAX: usize = 3;

/// How the caller's matches went.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls.
#[query(rights = access::user)]
pub fn get_matching_stats(ctx: &QueryCtx, user: Doc<User>) -> Result<MatchingStats> {
    let outcomes = outcomes(ctx, user.id(), MATCHES_MAX)?;
    let count = |outcome| outcomes.iter().filter(|row| row.outcome == outcome).count();
    let (accepted, declined) = (count(Outcome::Accepted), count(Outcome::Declined));
    let completed = count(Outcome::Completed);
    let ratings: Vec<f64> = outcomes.iter().filter_map(|row| row.rating).map(|rating| rating.get() as f64).collect();
    let kept = outcomes.iter().filter(|row| row.outcome != Outcome::Declined);
    let kept: Vec<Id<Match>> = kept.map(|row| row.match_id).collect();
    let matches: Vec<Doc<Match>> = ctx.db().get_many(&kept)?.into_iter().flatten().collect();
    Ok(MatchingStats {
        total_matches: number(outcomes.len()),
        accepted: number(accepted),
        declined: number(declined),
        completed: number(completed),
        success_rate: if outcomes.is_empty() { 0.0 } else { completed as f64 / outcomes.len() as f64 },
        average_rating: mean(&ratings),
        top_features: top(&matches),
    })
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn top(matches: &[Doc<Match>]) -> Vec<AverageFeature> {
    let all: Vec<[(&'static str, f64); 8]> = matches.iter().map(|row| named(&row.features)).collect();
    let Some(first) = all.first() else { return Vec::new() };
    let average = |at: usize| all.iter().map(|features| features[at].1).sum::<f64>() / all.len() as f64;
    let mut averages: Vec<AverageFeature> = first
        .iter()
        .enumerate()
        .map(|(at, (name, _))| AverageFeature { feature: (*name).to_owned(), average: average(at) })
        .collect();
    // A stable order: of equals the one that stands first among the features.
    averages.sort_by(|a, b| b.average.total_cmp(&a.average));
    averages.truncate(FEATURES_MAX);
    averages
}

fn named(features: &MatchFeatures) -> [(&'static str, f64); 8] {
    super::score::Features {
        interest_overlap: features.interest_overlap.get(),
        experience_gap: features.experience_gap.get(),
        industry_match: features.industry_match.get(),
        timezone_compatibility: features.timezone_compatibility.get(),
        vector_similarity: features.vector_similarity.get(),
        org_constraint_match: features.org_constraint_match.get(),
        language_overlap: features.language_overlap.get(),
        role_complementarity: features.role_complementarity.get(),
    }
    .named()
}
