//! A run of the matcher: chooses among waiting users and writes the pairs that are still valid.
//!
//! The choice uses one snapshot outside of a transaction. The write checks each pair again, so that two concurrent runs
//! create no duplicate match.

use std::collections::HashMap;
use std::time::Duration;

use convoke::prelude::*;
use convoke::{args, mutation, value};
use schema::{Match, MatchFeatures, MatchOutcome, MatchStatus, Outcome, QueueEntry, QueueStatus, Score, User};

use super::assignment::{Edge, Limits, Method, Node, assign};
use super::candidate::{Person, candidates};
use super::conditions::{Judged, Rules, Side, Standing, edge_weight, judge};
use super::explain::explain;
use super::score::Features;
use super::settings::Matching;
use super::waiting::{self, Applicant, Applicants};
use super::{queue, standing};

/// Pairs per transaction, which takes a few milliseconds.
const PAIRS_PER_WRITE: usize = 50;

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Number of waiting entries.
    pub waiting: i64,
    /// Number of created matches, or of possible matches in a dry run.
    pub matched: i64,
    /// Total weight of the chosen pairs.
    pub total_weight: i64,
    /// Method of the choice.
    pub method: Method,
}

/// The effect of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Creates the matches.
    Real,
    /// Reports the result without writing.
    Dry,
}

/// Runs the matcher once. Pairs with a score below `score_min` (default: the setting) are not matched.
///
/// # Errors
/// A failure of the store.
pub async fn run(ctx: &ActionCtx, score_min: Option<f64>, effect: Effect) -> Result<Cycle> {
    let applicants = ctx.run::<waiting::applicants>(NoArgs {}).await?;
    let waiting = applicants.waiting;
    let settings = ctx.settings::<Matching>();
    let rules = Rules { score_min: score_min.unwrap_or(settings.rules.score_min), ..settings.rules };
    let (limits, now) = (settings.limits, ctx.now());
    let chosen = ctx.spawn_blocking(move || choose(&applicants, now, &rules, &limits)).await;
    let Chosen { pairs, total_weight, method } = chosen.map_err(Error::internal)?;
    let mut matched = 0;
    match effect {
        Effect::Dry => matched = i64::try_from(pairs.len()).unwrap_or(i64::MAX),
        Effect::Real => {
            for pairs in pairs.chunks(PAIRS_PER_WRITE) {
                matched += ctx.run::<make_matches>(MakeMatches { pairs: pairs.to_vec() }).await?;
            }
        }
    }
    info!("{waiting} waiting, {matched} matched ({}, weight {total_weight})", method.name());
    Ok(Cycle { waiting, matched, total_weight, method })
}

/// The chosen pairs of a run.
pub struct Chosen {
    /// Longest-waiting first.
    pub pairs: Vec<Pair>,
    pub total_weight: i64,
    pub method: Method,
}

/// Two matched entries.
#[value]
pub struct Pair {
    pub one: Id<QueueEntry>,
    pub other: Id<QueueEntry>,
    pub score: Score,
    pub features: MatchFeatures,
    pub explanation: Vec<String>,
}

/// Chooses among all pairs. Its time is quadratic in the number of waiting users, so it must run outside of
/// transactions.
pub fn choose(applicants: &Applicants, now: Millis, rules: &Rules, limits: &Limits) -> Chosen {
    let all = &applicants.applicants;
    let people: Vec<_> = all.iter().map(as_person).collect();
    let candidates = candidates(&people);
    let declines: HashMap<(Id<User>, Id<User>), i64> =
        applicants.declines.iter().map(|one| ((one.a, one.b), one.at.get())).collect();
    let standings: Vec<Standing<Id<User>>> = all.iter().map(standing_of).collect();
    let side = |at: usize| Side { standing: &standings[at], candidate: &candidates[at] };
    // Evaluated again at the choice, because the results of millions of pairs would not fit into memory.
    let judged = |a: usize, b: usize| {
        let (one, other) = (standings[a].user, standings[b].user);
        let declined_at = declines.get(&(one.min(other), one.max(other))).copied();
        judge(side(a), side(b), declined_at, now.get(), rules).ok()
    };
    let mut edges = Vec::new();
    for a in 0..all.len() {
        for b in a + 1..all.len() {
            if let Some(found) = judged(a, b) {
                let weight = edge_weight(found.score, waited(&all[a], now), waited(&all[b], now));
                edges.push(Edge { a, b, weight });
            }
        }
    }
    let nodes: Vec<Node<Id<QueueEntry>>> =
        all.iter().map(|one| Node { since: one.entry.creation_time().get(), id: one.entry.id() }).collect();
    let assignment = assign(&nodes, &edges, limits);
    let pair = |(a, b): (usize, usize)| Some(pair(&all[a], &all[b], &judged(a, b)?));
    Chosen {
        pairs: assignment.pairs.into_iter().filter_map(pair).collect(),
        total_weight: assignment.total_weight,
        method: assignment.method,
    }
}

