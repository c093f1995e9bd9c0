//! Equality of written names.
//!
//! Normalizes names that users type (interests, companies, roles, fields, languages), and compares sets of them.

use unicode_normalization::UnicodeNormalization;

/// Returns the form in which two spellings of a name are equal: NFKC, lower case, single spaces in place of dashes,
/// underscores and white space, trimmed.
pub fn fold(name: &str) -> String {
    let spaced: String = name
        .nfkc()
        .flat_map(char::to_lowercase)
        .map(|letter| if is_dash(letter) || letter.is_whitespace() { ' ' } else { letter })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a normalized name, or none if it is empty.
pub fn fold_some(name: Option<&str>) -> Option<String> {
    name.map(fold).filter(|folded| !folded.is_empty())
}

fn is_dash(letter: char) -> bool {
    matches!(letter, '-' | '_' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// A sorted set of normalized names, so that two sets are compared in one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(Vec<String>);

impl Names {
    /// Creates the set without duplicates and empty names.
    pub fn of<T: AsRef<str>>(names: &[T]) -> Names {
        let mut folded: Vec<String> =
            names.iter().map(|name| fold(name.as_ref())).filter(|name| !name.is_empty()).collect();
        folded.sort_unstable();
        folded.dedup();
        Names(folded)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns the number of names in both sets.
    pub fn shared(&self, other: &Names) -> usize {
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut count = 0;
        while let (Some(our), Some(their)) = (ours.peek(), theirs.peek()) {
            match our.cmp(their) {
                std::cmp::Ordering::Less => drop(ours.next()),
                std::cmp::Ordering::Greater => drop(theirs.next()),
                std::cmp::Ordering::Equal => {
                    count += 1;
                    ours.next();
                    theirs.next();
                }
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_fold_to_one() {
        for spelling in ["Machine Learning", "machine-learning", " MACHINE_LEARNING ", "machine\u{2011}learning"] {
            assert_eq!(fold(spelling), "machine learning");
        }
        assert_eq!(fold("Ｃａｆｅ\u{301}"), "café");
    }

    #[test]
    fn a_set_counts_a_name_once() {
        let ours = Names::of(&["AI", "ai", "Rust", " "]);
        let theirs = Names::of(&["rust", "Chess", "Ai"]);

        assert_eq!(ours.len(), 2);
        assert_eq!(ours.shared(&theirs), 2);
        assert_eq!(theirs.shared(&ours), 2);
        assert_eq!(ours.shared(&Names::default()), 0);
    }
}
