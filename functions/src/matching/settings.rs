//! Settings of matching (`[matching]` in `convoke.toml`).
//!
//! This module defines names, defaults and units. `conditions`, `score` and `assignment` use the numbers.

use convoke::settings::Section;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::assignment::Limits;
use super::conditions::Rules;
use super::score::{Features, Weights};

/// The checked settings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "Written")]
#[schemars(into = "Written")]
pub struct Matching {
    pub rules: Rules,
    pub limits: Limits,
    /// Most waiting users per run, the longest-waiting first; every pair of them is compared.
    pub waiting_max: usize,
}

impl Section for Matching {
    const NAME: &'static str = "matching";
}
convoke::section!(Matching);

impl Default for Matching {
    fn default() -> Self {
        Self { rules: Rules::default(), limits: Limits::default(), waiting_max: 3_000 }
    }
}

/// Matching of waiting users.
#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Written {
    /// Lowest score of a match, 0 to 1.
    score_min: f64,
    /// Smallest time in which both users are available, in minutes.
    overlap_minutes_min: u32,
    /// Days after a decline during which the same two users are not matched again.
    decline_days: u32,
    /// Most users in a connected component that is solved exactly.
    exact_nodes_max: usize,
    /// Most users in a connected component that is solved with the best pairs of each user.
    thinned_nodes_max: usize,
    /// Number of best pairs per user in that case.
    best_edges: usize,
    /// Most waiting users per run, the longest-waiting first; every pair of them is compared.
    waiting_max: usize,
    /// Weights of the eight features in a score; their sum is 1.
    weights: WrittenWeights,
}

/// `[matching.weights]`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrittenWeights {
    /// Common interests.
    interest_overlap: f64,
    /// Fit of experience levels.
    experience_gap: f64,
    /// Related industries.
    industry_match: f64,
    /// Overlap of availability.
    timezone_compatibility: f64,
    /// Similarity of the profile texts.
    vector_similarity: f64,
    /// Wishes about organizations.
    org_constraint_match: f64,
    /// Common languages.
    language_overlap: f64,
    /// Complementary roles, such as mentor and mentee.
    role_complementarity: f64,
}

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

impl Default for Written {
    fn default() -> Self {
        let Matching { rules, limits, waiting_max } = Matching::default();
        let whole = |ms: i64, unit: i64| u32::try_from(ms / unit).unwrap_or(u32::MAX);
        Self {
            score_min: rules.score_min,
            overlap_minutes_min: whole(rules.overlap_ms_min, MINUTE_MS),
            decline_days: whole(rules.decline_ms, DAY_MS),
            exact_nodes_max: limits.exact_nodes_max,
            thinned_nodes_max: limits.thinned_nodes_max,
            best_edges: limits.best_edges,
            waiting_max,
            weights: WrittenWeights::of(rules.weights),
        }
    }
}

impl TryFrom<Written> for Matching {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let weights = weights(written.weights)?;
        let score_min = written.score_min;
        if !(0.0..=1.0).contains(&score_min) {
            return Err(format!("score_min must be between 0 and 1 (got {score_min})"));
        }
        Ok(Self {
            rules: Rules {
                weights,
                score_min,
                overlap_ms_min: i64::from(written.overlap_minutes_min) * MINUTE_MS,
                decline_ms: i64::from(written.decline_days) * DAY_MS,
            },
            limits: Limits {
                exact_nodes_max: written.exact_nodes_max,
                thinned_nodes_max: written.thinned_nodes_max,
                best_edges: written.best_edges,
            },
            waiting_max: written.waiting_max,
        })
    }
}

impl WrittenWeights {
    fn of(weights: Weights) -> Self {
        let features = weights.features();
        Self {
            interest_overlap: features.interest_overlap,
            experience_gap: features.experience_gap,
            industry_match: features.industry_match,
            timezone_compatibility: features.timezone_compatibility,
            vector_similarity: features.vector_similarity,
            org_constraint_match: features.org_constraint_match,
            language_overlap: features.language_overlap,
            role_complementarity: features.role_complementarity,
        }
    }
}

fn weights(written: WrittenWeights) -> Result<Weights, String> {
    let weights = Weights::new(Features {
        interest_overlap: written.interest_overlap,
        experience_gap: written.experience_gap,
        industry_match: written.industry_match,
        timezone_compatibility: written.timezone_compatibility,
        vector_similarity: written.vector_similarity,
        org_constraint_match: written.org_constraint_match,
        language_overlap: written.language_overlap,
        role_complementarity: written.role_complementarity,
    });
    weights.ok_or_else(|| "weights must not be negative, and their sum must be 1".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn even() -> Value {
        json!({
            "interest_overlap": 0.125, "experience_gap": 0.125, "industry_match": 0.125,
            "timezone_compatibility": 0.125, "vector_similarity": 0.125, "org_constraint_match": 0.125,
            "language_overlap": 0.125, "role_complementarity": 0.125,
        })
    }

    #[test]
    fn unset_settings_have_defaults() {
        let settings: Matching = from_value(json!({"score_min": 0.5, "decline_days": 7})).unwrap();
        assert_eq!(settings.rules.score_min, 0.5);
        assert_eq!(settings.rules.decline_ms, 7 * 24 * 3_600_000);
        assert_eq!(settings.rules.overlap_ms_min, Rules::default().overlap_ms_min);
        assert_eq!(settings.rules.weights, Weights::default());
        assert_eq!(settings.limits, Limits::default());
    }

    #[test]
    fn weights_are_eight_and_sum_to_one() {
        assert!(from_value::<Matching>(json!({"weights": even()})).is_ok());
        let mut uneven = even();
        uneven["language_overlap"] = json!(0.2);
        let mut missing = even();
        missing.as_object_mut().unwrap().remove("language_overlap");
        for weights in [uneven, missing] {
            assert!(from_value::<Matching>(json!({"weights": weights})).is_err());
        }
        assert!(from_value::<Matching>(json!({"score_min": 1.5})).is_err());
        assert!(from_value::<Matching>(json!({"scoremin": 0.5})).is_err());
    }
}
