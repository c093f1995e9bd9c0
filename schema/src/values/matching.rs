//! Matching: preferences, scores, states and outcomes.

use convoke::value;

use super::list::List;
use super::numbers::Score;

/// A user's preferences for a match. An empty list is no preference.
///
/// ```json
/// {"interests": ["ai"], "roles": ["mentor"], "orgConstraints": "different"}
/// ```
#[value(name = "MatchConstraints")]
#[derive(Eq)]
pub struct MatchConstraints {
    /// Interests that the other user should share, at most 20.
    pub interests: List<WantedInterest, 0, 20>,
    /// Roles that the user has or seeks, at most 10.
    pub roles: List<WantedRole, 0, 10>,
    /// The other user's organization: `any`, `same`, `different`, or the name of an organization.
    pub org_constraints: Option<OrgConstraint>,
}

/// The key or name of an interest that the other user should share: 1 … 64 characters.
///
/// ```json
/// "machine-learning"
/// ```
#[value(text, min = 1, max = 64)]
pub struct WantedInterest(String);

/// A role such as `mentor`: 1 … 32 characters.
///
/// ```json
/// "mentor"
/// ```
#[value(text, min = 1, max = 32)]
pub struct WantedRole(String);

/// A preference for the other user's organization, at most 64 characters.
///
/// ```json
/// "any"
/// ```
#[value(text, max = 64)]
pub struct OrgConstraint(String);

/// The scores of a match per feature, each 0 … 1.
#[value(name = "MatchFeatures")]
pub struct MatchFeatures {
    /// Shared interests.
    pub interest_overlap: Score,
    /// Difference of their experience.
    pub experience_gap: Score,
    /// Similarity of their fields of work.
    pub industry_match: Score,
    /// Overlap of their available times.
    pub timezone_compatibility: Score,
    /// Similarity of their texts.
    pub vector_similarity: Score,
    /// Fit of their organization preferences.
    pub org_constraint_match: Score,
    /// Shared languages.
    pub language_overlap: Score,
    /// Fit of their roles.
    pub role_complementarity: Score,
}

/// The state of an entry of the matching queue.
#[value(name = "QueueStatus")]
pub enum QueueStatus {
    /// Waiting for a match.
    Waiting,
    /// Matched. Final.
    Matched,
    /// The available time has passed. Final.
    Expired,
    /// Cancelled by the user. Final.
    Cancelled,
}

/// The state of a match. The outcomes of its two users and the clock determine it.
#[value(name = "MatchStatus")]
pub enum MatchStatus {
    /// No user declined, and the time has not passed.
    Proposed,
    /// A user declined.
    Declined,
    /// Both users report that it took place.
    Completed,
    /// The time has passed.
    Expired,
}

/// The outcome of a match, as one user reports it.
#[value(name = "Outcome")]
pub enum Outcome {
    /// The user will attend.
    Accepted,
    /// The user will not attend.
    Declined,
    /// The user attended. Final.
    Completed,
}

/// A user's comments on a match, at most 2000 characters.
///
/// ```json
/// "We had a lot to talk about."
/// ```
#[value(text, max = 2000)]
pub struct Comments(String);

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn constraints_are_bounded_lists() {
        let json = json!({"interests": ["ai"], "roles": ["mentor"], "orgConstraints": "different"});
        assert_eq!(to_value(from_value::<MatchConstraints>(json.clone()).unwrap()).unwrap(), json);
        assert!(from_value::<MatchConstraints>(json!({"interests": [], "roles": []})).is_ok());
        assert!(from_value::<MatchConstraints>(json!({"interests": [], "roles": [], "orgConstraints": ""})).is_ok());
        for bad in [
            json!({"interests": []}),
            json!({"interests": [""], "roles": []}),
            json!({"interests": vec!["x"; 21], "roles": []}),
            json!({"interests": [], "roles": vec!["x"; 11]}),
            json!({"interests": ["x".repeat(65)], "roles": []}),
            json!({"interests": [], "roles": ["x".repeat(33)]}),
            json!({"interests": [], "roles": [], "orgConstraints": "x".repeat(65)}),
        ] {
            assert!(from_value::<MatchConstraints>(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn features_have_the_names_that_clients_know() {
        let half = Score::clamped(0.5);
        let features = MatchFeatures {
            interest_overlap: half,
            experience_gap: half,
            industry_match: half,
            timezone_compatibility: half,
            vector_similarity: half,
            org_constraint_match: half,
            language_overlap: half,
            role_complementarity: half,
        };
        let json = to_value(&features).unwrap();
        for name in [
            "experienceGap",
            "industryMatch",
            "interestOverlap",
            "languageOverlap",
            "orgConstraintMatch",
            "roleComplementarity",
            "timezoneCompatibility",
            "vectorSimilarity",
        ] {
            assert_eq!(json[name], json!(0.5), "{name}");
        }
        assert_eq!(json.as_object().unwrap().len(), 8);
        assert_eq!(from_value::<MatchFeatures>(json).unwrap(), features);
    }

    #[test]
    fn states_are_spelled_as_the_contract_does() {
        let names: Vec<&str> = QueueStatus::ALL.iter().map(|status| status.as_str()).collect();
        assert_eq!(names, ["waiting", "matched", "expired", "cancelled"]);
        let names: Vec<&str> = Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect();
        assert_eq!(names, ["accepted", "declined", "completed"]);
        assert!(Comments::new("x".repeat(2000)).is_ok() && Comments::new("x".repeat(2001)).is_err());
    }
}
