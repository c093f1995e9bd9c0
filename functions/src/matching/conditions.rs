//! What must hold before two users are matched, however well they fit.
//!
//! Owns the hard conditions and the weight of an edge between two users for whom they hold.

use super::candidate::Candidate;
use super::organizations::{Verdict, both};
use super::score::{Features, Weights, features, score};

/// The numbers a run goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    pub weights: Weights,
    /// Two who score less are not matched.
    pub score_min: f64,
    /// Two windows must share this much, or the whole of one that is shorter.
    pub overlap_ms_min: i64,
    /// For so long after a decline two users are not proposed to each other.
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

/// What the database says about a user at the time of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing<U> {
    pub user: U,
    /// Their queue entry waits.
    pub waiting: bool,
    /// Their account is active.
    pub active: bool,
    /// They are in a match that is still open.
    pub in_open_match: bool,
}

/// Why two users are not matched.
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

/// A pair for whom every condition holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub features: Features,
    pub score: f64,
}

/// One side of a pair.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a, U> {
    pub standing: &'a Standing<U>,
    pub candidate: &'a Candidate,
}

/// Judges a pair at `now`; `declined_at` is when one of the two last declined the other. The cheap conditions come
/// first, since most pairs of a long queue fall by them.
///
/// # Errors
/// The first [`Obstacle`] in the way.
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
    // A sum of eight products may miss the bound by its last digits.
    if score + 1e-9 < rules.score_min {
        return Err(Obstacle::ScoreTooLow);
    }
    Ok(Judged { features, score })
}

/// The weight of an edge: the score in millionths, and a thousand for each minute that the longer-waiting of the two has
/// waited, up to an hour, so that an hour's wait outweighs .06 of score.
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

/// A user without a window has no queue entry to meet anybody in.
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

    /// Somebody who looks for what the others look for, so that the score is no obstacle.
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
        // What has passed does not count: 15 minutes of one are left, and 10 of them are common.
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
