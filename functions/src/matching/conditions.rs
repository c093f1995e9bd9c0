//! Conditions for a match of two users, independent of their score.
//!
//! This module defines the conditions, and the weight of an edge between two users that meet them.

use super::candidate::Candidate;
use super::organizations::{Verdict, both};
use super::score::{Features, Weights, features, score};

/// The parameters of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    pub weights: Weights,
    /// Lowest score of a match.
    pub score_min: f64,
    /// Smallest overlap of two windows; a shorter window must overlap completely.
    pub overlap_ms_min: i64,
    /// Time after a decline during which the two users are not matched again.
    pub decline_ms: i64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            weights: Weights::default(),
            score_min: 0.6,
            overlap_ms_min: 15 * 60_000,
            decline_ms: 30 * 24 * 3_600_000,
        }
    }
}

/// The state of a user in the database at the time of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing<U> {
    pub user: U,
    /// True if the queue entry is waiting.
    pub waiting: bool,
    /// True if the account is active.
    pub active: bool,
    /// True if the user has an open match.
    pub in_open_match: bool,
}

/// Reason why two users are not matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    SameUser,
    NotWaiting,
    NotActive,
    InOpenMatch,
    Declined,
    WindowsApart,
    Organizations,
    ScoreTooLow,
}

/// A pair that meets every condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub features: Features,
    pub score: f64,
}

/// One user of a pair.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a, U> {
    pub standing: &'a Standing<U>,
    pub candidate: &'a Candidate,
}

/// Evaluates a pair at `now`; `declined_at` is the time when one of the two last declined the other. Cheap conditions
/// come first, because they exclude most pairs of a long queue.
///
/// # Errors
/// The first unmet condition.
pub fn judge<U: PartialEq>(
    a: Side<'_, U>,
    b: Side<'_, U>,
    declined_at: Option<i64>,
    now: i64,
    rules: &Rules,
) -> Result<Judged, Obstacle> {
    if a.standing.user == b.standing.user {
        return Err(Obstacle::SameUser);
    }
    for standing in [a.standing, b.standing] {
        if let Some(obstacle) = obstacle(standing) {
            return Err(obstacle);
        }
    }
    if declined_at.is_some_and(|declined_at| now - declined_at < rules.decline_ms) {
        return Err(Obstacle::Declined);
    }
    if !windows_meet(a.candidate, b.candidate, now, rules.overlap_ms_min) {
        return Err(Obstacle::WindowsApart);
    }
    let (a, b) = (a.candidate, b.candidate);
    if both((&a.wish, &a.belonging), (&b.wish, &b.belonging)) == Verdict::Fails {
        return Err(Obstacle::Organizations);
    }
    let features = features(a, b, now);
    let score = score(&features, &rules.weights);
    // Rounding errors of the sum of eight products may miss the limit slightly.
    if score + 1e-9 < rules.score_min {
        return Err(Obstacle::ScoreTooLow);
    }
    Ok(Judged { features, score })
}

/// Returns the weight of an edge: the score in millionths, plus a thousand per minute that the longer-waiting user has
/// waited, up to an hour. An hour of waiting thus outweighs .06 of score.
pub fn edge_weight(score: f64, waited_ms_a: i64, waited_ms_b: i64) -> i32 {
    let minutes = (waited_ms_a.max(waited_ms_b) / 60_000).clamp(0, 60);
    (score * 1e6).round() as i32 + minutes as i32 * 1_000
}

fn obstacle<U>(standing: &Standing<U>) -> Option<Obstacle> {
    if !standing.waiting {
        Some(Obstacle::NotWaiting)
    } else if !standing.active {
        Some(Obstacle::NotActive)
    } else if standing.in_open_match {
        Some(Obstacle::InOpenMatch)
    } else {
        None
    }
}

/// A user without a window has no queue entry and cannot be matched.
fn windows_meet(a: &Candidate, b: &Candidate, now: i64, overlap_ms_min: i64) -> bool {
    let (Some(a), Some(b)) = (a.window, b.window) else {
        return false;
    };
    let (a, b) = (a.cut_at(now), b.cut_at(now));
    let needed = overlap_ms_min.min(a.length_ms()).min(b.length_ms()).max(1);
    a.overlap(b).length_ms() >= needed
}

#[cfg(test)]
mod tests {
    use super::super::candidate::{Person, Window, candidates};
    use super::*;

    const MINUTE: i64 = 60_000;
    const STANDING: Standing<u8> = Standing { user: 1, waiting: true, active: true, in_open_match: false };
    const OTHER: Standing<u8> = Standing { user: 2, ..STANDING };