fn as_person(applicant: &Applicant) -> Person {
    let window = waiting::window(&applicant.entry);
    waiting::person(&applicant.person, Some(&applicant.entry.constraints), Some(window))
}

/// The snapshot contains only waiting, active users without an open match.
fn standing_of(applicant: &Applicant) -> Standing<Id<User>> {
    Standing { user: applicant.person.user.id(), waiting: true, active: true, in_open_match: false }
}

fn waited(applicant: &Applicant, now: Millis) -> i64 {
    now.get() - applicant.entry.creation_time().get()
}

fn pair(one: &Applicant, other: &Applicant, judged: &Judged) -> Pair {
    Pair {
        one: one.entry.id(),
        other: other.entry.id(),
        score: Score::clamped(judged.score),
        features: features(&judged.features),
        explanation: explain(&judged.features).into_iter().map(str::to_owned).collect(),
    }
}

/// Returns the features in the stored form, which is also that of clients.
pub fn features(features: &Features) -> MatchFeatures {
    MatchFeatures {
        interest_overlap: Score::clamped(features.interest_overlap),
        experience_gap: Score::clamped(features.experience_gap),
        industry_match: Score::clamped(features.industry_match),
        timezone_compatibility: Score::clamped(features.timezone_compatibility),
        vector_similarity: Score::clamped(features.vector_similarity),
        org_constraint_match: Score::clamped(features.org_constraint_match),
        language_overlap: Score::clamped(features.language_overlap),
        role_complementarity: Score::clamped(features.role_complementarity),
    }
}

/// Arguments of [`make_matches`].
#[args]
pub struct MakeMatches {
    pub pairs: Vec<Pair>,
}

/// Creates matches of the pairs in which both users still wait, are active, have no open match, and have not declined
/// each other. Returns the number of matches.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
pub fn make_matches(ctx: &mut MutationCtx, args: MakeMatches) -> Result<i64> {
    let mut made = 0;
    for pair in args.pairs {
        let (Some(one), Some(other)) = (still_free(ctx, pair.one)?, still_free(ctx, pair.other)?) else { continue };
        if still_meet(ctx, &one, &other)? {
            make_match(ctx, one, other, pair)?;
            made += 1;
        }
    }
    Ok(made)
}

/// Returns the entry if it still waits and its user can be matched.
fn still_free(ctx: &impl Read, id: Id<QueueEntry>) -> Result<Option<Doc<QueueEntry>>> {
    let now = ctx.now();
    let waits = |entry: &Doc<QueueEntry>| entry.status == QueueStatus::Waiting && entry.available_to > now;
    let Some(entry) = ctx.db().get(id)?.filter(waits) else { return Ok(None) };
    let is_active = ctx.db().get(entry.user_id)?.is_some_and(|user| user.is_active);
    let is_free = is_active && standing::open_match(ctx.db(), entry.user_id, None, now)?.is_none();
    Ok(is_free.then_some(entry))
}

fn still_meet(ctx: &impl Read, one: &QueueEntry, other: &QueueEntry) -> Result<bool> {
    let decline = Duration::from_millis(ctx.settings::<Matching>().rules.decline_ms.unsigned_abs());
    let declined_at = standing::declined_at(ctx.db(), one.user_id, other.user_id)?;
    let is_long_ago = declined_at.is_none_or(|at| ctx.now().since(at) >= decline);
    let (from, to) = overlap(one, other, ctx.now());
    Ok(is_long_ago && from < to && one.user_id != other.user_id)
}

/// Returns the time in which both are available.
fn overlap(one: &QueueEntry, other: &QueueEntry, now: Millis) -> (Millis, Millis) {
    let from = one.available_from.max(other.available_from).max(now);
    (from, one.available_to.min(other.available_to))
}

fn make_match(ctx: &mut MutationCtx, one: Doc<QueueEntry>, other: Doc<QueueEntry>, pair: Pair) -> Result<()> {
    let now = ctx.now();
    let (window_from, window_to) = overlap(&one, &other, now);
    let match_id = ctx.db_mut().insert(Match {
        user_a: one.user_id.min(other.user_id),
        user_b: one.user_id.max(other.user_id),
        score: pair.score,
        features: pair.features,
        explanation: pair.explanation,
        window_from,
        window_to,
        status: MatchStatus::Proposed,
        meeting_id: None,
    })?;
    for entry in [one, other] {
        // Entering the queue is consent, so both outcomes start as accepted.
        ctx.db_mut().insert(MatchOutcome {
            match_id,
            user_id: entry.user_id,
            outcome: Outcome::Accepted,
            rating: None,
            comments: None,
            declined_at: None,
            updated_at: now,
        })?;
        queue::finish(ctx, entry, QueueStatus::Matched, Some(match_id))?;
    }
    Ok(())
}
