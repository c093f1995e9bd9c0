//! The score of two users: eight features and their weighted sum.
//!
//! This module defines the features, their weights, and their symmetry: `score(a, b) = score(b, a)`, to the last bit.
//! `conditions` decides if two users may be matched at all.

use super::candidate::{Candidate, Window};
use super::fields::industry_value;
use super::levels::gap_value;
use super::names::Names;
use super::organizations::{both, organization_value};
use super::roles::roles_value;
use super::text::similarity_value;

/// The values of the features, each in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features {
    pub interest_overlap: f64,
    pub experience_gap: f64,
    pub industry_match: f64,
    pub timezone_compatibility: f64,
    pub vector_similarity: f64,
    pub org_constraint_match: f64,
    pub language_overlap: f64,
    pub role_complementarity: f64,
}

impl Features {
    /// Returns the values with the names for clients, in this order.
    pub fn named(&self) -> [(&'static str, f64); 8] {
        [
            ("interestOverlap", self.interest_overlap),
            ("experienceGap", self.experience_gap),
            ("industryMatch", self.industry_match),
            ("timezoneCompatibility", self.timezone_compatibility),
            ("vectorSimilarity", self.vector_similarity),
            ("orgConstraintMatch", self.org_constraint_match),
            ("languageOverlap", self.language_overlap),
            ("roleComplementarity", self.role_complementarity),
        ]
    }
}

/// The weights of the features. None is negative and their sum is 1, so a score is in [0, 1] too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights(Features);

impl Weights {
    /// Creates weights; none if one is negative or their sum is not 1.
    pub fn new(weights: Features) -> Option<Weights> {
        let values = weights.named().map(|(_, value)| value);
        let sum: f64 = values.iter().sum();
        (values.iter().all(|value| *value >= 0.0) && (sum - 1.0).abs() < 1e-6).then_some(Weights(weights))
    }

    /// Returns the weights.
    pub fn features(&self) -> Features {
        self.0
    }
}

impl Default for Weights {
    fn default() -> Weights {
        Weights(Features {
            interest_overlap: 0.25,
            experience_gap: 0.15,
            industry_match: 0.10,
            timezone_compatibility: 0.10,
            vector_similarity: 0.20,
            org_constraint_match: 0.05,
            language_overlap: 0.10,
            role_complementarity: 0.05,
        })
    }
}

/// Returns the weighted sum.
pub fn score(features: &Features, weights: &Weights) -> f64 {
    let weighted = features.named().into_iter().zip(weights.0.named()).map(|((_, value), (_, weight))| value * weight);
    weighted.sum::<f64>().clamp(0.0, 1.0)
}

/// Returns the eight features of two users at `now` (ms since the epoch).
pub fn features(a: &Candidate, b: &Candidate, now: i64) -> Features {
    Features {
        interest_overlap: interests_value(a, b),
        experience_gap: gap_value(a.level, b.level),
        industry_match: industry_value(&a.work, &b.work),
        timezone_compatibility: windows_value(a.window, b.window, now),
        vector_similarity: similarity_value(a.vector.as_ref(), b.vector.as_ref()),
        org_constraint_match: organization_value(both((&a.wish, &a.belonging), (&b.wish, &b.belonging))),
        language_overlap: languages_value(&a.languages, &b.languages),
        role_complementarity: roles_value(&a.roles, &b.roles),
    }
}

/// Neutral value for unknown data.
const UNKNOWN: f64 = 0.5;

/// Profile interests weigh .7, wished interests .3. If one user has no profile interests, the wishes count alone. Two
/// profiles with common interests have at least that value, so that filling in a profile is never a disadvantage.
fn interests_value(a: &Candidate, b: &Candidate) -> f64 {
    let wished =
        if a.wanted.is_empty() || b.wanted.is_empty() { UNKNOWN } else { of_the_smaller(&a.wanted, &b.wanted) };
    if a.interests.is_empty() || b.interests.is_empty() {
        return wished;
    }
    let share = of_the_smaller(&a.interests, &b.interests);
    let value = (0.7 * share + 0.3 * wished).min(1.0);
    if share > 0.0 { value.max(wished) } else { value }
}

fn of_the_smaller(a: &Names, b: &Names) -> f64 {
    a.shared(b) as f64 / a.len().min(b.len()).max(1) as f64
}

fn languages_value(a: &Names, b: &Names) -> f64 {
    if a.is_empty() || b.is_empty() {
        return UNKNOWN;
    }
    a.shared(b) as f64 / a.len().max(b.len()) as f64
}

/// Returns the overlap as a fraction of the shorter window; .5 if a window is unknown.
fn windows_value(a: Option<Window>, b: Option<Window>, now: i64) -> f64 {
    let (Some(a), Some(b)) = (a, b) else {
        return UNKNOWN;
    };
    let (a, b) = (a.cut_at(now), b.cut_at(now));
    let shorter = a.length_ms().min(b.length_ms());
    if shorter == 0 {
        return 0.0;
    }
    a.overlap(b).length_ms() as f64 / shorter as f64
}

#[cfg(test)]
mod tests {
    use super::super::candidate::{Interest, Person, candidates};
    use super::*;

