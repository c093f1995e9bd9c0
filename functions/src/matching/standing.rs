//! Where a match is, and whether somebody is in an open one.
//!
//! A match's status follows from its two outcomes and the clock. What is stored is what followed when its row was
//! written last: reading it asks the clock again.

use convoke::prelude::*;
use convoke::store::Db;
use schema::{Match, MatchOutcome, MatchStatus, Outcome, User};

use crate::access;

/// The status that follows.
pub fn status(outcomes: [Outcome; 2], window_to: Millis, now: Millis) -> MatchStatus {
    match outcomes {
        [Outcome::Declined, _] | [_, Outcome::Declined] => MatchStatus::Declined,
        [Outcome::Completed, Outcome::Completed] => MatchStatus::Completed,
        [Outcome::Accepted | Outcome::Completed, Outcome::Accepted | Outcome::Completed] if window_to <= now => {
            MatchStatus::Expired
        }
        [Outcome::Accepted | Outcome::Completed, Outcome::Accepted | Outcome::Completed] => MatchStatus::Proposed,
    }
}

/// The status of a stored match at `now`.
pub fn status_now(row: &Match, now: Millis) -> MatchStatus {
    match row.status {
        MatchStatus::Proposed if row.window_to <= now => MatchStatus::Expired,
        status @ (MatchStatus::Proposed | MatchStatus::Declined | MatchStatus::Completed | MatchStatus::Expired) => {
            status
        }
    }
}

/// Whether a match is open: neither declined, and its time has not passed.
pub fn is_open(row: &Match, now: Millis) -> bool {
    status_now(row, now) == MatchStatus::Proposed
}

/// A match of the caller's, with what both say about it.
pub struct Matched {
    /// The caller.
    pub user: Doc<User>,
    pub row: Doc<Match>,
    pub mine: Doc<MatchOutcome>,
    pub theirs: Doc<MatchOutcome>,
}

/// A match of the caller's.
///
/// # Errors
/// Those of [`access::user`]; `NOT_FOUND` if there is no such match, or they have no part in it.
pub fn matched(ctx: &impl Read, id: Id<Match>) -> Result<Matched> {
    let user = access::user(ctx)?;
    let me = user.id();
    let row = ctx.db().get(id)?.filter(|row| row.user_a == me || row.user_b == me);
    let row = row.ok_or_else(|| Error::not_found("Match not found"))?;
    let outcome = |user: Id<User>| -> Result<Doc<MatchOutcome>> {
        let outcome = ctx.db().query(MatchOutcome::by_match_user).eq(id).eq(user).unique()?;
        outcome.ok_or_else(|| Error::internal(format!("the match {id} has no outcome of {user}")))
    };
    let (mine, theirs) = (outcome(me)?, outcome(partner(&row, me))?);
    Ok(Matched { user, row, mine, theirs })
}

/// The other one of a match.
pub fn partner(row: &Match, user: Id<User>) -> Id<User> {
    if row.user_a == user { row.user_b } else { row.user_a }
}

/// The newest matches of a user among which an open one is looked for. One ends 60 days after it was made at the
/// latest, and each further one takes a decline of the one before.
const RECENT_MAX: usize = 500;

/// An open match of a user other than `except`.
///
/// # Errors
/// A failure of the store.
pub fn open_match(db: &Db, user: Id<User>, except: Option<Id<Match>>, now: Millis) -> Result<Option<Doc<Match>>> {
    let outcomes = db.query(MatchOutcome::by_user).eq(user).order(Order::Desc).take(RECENT_MAX)?;
    let ids: Vec<Id<Match>> = outcomes.iter().map(|outcome| outcome.match_id).collect();
    let mut matches = db.get_many(&ids)?.into_iter().flatten();
    Ok(matches.find(|row| Some(row.id()) != except && is_open(row, now)))
}

/// When one of two users last declined the other, if that stands.
///
/// # Errors
/// A failure of the store.
pub fn declined_at(db: &Db, a: Id<User>, b: Id<User>) -> Result<Option<Millis>> {
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    let matches = db.query(Match::by_users).eq(a).eq(b).order(Order::Desc).take(RECENT_MAX)?;
    let ids: Vec<Id<Match>> = matches.iter().map(Doc::id).collect();
    let outcomes = db.query(MatchOutcome::by_match_user).any(&ids).take(2 * ids.len())?;
    Ok(outcomes.iter().filter_map(|outcome| outcome.declined_at).max())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_follows_from_outcomes_and_clock() {
        use Outcome::{Accepted, Completed, Declined};
        let at = |a, b, now| status([a, b], Millis(100), Millis(now));
        assert_eq!(at(Accepted, Accepted, 99), MatchStatus::Proposed);
        assert_eq!(at(Accepted, Completed, 99), MatchStatus::Proposed);
        assert_eq!(at(Accepted, Accepted, 100), MatchStatus::Expired);
        assert_eq!(at(Completed, Accepted, 100), MatchStatus::Expired);
        for now in [99, 100] {
            assert_eq!(at(Completed, Completed, now), MatchStatus::Completed);
            for other in [Accepted, Completed, Declined] {
                assert_eq!(at(Declined, other, now), MatchStatus::Declined);
                assert_eq!(at(other, Declined, now), MatchStatus::Declined);
            }
        }
    }
}
