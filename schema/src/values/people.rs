//! Profiles of users.

use std::collections::HashSet;

use convoke::value;
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};

/// The name that other users see: trimmed, 1 … 100 characters, at least one of them visible.
///
/// ```json
/// "Ada"
/// ```
#[value(text, trim, min = 1, max = 100, too_short = "Display name cannot be empty", check = visible_name)]
pub struct DisplayName(String);

fn visible_name(name: String) -> Result<String, String> {
    if name.chars().any(is_visible) { Ok(name) } else { Err("Display name cannot be empty".to_owned()) }
}

/// Returns true if a character is visible by itself. White space, control and format characters are not, nor are the
/// other characters that Unicode tells renderers to ignore (fillers, variation selectors).
fn is_visible(c: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    !c.is_whitespace()
        && !matches!(category, GeneralCategory::Control | GeneralCategory::Format)
        && !CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

/// A biography of at most 1000 characters, stored unchanged; `""` clears it.
///
/// ```json
/// "I like engines."
/// ```
#[value(text, max = 1000, too_long = "Bio cannot exceed 1000 characters")]
pub struct Bio(String);

/// A biography in onboarding: trimmed, 1 … 1000 characters.
///
/// ```json
/// "I like engines."
/// ```
#[value(text, trim, min = 1, max = 1000, too_long = "Bio cannot exceed 1000 characters")]
pub struct OnboardingBio(String);

impl From<OnboardingBio> for Bio {
    fn from(bio: OnboardingBio) -> Self {
        Self(bio.0)
    }
}

/// The goals of a user, at most 2000 characters.
///
/// ```json
/// "To find a co-founder."
/// ```
#[value(text, max = 2000)]
pub struct Goals(String);

/// The experience of a user, in words or years, at most 1000 characters.
///
/// ```json
/// "Ten years of mathematics"
/// ```
#[value(text, max = 1000)]
pub struct Experience(String);

/// A line of a profile (field of work, job title, company): trimmed, 1 … 120 characters.
///
/// ```json
/// "Mathematics"
/// ```
#[value(text, trim, min = 1, max = 120)]
pub struct ShortText(String);

/// A language that a user speaks, by any name: trimmed, 1 … 50 characters.
///
/// ```json
/// "English"
/// ```
#[value(text, trim, min = 1, max = 50)]
pub struct LanguageName(String);

/// Returns the languages in their order without duplicates, ignoring case. The first spelling stays.
pub fn distinct_languages(languages: impl IntoIterator<Item = LanguageName>) -> Vec<LanguageName> {
    let mut seen = HashSet::new();
    languages.into_iter().filter(|language| seen.insert(language.to_lowercase())).collect()
}

/// The age in years: 13 … 120.
///
/// ```json
/// 36
/// ```
#[value(integer, min = 13, max = 120)]
pub struct Age(i64);

/// The gender.
#[value(name = "Gender")]
pub enum Gender {
    /// Male.
    Male,
    /// Female.
    Female,
    /// Non-binary.
    NonBinary,
    /// Not stated.
    PreferNotToSay,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json};

    use super::*;

    fn refusal<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> String {
        match serde_json::from_value::<T>(value) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_display_name_is_trimmed_and_not_empty() {
        assert_eq!(DisplayName::new("\u{a0} Ada \u{3000}").unwrap().as_str(), "Ada");
        for empty in ["", " ", "\u{a0}\u{3000}\t\n"] {
            assert_eq!(DisplayName::new(empty).unwrap_err().sentence(), "Display name cannot be empty");
        }
        for invisible in
            ["\u{200b}", "\u{200b} \u{2060}\u{feff}", "\u{7}", "\u{202e}", "\u{ad}", "\u{3164}", "\u{fe0f}"]
        {
            assert_eq!(
                DisplayName::new(invisible).unwrap_err().sentence(),
                "Display name cannot be empty",
                "{invisible:?}"
            );
        }
        // Emoji are joined by a format character.
        for visible in ["\u{200b}A", "\u{1f468}\u{200d}\u{1f469}", "読", "-", "\u{301}"] {
            assert_eq!(DisplayName::new(visible).unwrap().as_str(), visible);
        }
        assert!(DisplayName::new("x".repeat(100)).is_ok());
        assert!(DisplayName::new(format!(" {} ", "x".repeat(100))).is_ok());
        assert_eq!(
            DisplayName::new("x".repeat(101)).unwrap_err().sentence(),
            "must be a text of 1 to 100 characters (got 101 characters)"
        );
        assert!(DisplayName::new("A\0da").is_err());
    }

    #[test]
    fn a_bio_has_at_most_1000_characters_of_any_kind() {
        assert_eq!(Bio::new("").unwrap().as_str(), "");
        assert_eq!(Bio::new("  ").unwrap().as_str(), "  ");
        for one in ["x", "ü", "😀", "\u{1f468}"] {
            assert!(Bio::new(one.repeat(1000)).is_ok(), "{one}");
            assert_eq!(Bio::new(one.repeat(1001)).unwrap_err().sentence(), "Bio cannot exceed 1000 characters");
        }
        // A family is one picture and five scalar values.
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        assert!(Bio::new(family.repeat(200)).is_ok());
        assert!(Bio::new(family.repeat(201)).is_err());
        assert!(Bio::new("a\0").is_err());
    }

    #[test]
    fn onboarding_asks_for_a_bio_that_says_something() {
        assert_eq!(Bio::from(OnboardingBio::new(" x ").unwrap()).as_str(), "x");
        assert!(OnboardingBio::new("\u{3000}").is_err());
        assert!(OnboardingBio::new(format!(" {} ", "x".repeat(1000))).is_ok());
        assert_eq!(OnboardingBio::new("x".repeat(1001)).unwrap_err().sentence(), "Bio cannot exceed 1000 characters");
    }

    #[test]
    fn lines_of_a_profile_are_short() {
        assert!(ShortText::new("x".repeat(120)).is_ok() && ShortText::new("x".repeat(121)).is_err());
        assert!(ShortText::new(" ").is_err());
        assert!(
            Goals::new("").is_ok() && Goals::new("x".repeat(2000)).is_ok() && Goals::new("x".repeat(2001)).is_err()
        );
        assert!(Experience::new("x".repeat(1000)).is_ok() && Experience::new("x".repeat(1001)).is_err());
        assert!(LanguageName::new("x".repeat(50)).is_ok() && LanguageName::new("x".repeat(51)).is_err());
    }

    #[test]
    fn a_language_is_named_once() {
        let names = ["German", "english", "GERMAN", "English", "Français"].map(|name| LanguageName::new(name).unwrap());
        let distinct: Vec<String> = distinct_languages(names).into_iter().map(String::from).collect();
        assert_eq!(distinct, ["German", "english", "Français"]);
    }

    #[test]
    fn an_age_is_a_whole_number_between_13_and_120() {
        for json in ["13", "120", "31", "31.0", "3.1e1"] {
            assert!(from_str::<Age>(json).is_ok(), "{json}");
        }
        assert_eq!(from_str::<Age>("31.0").unwrap().get(), 31);
        assert_eq!(serde_json::to_string(&from_str::<Age>("3.1e1").unwrap()).unwrap(), "31");
        assert_eq!(refusal::<Age>(json!(12)), "must be an integer between 13 and 120 (got 12)");
        assert_eq!(refusal::<Age>(json!(121)), "must be an integer between 13 and 120 (got 121)");
        for other in [json!(31.5), json!("31"), json!(null), json!(true), json!(1e300)] {
            assert_ne!(refusal::<Age>(other.clone()), "accepted", "{other}");
        }
    }

    #[test]
    fn genders_are_spelled_as_the_specification_does() {
        let names: Vec<&str> = Gender::ALL.iter().map(|gender| gender.as_str()).collect();
        assert_eq!(names, ["male", "female", "non-binary", "prefer-not-to-say"]);
        assert_eq!(
            refusal::<Gender>(json!("zzz")),
            "must be one of male, female, non-binary, prefer-not-to-say (got \"zzz\")"
        );
    }
}
