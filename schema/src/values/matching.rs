//! Matching: what somebody looks for, how well two fit, and what happens to it.

use convoke::value;

use super::list::List;
use super::numbers::Score;

/// What somebody looks for in the other; an empty list is no preference.
///
/// ```json
/// {"interests": ["ai"], "roles": ["mentor"], "orgConstraints": "different"}
/// ```
#[value(name = "MatchConstraints")]
#[derive(Eq)]
pub struct MatchConstraints {
    /// Interests that the other should share, at most 20.
    pub interests: List<WantedInterest, 0, 20>,
    /// Roles that one has or looks for, at most 10.
    pub roles: List<WantedRole, 0, 10>,
    /// Where the other should work: `any`, `same`, `different`, or the name of an organization.
    pub org_constraints: Option<OrgConstraint>,
}

/// An interest that the other should share, by key or name: 1 … 64 characters.
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

/// What somebody asks about the other's organization, at most 64 characters.
///
/// ```json
/// "any"
/// ```
#[value(text, max = 64)]
pub struct OrgConstraint(String);

/// How well two users fit, feature by feature, each 0 … 1.
#[value(name = "MatchFeatures")]
pub struct MatchFeatures {
    /// Interests they share.
    pub interest_overlap: Score,
    /// How far apart their experience is.
    pub experience_gap: Score,
    /// How close their fields of work are.
    pub industry_match: Score,
    /// How much of their time overlaps.
    pub timezone_compatibility: Score,
    /// How alike what they write is.
    pub vector_similarity: Score,
    /// Whether what they ask about organizations holds.
    pub org_constraint_match: Score,
    /// Languages they share.
    pub language_overlap: Score,
    /// How well their roles go together.
    pub role_complementarity: Score,
}

/// Where an entry of the matching queue is.
#[value(name = "QueueStatus")]
pub enum QueueStatus {
    /// Waits for somebody.
    Waiting,
    /// Somebody was found. Final.
    Matched,
    /// Its time has passed. Final.
    Expired,
    /// Was taken back. Final.
    Cancelled,
}

/// Where a match is; follows from the outcomes of its two users and the clock.
#[value(name = "MatchStatus")]
pub enum MatchStatus {
    /// Neither declined, and its time has not passed.
    Proposed,
    /// One of them declined.
    Declined,
    /// Both say that it took place.
    Completed,
    /// Its time has passed.
    Expired,
}

/// What a match came to, as one of its users says.
#[value(name = "Outcome")]
pub enum Outcome {
    /// Will be there.
    Accepted,
    /// Will not.
    Declined,
    /// Was there. Final.
    Completed,
}

/// What somebody says about a match, at most 2000 characters.
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
