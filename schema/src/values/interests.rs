//! Interests: their keys in the catalog, and the names that clients send.
//!
//! The catalog derives keys from names.

use convoke::value;

/// The key of a row of the catalog: 1 … 64 characters; words of `[a-z0-9]` joined by `-`, optionally after `custom:`.
#[value(
    text,
    min = 1,
    max = 64,
    pattern = "^(custom:)?[a-z0-9]+(-[a-z0-9]+)*$",
    expected = "an interest key such as machine-learning, of at most 64 characters"
)]
pub struct InterestKey(String);

/// A text that can be the key of an interest: 1 … 64 characters. The catalog decides if it is one.
///
/// ```json
/// "machine-learning"
/// ```
#[value(text, min = 1, max = 64)]
pub struct InterestRef(String);

/// A client's id of an interest: trimmed, 1 … 64 characters. It is the key of a built-in entry or of an admin's entry of
/// the catalog. Any other id belongs to the client and refers to no entry.
///
/// ```json
/// "machine-learning"
/// ```
#[value(text, trim, min = 1, max = 64)]
pub struct InterestId(String);

/// The display name of an interest: trimmed, 1 … 64 characters.
///
/// ```json
/// "Machine Learning"
/// ```
#[value(text, trim, min = 1, max = 64)]
pub struct InterestName(String);

/// The name of the icon of an interest, at most 64 characters.
///
/// ```json
/// "brain"
/// ```
#[value(text, max = 64)]
pub struct IconName(String);

/// The category of an interest.
#[value(name = "InterestCategory")]
pub enum InterestCategory {
    /// A field of study.
    Academic,
    /// A branch of industry.
    Industry,
    /// A skill.
    Skill,
    /// A personal interest.
    Personal,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_words_joined_by_dashes() {
        for good in ["ai", "machine-learning", "web3", "3d", "custom:knitting", "custom:x-1", &"x".repeat(64)] {
            assert_eq!(InterestKey::new(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "AI",
            "machine learning",
            "-ai",
            "ai-",
            "a--b",
            "a_b",
            "custom:",
            "custom:-x",
            "custom:custom:x",
            "other:x",
            "ai\n",
            "größe",
            &"x".repeat(65),
        ] {
            assert!(InterestKey::new(bad).is_err(), "{bad:?}");
        }
        assert!(InterestKey::new(format!("custom:{}", "x".repeat(57))).is_ok());
        assert!(InterestKey::new(format!("custom:{}", "x".repeat(58))).is_err());
    }

    #[test]
    fn ids_and_names_are_trimmed_and_references_are_not() {
        assert_eq!(InterestId::new(" Machine Learning ").unwrap().as_str(), "Machine Learning");
        assert!(InterestId::new("\u{a0}").is_err());
        assert_eq!(InterestRef::new(" ai").unwrap().as_str(), " ai");
        assert!(InterestName::new("😀".repeat(64)).is_ok() && InterestName::new("😀".repeat(65)).is_err());
        assert!(IconName::new("").is_ok() && IconName::new("x".repeat(65)).is_err());
    }

    #[test]
    fn invalid_category_error_lists_the_valid_categories() {
        assert_eq!(
            "zzz".parse::<InterestCategory>().unwrap_err().sentence(),
            "must be one of academic, industry, skill, personal (got \"zzz\")"
        );
    }
}
