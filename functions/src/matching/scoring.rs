//! How well two users fit, for those who look after them.

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::{MatchConstraints, MatchFeatures, Score, User, UserRef};

use super::candidate::candidates;
use super::explain::explain;
use super::score::{features, score};
use super::settings::Matching;
use super::{pairing, waiting};
use crate::{access, people};

/// What [`calculate_compatibility_score`] takes.
#[args]
pub struct CalculateCompatibilityScore {
    pub user1_id: UserRef,
    pub user2_id: UserRef,
    /// What the first looks for; nothing by default.
    pub user1_constraints: Option<MatchConstraints>,
    /// What the second looks for; nothing by default.
    pub user2_constraints: Option<MatchConstraints>,
}

/// How well two users fit.
#[value(output)]
pub struct Compatibility {
    pub score: Score,
    pub features: MatchFeatures,
    /// Why, in sentences.
    pub explanation: Vec<String>,
}

/// Calculates the compatibility score of two users. Without windows of time, what depends on them counts as unknown.
///
/// # Errors
/// - `FORBIDDEN`: the caller is neither a deploy key nor an admin of the organization of both.
/// - `NOT_FOUND`: one of them does not exist.
#[query(admin, rights = access::administered_pair(&args.user1_id, &args.user2_id))]
pub fn calculate_compatibility_score(
    ctx: &QueryCtx,
    users: [Doc<User>; 2],
    args: CalculateCompatibilityScore,
) -> Result<Compatibility> {
    let ids = users.each_ref().map(Doc::id);
    let people = people::of(ctx, &ids)?;
    let constraints = [args.user1_constraints, args.user2_constraints];
    let found = |at: usize| people.iter().find(|person| person.user.id() == ids[at]);
    let (Some(one), Some(other)) = (found(0), found(1)) else { return Err(access::unknown_user()) };
    let people = [one, other].into_iter().zip(&constraints);
    let people: Vec<_> = people.map(|(person, of)| waiting::person(person, of.as_ref(), None)).collect();
    let both = candidates(&people);
    let features = features(&both[0], &both[1], ctx.now().get());
    Ok(Compatibility {
        score: Score::clamped(score(&features, &ctx.settings::<Matching>().rules.weights)),
        explanation: explain(&features).into_iter().map(str::to_owned).collect(),
        features: pairing::features(&features),
    })
}
