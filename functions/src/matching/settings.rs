//! What an installation may want otherwise about matching (`[matching]` in `convoke.toml`).
//!
//! Names, defaults and units of the settings; what the numbers mean is `conditions`', `score`'s and `assignment`'s.

use convoke::settings::Section;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::assignment::Limits;
use super::conditions::Rules;
use super::score::{Features, Weights};

/// The settings, checked.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "Written")]
#[schemars(into = "Written")]
pub struct Matching {
    pub rules: Rules,
    pub limits: Limits,
    /// Waiting users that one run looks at, the longest-waiting: every two of them are compared.
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

/// How waiting users are paired.
#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Written {
    /// The least score of a pair, 0 to 1.
    score_min: f64,
    /// The least time that both are free at once, in minutes.
    overlap_minutes_min: u32,
    /// How long two of whom one declined are not proposed again, in days.
    decline_days: u32,
    /// People who may be connected by possible pairs for the best pairing of all to be computed as it is.
    exact_nodes_max: usize,
    /// People up to whom it is computed from the best pairs of each alone.
    thinned_nodes_max: usize,
    /// Pairs of one person that are considered then.
    best_edges: usize,
    /// Waiting users that one run looks at, the longest-waiting: every two of them are compared.
    waiting_max: usize,
    /// What counts how much in a score: all eight, whose sum is 1.
    weights: WrittenWeights,
}

/// `[matching.weights]`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrittenWeights {
    /// Interests that both have.
    interest_overlap: f64,
    /// How well years of experience go together.
    experience_gap: f64,
    /// Industries that both work in.
    industry_match: f64,
    /// Hours of the day that both are awake in.
    timezone_compatibility: f64,
    /// Likeness of what their profiles say.
    vector_similarity: f64,
    /// Wishes about one's own or other organizations.
    org_constraint_match: f64,
    /// Languages that both speak.
    language_overlap: f64,
    /// Roles that go together, such as mentor and learner.
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
    fn what_is_not_set_is_as_usual() {
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