    /// A user with the same wishes as the others, so that the score is no obstacle.
    fn person(from: i64, to: i64) -> Person {
        let window = Some(Window { from: from * MINUTE, to: to * MINUTE });
        Person { window, wanted_interests: vec!["chess".into()], ..Person::default() }
    }

    fn judged(
        people: [Person; 2],
        standings: [Standing<u8>; 2],
        declined_at: Option<i64>,
        now: i64,
    ) -> Option<Obstacle> {
        let [a, b] = <[Candidate; 2]>::try_from(candidates(&people)).unwrap();
        let side = |standing, candidate| Side { standing, candidate };
        judge(side(&standings[0], &a), side(&standings[1], &b), declined_at, now, &Rules::default()).err()
    }

    #[test]
    fn fifteen_minutes_in_common_are_enough_and_fourteen_are_not() {
        let both = [STANDING, OTHER];

        assert_eq!(judged([person(0, 60), person(45, 100)], both, None, 0), None);
        assert_eq!(judged([person(0, 60), person(46, 100)], both, None, 0), Some(Obstacle::WindowsApart));
        // Past time does not count: one window has 15 minutes left, of which 10 overlap.
        assert_eq!(judged([person(0, 60), person(50, 100)], both, None, 45 * MINUTE), Some(Obstacle::WindowsApart));
    }

    #[test]
    fn a_shorter_window_must_lie_inside_as_a_whole() {
        let both = [STANDING, OTHER];

        assert_eq!(judged([person(10, 20), person(0, 100)], both, None, 0), None);
        assert_eq!(judged([person(10, 20), person(11, 100)], both, None, 0), Some(Obstacle::WindowsApart));
        assert_eq!(judged([person(10, 20), person(0, 100)], both, None, 20 * MINUTE), Some(Obstacle::WindowsApart));
    }

    #[test]
    fn the_standing_of_either_is_an_obstacle() {
        let people = || [person(0, 100), person(0, 100)];

        assert_eq!(judged(people(), [STANDING, STANDING], None, 0), Some(Obstacle::SameUser));
        let cases = [
            (Standing { waiting: false, ..OTHER }, Obstacle::NotWaiting),
            (Standing { active: false, ..OTHER }, Obstacle::NotActive),
            (Standing { in_open_match: true, ..OTHER }, Obstacle::InOpenMatch),
        ];
        for (standing, obstacle) in cases {
            assert_eq!(judged(people(), [STANDING, standing], None, 0), Some(obstacle));
            assert_eq!(judged(people(), [standing, STANDING], None, 0), Some(obstacle));
        }
    }

    #[test]
    fn a_decline_holds_for_thirty_days() {
        let month = 30 * 24 * 60 * MINUTE;
        let people = || [person(0, 10 * month), person(0, 10 * month)];

        assert_eq!(judged(people(), [STANDING, OTHER], Some(0), month - 1), Some(Obstacle::Declined));
        assert_eq!(judged(people(), [STANDING, OTHER], Some(0), month), None);
    }

    #[test]
    fn organizations_that_contradict_a_wish_are_an_obstacle_and_unknown_ones_are_not() {
        let wishing = |organization: Option<&str>| Person {
            organization_wish: Some("same".into()),
            organization: organization.map(|id| ("https://a".to_owned(), id.to_owned())),
            ..person(0, 100)
        };
        let both = [STANDING, OTHER];

        assert_eq!(judged([wishing(Some("A")), wishing(Some("B"))], both, None, 0), Some(Obstacle::Organizations));
        assert_eq!(judged([wishing(Some("A")), wishing(None)], both, None, 0), None);
        assert_eq!(judged([wishing(Some("A")), wishing(Some("A"))], both, None, 0), None);
    }

    #[test]
    fn a_low_score_is_an_obstacle() {
        let wanting = |interest: &str| Person { wanted_interests: vec![interest.into()], ..person(0, 100) };

        assert_eq!(judged([wanting("a"), wanting("b")], [STANDING, OTHER], None, 0), Some(Obstacle::ScoreTooLow));
    }

    #[test]
    fn the_wait_of_the_longer_waiting_counts_up_to_an_hour() {
        assert_eq!(edge_weight(0.6543214, 0, 0), 654_321);
        assert_eq!(edge_weight(0.6, 90_000, 0), 601_000);
        assert_eq!(edge_weight(0.6, 0, 59 * MINUTE), 659_000);
        assert_eq!(edge_weight(1.0, 500 * MINUTE, 0), 1_060_000);
        assert_eq!(edge_weight(0.6, -5, -5), 600_000);
    }
}
