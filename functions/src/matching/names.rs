//! When two written names are the same name.
//!
//! Owns the folding of what people type (interests, companies, roles, fields, languages) and sets of such names.

use unicode_normalization::UnicodeNormalization;

/// The form in which two spellings of one name are equal: compatibility forms made one (NFKC), lower case, dashes,
/// underscores and runs of white space a single space, ends trimmed.
pub fn fold(name: &str) -> String {
    let spaced: String = name
        .nfkc()
        .flat_map(char::to_lowercase)
        .map(|letter| if is_dash(letter) || letter.is_whitespace() { ' ' } else { letter })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A folded name, or none if nothing is left of it.
pub fn fold_some(name: Option<&str>) -> Option<String> {
    name.map(fold).filter(|folded| !folded.is_empty())
}

fn is_dash(letter: char) -> bool {
    matches!(letter, '-' | '_' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// A set of folded names, sorted, so that two of them are compared in one walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(Vec<String>);

impl Names {
    /// The names, each once however often and however it is written. Empty ones are left out.
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

    /// How many names both sets have.
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
