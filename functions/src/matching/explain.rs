//! Explanations of a match, one sentence per feature in its favour.
//!
//! A neutral value for "unknown" (.5, and .7 for missing roles) yields no sentence.

use super::score::Features;

/// Sentences of one feature, each with the value that must be exceeded, the strongest first.
type Sentences = &'static [(f64, &'static str)];

const INTERESTS: Sentences = &[(0.7, "Strong interest alignment"), (0.4, "Some shared interests")];
const EXPERIENCE: Sentences = &[(0.8, "Complementary levels of experience"), (0.65, "The same level of experience")];
const INDUSTRY: Sentences =
    &[(0.95, "The same professional field"), (0.85, "The same company"), (0.7, "Related professional fields")];
const WINDOWS: Sentences = &[(0.7, "Availability fits well"), (0.3, "Availability overlaps")];
const TEXTS: Sentences =
    &[(0.7, "Very similar backgrounds and goals"), (0.5, "Some common ground in backgrounds and goals")];
const ORGANIZATIONS: Sentences = &[(0.9, "Organization preferences are met")];
const LANGUAGES: Sentences = &[(0.9, "All languages in common"), (0.5, "Languages in common")];
const ROLES: Sentences = &[(0.9, "Complementary roles")];

/// Returns one sentence for every feature above its threshold, in the order of the features.
pub fn explain(features: &Features) -> Vec<&'static str> {
    let spoken = [
        (INTERESTS, features.interest_overlap),
        (EXPERIENCE, features.experience_gap),
        (INDUSTRY, features.industry_match),
        (WINDOWS, features.timezone_compatibility),
        (TEXTS, features.vector_similarity),
        (ORGANIZATIONS, features.org_constraint_match),
        (LANGUAGES, features.language_overlap),
        (ROLES, features.role_complementarity),
    ];
    spoken.into_iter().filter_map(|(sentences, value)| strongest(sentences, value)).collect()
}

fn strongest(sentences: Sentences, value: f64) -> Option<&'static str> {
    sentences.iter().find(|(threshold, _)| value > *threshold).map(|(_, sentence)| *sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: Features = Features {
        interest_overlap: 0.0,
        experience_gap: 0.5,
        industry_match: 0.5,
        timezone_compatibility: 0.0,
        vector_similarity: 0.5,
        org_constraint_match: 0.5,
        language_overlap: 0.5,
        role_complementarity: 0.7,
    };

    #[test]
    fn unknown_features_have_no_explanation() {
        assert_eq!(explain(&UNKNOWN), Vec::<&str>::new());
    }

    #[test]
    fn a_threshold_must_be_exceeded() {
        let of = |value| explain(&Features { interest_overlap: value, ..UNKNOWN });

        assert_eq!(of(0.4), Vec::<&str>::new());
        assert_eq!(of(0.41), ["Some shared interests"]);
        assert_eq!(of(0.7), ["Some shared interests"]);
        assert_eq!(of(0.71), ["Strong interest alignment"]);
    }

    #[test]
    fn every_feature_has_its_sentence() {
        let best = Features {
            interest_overlap: 1.0,
            experience_gap: 1.0,
            industry_match: 1.0,
            timezone_compatibility: 1.0,
            vector_similarity: 1.0,
            org_constraint_match: 1.0,
            language_overlap: 1.0,
            role_complementarity: 1.0,
        };

        assert_eq!(explain(&best).len(), 8);
    }
}
