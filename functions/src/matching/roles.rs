//! Complementary roles.

use super::names::Names;

/// Pairs of roles that complement each other, in either order.
const COMPLEMENTARY: [(&str, &str); 8] = [
    ("mentor", "mentee"),
    ("mentor", "junior"),
    ("founder", "investor"),
    ("founder", "advisor"),
    ("investor", "entrepreneur"),
    ("technical", "business"),
    ("technical", "product"),
    ("business", "engineering"),
];

/// Returns the value of the feature `roleComplementarity`: that of the best pair of roles, or .7 if a user has none.
pub fn roles_value(a: &Names, b: &Names) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.7;
    }
    let complementary = a.iter().any(|ours| b.iter().any(|theirs| complement(ours, theirs)));
    if complementary {
        1.0
    } else if a.shared(b) > 0 {
        0.7
    } else {
        0.0
    }
}

/// Returns true if two roles, in lower case, are complementary.
pub fn complement(a: &str, b: &str) -> bool {
    COMPLEMENTARY.contains(&(a, b)) || COMPLEMENTARY.contains(&(b, a))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(a: &[&str], b: &[&str]) -> f64 {
        roles_value(&Names::of(a), &Names::of(b))
    }

    #[test]
    fn the_best_pair_counts_in_either_order() {
        assert_eq!(value(&["Mentor"], &["mentee"]), 1.0);
        assert_eq!(value(&["junior", "chess player"], &["mentor"]), 1.0);
        assert_eq!(value(&["engineering"], &["business"]), 1.0);
        assert_eq!(value(&["founder"], &["Founder"]), 0.7);
        assert_eq!(value(&["founder"], &["mentee"]), 0.0);
        assert_eq!(value(&[], &["mentee"]), 0.7);
    }
}