    fn interests(keys: &[&str]) -> Vec<Interest> {
        keys.iter().map(|key| Interest { key: (*key).into(), label: (*key).into() }).collect()
    }

    fn compared(a: Person, b: Person, now: i64) -> Features {
        let both = candidates(&[a, b]);
        features(&both[0], &both[1], now)
    }

    #[test]
    fn interests_count_seven_tenths_and_wishes_three() {
        let a = Person {
            interests: interests(&["rust", "ai", "chess"]),
            wanted_interests: vec!["AI".into(), "music".into()],
            ..Person::default()
        };
        let b = Person {
            interests: interests(&["rust", "art"]),
            wanted_interests: vec!["ai".into(), "film".into()],
            ..Person::default()
        };

        let value = compared(a.clone(), b.clone(), 0).interest_overlap;
        assert!((value - (0.7 * 0.5 + 0.3 * 0.5)).abs() < 1e-12, "{value}");

        let unwished = Person { wanted_interests: vec![], ..b.clone() };
        assert!((compared(a.clone(), unwished, 0).interest_overlap - (0.35 + 0.15)).abs() < 1e-12);

        let without = Person { interests: vec![], ..b };
        assert_eq!(compared(a, without, 0).interest_overlap, 0.5);
    }

    #[test]
    fn profile_without_interests_scores_no_higher_than_shared_interests() {
        let person = |keys: &[&str], wanted: &[&str]| Person {
            interests: interests(keys),
            wanted_interests: wanted.iter().map(|name| (*name).to_owned()).collect(),
            ..Person::default()
        };
        let value = |a: &Person, b: &Person| compared(a.clone(), b.clone(), 0).interest_overlap;
        let ada = person(&["rust", "ai", "chess"], &[]);
        assert_eq!(value(&ada, &person(&[], &[])), 0.5, "nothing is known");
        assert_eq!(value(&ada, &person(&["rust", "art", "film"], &[])), 0.5, "one of three");
        assert!((value(&ada, &person(&["rust", "ai", "film"], &[])) - (0.7 * 2.0 / 3.0 + 0.15)).abs() < 1e-12);
        assert!((value(&ada, &person(&["law", "art"], &[])) - 0.15).abs() < 1e-12, "known to share nothing");
        let wishing = person(&["rust", "ai", "chess"], &["Go"]);
        assert_eq!(value(&wishing, &person(&[], &["go"])), 1.0);
        assert_eq!(value(&wishing, &person(&["rust", "art", "film"], &["go"])), 1.0);
        assert_eq!(value(&wishing, &person(&[], &["film"])), 0.0);
    }

    #[test]
    fn windows_are_cut_at_now_before_they_are_compared() {
        let person = |from, to| Person { window: Some(Window { from, to }), ..Person::default() };
        let value = |a, b, now| compared(a, b, now).timezone_compatibility;

        assert_eq!(value(person(0, 100), person(50, 150), 0), 0.5);
        assert_eq!(value(person(0, 100), person(50, 150), 50), 1.0);
        assert_eq!(value(person(0, 100), person(100, 150), 0), 0.0);
        assert_eq!(value(person(0, 100), person(50, 150), 120), 0.0);
        assert_eq!(value(person(0, 100), Person::default(), 0), 0.5);
    }

    #[test]
    fn languages_are_measured_by_the_larger_set() {
        let person = |languages: &[&str]| Person {
            languages: languages.iter().map(|name| (*name).to_owned()).collect(),
            ..Person::default()
        };

        assert_eq!(compared(person(&["English", "de"]), person(&["english"]), 0).language_overlap, 0.5);
        assert_eq!(compared(person(&["en"]), person(&["EN"]), 0).language_overlap, 1.0);
        assert_eq!(compared(person(&[]), person(&["EN"]), 0).language_overlap, 0.5);
    }

    #[test]
    fn two_empty_profiles_have_all_eight_features() {
        let features = compared(Person::default(), Person::default(), 0);

        let names: Vec<&str> = features.named().iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), 8);
        assert_eq!(features.interest_overlap, 0.5);
        assert_eq!(features.org_constraint_match, 1.0);
        assert_eq!(features.role_complementarity, 0.7);
        let expected = 0.25 * 0.5 + 0.15 * 0.5 + 0.1 * 0.5 + 0.1 * 0.5 + 0.2 * 0.5 + 0.05 + 0.1 * 0.5 + 0.05 * 0.7;
        assert!((score(&features, &Weights::default()) - expected).abs() < 1e-12);
    }

    #[test]
    fn weights_sum_to_one() {
        assert!(Weights::new(Weights::default().0).is_some());
        assert!(Weights::new(Features { experience_gap: 0.2, ..Weights::default().0 }).is_none());
        assert!(
            Weights::new(Features { experience_gap: -0.15, vector_similarity: 0.5, ..Weights::default().0 }).is_none()
        );
    }
}
