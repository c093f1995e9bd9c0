//! What an installation may want otherwise about matching (`[matching]` in `convoke.toml`).
//!
//! Names, defaults and units of the settings; what the numbers mean is `conditions`', `score`'s and `assignment`'s.

use convoke::settings::Section;
use serde::Deserialize;

use super::assignment::Limits;
use super::conditions::Rules;
use super::score::{Features, Weights};

/// The settings, checked.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
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

/// The settings as they stand in the file; what is absent is as it would be without the section.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    score_min: Option<f64>,
    overlap_minutes_min: Option<u32>,
    decline_days: Option<u32>,
    exact_nodes_max: Option<usize>,
    thinned_nodes_max: Option<usize>,
    best_edges: Option<usize>,
    waiting_max: Option<usize>,
    weights: Option<WrittenWeights>,
}

/// `[matching.weights]`: all eight, whose sum is 1.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWeights {
    interest_overlap: f64,
    experience_gap: f64,
    industry_match: f64,
    timezone_compatibility: f64,
    vector_similarity: f64,
    org_constraint_match: f64,
    language_overlap: f64,
    role_complementarity: f64,
}

impl TryFrom<Written> for Matching {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let usual = Matching::default();
        let weights = written.weights.map_or(Ok(usual.rules.weights), weights)?;
        let score_min = written.score_min.unwrap_or(usual.rules.score_min);
        if !(0.0..=1.0).contains(&score_min) {
            return Err(format!("score_min must be between 0 and 1 (got {score_min})"));
        }
        let minutes = |minutes: u32| i64::from(minutes) * 60_000;
        let days = |days: u32| i64::from(days) * 24 * 3_600_000;
        Ok(Self {
            rules: Rules {
                weights,
                score_min,
                overlap_ms_min: written.overlap_minutes_min.map_or(usual.rules.overlap_ms_min, minutes),
                decline_ms: written.decline_days.map_or(usual.rules.decline_ms, days),
            },
            limits: Limits {
                exact_nodes_max: written.exact_nodes_max.unwrap_or(usual.limits.exact_nodes_max),
                thinned_nodes_max: written.thinned_nodes_max.unwrap_or(usual.limits.thinned_nodes_max),
                best_edges: written.best_edges.unwrap_or(usual.limits.best_edges),
            },
            waiting_max: written.waiting_max.unwrap_or(usual.waiting_max),
        })
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
