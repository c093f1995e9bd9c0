//! The built-in interests, and the keys of interests.
//!
//! This module defines the built-in catalog, the slug of a name, and the equality of names. The table has the rows,
//! their use counts and their creators.

use aws_lc_rs::digest::{SHA256, digest};
use schema::InterestKey;
use unicode_normalization::UnicodeNormalization as _;

/// An interest of the built-in catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Stable, because profiles refer to it.
    pub key: &'static str,
    /// `academic`, `industry`, `skill` or `personal`.
    pub category: &'static str,
}

impl Entry {
    /// Returns the display name.
    #[must_use]
    pub fn label(&self) -> String {
        label(self.key)
    }
}

/// Longest slug: a key is at most `custom:` and a slug.
pub const SLUG_CHARS_MAX: usize = InterestKey::CHARS_MAX - "custom:".len();

const INDUSTRY: &[&str] = &[
    "software-engineering",
    "data-science",
    "ai-ml",
    "machine-learning",
    "product-management",
    "cybersecurity",
    "cloud-computing",
    "devops",
    "fintech",
    "healthtech",
    "edtech",
    "biotech",
    "climate-tech",
    "e-commerce",
    "gaming",
    "media",
    "consulting",
    "finance",
    "marketing",
    "sales",
    "real-estate",
    "manufacturing",
    "energy",
    "law",
];
const SKILL: &[&str] = &[
    "leadership",
    "public-speaking",
    "writing",
    "design",
    "ux-research",
    "negotiation",
    "project-management",
    "data-analysis",
    "programming",
    "rust",
    "python",
    "javascript",
    "teaching",
    "mentoring",
    "fundraising",
    "hiring",
    "networking",
    "languages",
];
const ACADEMIC: &[&str] = &[
    "computer-science",
    "mathematics",
    "physics",
    "biology",
    "chemistry",
    "economics",
    "psychology",
    "philosophy",
    "history",
    "linguistics",
    "education",
    "medicine",
    "statistics",
    "engineering",
];
const PERSONAL: &[&str] = &[
    "startups",
    "entrepreneurship",
    "technology",
    "ai",
    "business",
    "travel",
    "photography",
    "music",
    "reading",
    "cooking",
    "fitness",
    "running",
    "cycling",
    "hiking",
    "chess",
    "film",
    "art",
    "volunteering",
    "parenting",
    "sustainability",
    "open-source",
];

/// Returns the built-in catalog, by category.
pub fn entries() -> impl Iterator<Item = Entry> {
    [("industry", INDUSTRY), ("skill", SKILL), ("academic", ACADEMIC), ("personal", PERSONAL)]
        .into_iter()
        .flat_map(|(category, keys)| keys.iter().map(move |key| Entry { key, category }))
}

/// Returns the words of a key in title case, except for names with another usual spelling.
fn label(key: &str) -> String {
    match key {
        "ai-ml" => "AI & ML".to_owned(),
        // The hyphen is non-breaking: a single "E" at the end of a line looks like a list item.
        "e-commerce" => "E\u{2011}commerce".to_owned(),
        _ => key.split('-').map(word).collect::<Vec<_>>().join(" "),
    }
}

fn word(part: &str) -> String {
    match part {
        "ai" => "AI".to_owned(),
        "ux" => "UX".to_owned(),
        "devops" => "DevOps".to_owned(),
        "javascript" => "JavaScript".to_owned(),
        _ => {
            let mut chars = part.chars();
            chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
        }
    }
}

/// Returns the slug of a name: lower case, with single dashes in place of other characters than `[a-z0-9]`, at most 57
/// characters.
///
/// If nothing is left of a name (another script, emoji), the slug is the first 12 hex digits of the SHA-256 hash of its
/// NFC form. The same name typed on another system then gets the same key.
#[must_use]
pub fn slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for part in name.to_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()) {
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(part);
    }
    if slug.is_empty() {
        return fingerprint(name);
    }
    slug.truncate(SLUG_CHARS_MAX);
    // The cut may leave a dash at the end.
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// Returns the form in which equal names of an interest are equal: without case and white space. The non-breaking
/// hyphen of a built-in label equals `-`.
#[must_use]
pub fn label_key(name: &str) -> String {
    let letters = name.nfc().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase);
    letters.map(|letter| if letter == '\u{2011}' { '-' } else { letter }).collect()
}

fn fingerprint(name: &str) -> String {
    let normal: String = name.nfc().collect();
    hex::encode(&digest(&SHA256, normal.as_bytes()).as_ref()[..6])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_key_is_there_once_and_is_its_own_slug() {
        let keys: Vec<&str> = entries().map(|entry| entry.key).collect();
        assert_eq!(keys.len(), 24 + 18 + 14 + 21);
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
        for key in keys {
            assert_eq!(slug(key), key);
        }
    }

    #[test]
    fn labels_are_the_keys_in_words() {
        let shown = [
            ("machine-learning", "Machine Learning"),
            ("ai-ml", "AI & ML"),
            ("ux-research", "UX Research"),
            ("e-commerce", "E‑commerce"),
            ("ai", "AI"),
            ("devops", "DevOps"),
            ("javascript", "JavaScript"),
            ("rust", "Rust"),
        ];
        for (key, expected) in shown {
            let entry = entries().find(|entry| entry.key == key).unwrap();
            assert_eq!(entry.label(), expected);
        }
    }

    #[test]
    fn a_slug_keeps_letters_and_digits() {
        assert_eq!(slug("  Rock & Roll!  "), "rock-roll");
        assert_eq!(slug("C++"), "c");
        assert_eq!(slug("Café Société"), "caf-soci-t");
        assert_eq!(slug("web3_dev"), "web3-dev");
    }

    #[test]
    fn a_slug_is_cut_without_a_dash_at_its_end() {
        assert_eq!(slug(&"a".repeat(80)).len(), 57);
        let cut = slug(&format!("{} b", "a".repeat(56)));
        assert_eq!(cut, "a".repeat(56));
    }

    #[test]
    fn a_name_of_another_script_gets_a_fingerprint_of_its_nfc_form() {
        // sha256 of the UTF-8 bytes of "読書" begins with these digits.
        assert_eq!(slug("読書"), READING);
        assert_eq!(slug("🦀").len(), 12);
        assert_eq!(slug("\u{3b9}\u{308}\u{301}"), slug("\u{390}"), "composed and decomposed names are equal");
    }

    #[test]
    fn names_are_one_without_regard_to_case_and_white_space() {
        for name in ["Machine Learning", " machine\u{a0}LEARNING", "MachineLearning"] {
            assert_eq!(label_key(name), "machinelearning");
        }
        assert_eq!(label_key("E\u{2011}commerce"), label_key("e-Commerce"));
        assert_eq!(label_key("\u{3b9}\u{308}\u{301}"), label_key("\u{390}"), "composed or not");
        assert_ne!(label_key("machine-learning"), label_key("machine learning"));
        let labels: HashSet<String> = entries().map(|entry| label_key(&entry.label())).collect();
        assert_eq!(labels.len(), entries().count(), "no two built-in entries have one name");
    }

    const READING: &str = "c71b9c3efaaa";

    proptest! {
        #[test]
        fn a_slug_is_always_a_valid_key(name in "\\PC{1,64}") {
            let made = slug(&name);
            prop_assert!((1..=SLUG_CHARS_MAX).contains(&made.len()));
            for word in made.split('-') {
                prop_assert!(!word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
            }
            prop_assert_eq!(slug(&made), made.clone());
        }
    }
}
