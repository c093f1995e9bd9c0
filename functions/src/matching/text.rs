//! Similarity of profile texts: hashed TF-IDF vectors and their cosine.
//!
//! Terms are words and pairs of adjacent words, without stop words. They are hashed into a vector of fixed length with
//! a sign (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning"), so no dictionary is stored. The
//! weights of rare terms come from the texts of one run.

use std::collections::{HashMap, HashSet};
use std::hash::Hasher;
use std::sync::LazyLock;

use fnv::FnvHasher;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use reading::text::language::MEANINGFUL;

/// Length of a vector.
pub const DIMENSIONS: usize = 256;

/// The terms of one user's texts with their counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms(HashMap<String, u32>);

impl Terms {
    /// Returns the terms of several texts. A pair of words never spans two texts.
    ///
    /// Omits stop words of English and of those `languages` that are language codes ("de", "pt-BR").
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>, languages: &[String]) -> Terms {
        let further = further_stop_words(languages);
        let is_stop_word = |word: &str| ENGLISH.contains(word) || further.contains(word);
        let mut terms = HashMap::new();
        for text in texts {
            let normal: String = text.nfkc().flat_map(char::to_lowercase).collect();
            let words: Vec<&str> = normal.unicode_words().filter(|word| !is_stop_word(word)).collect();
            for word in &words {
                *terms.entry((*word).to_owned()).or_default() += 1;
            }
            for pair in words.windows(2) {
                *terms.entry(pair.join(" ")).or_default() += 1;
            }
        }
        Terms(terms)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Created once, because every text needs it.
static ENGLISH: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let list = stop_words::lookup("en").unwrap_or_default();
    list.iter().copied().filter(|word| !MEANINGFUL.contains(word)).collect()
});

/// Returns the stop words of the languages other than English.
fn further_stop_words(languages: &[String]) -> HashSet<&'static str> {
    let codes = languages.iter().filter_map(|language| language.split(['-', '_']).next()).map(str::to_lowercase);
    let lists = codes.filter(|code| code != "en").filter_map(stop_words::lookup);
    lists.flatten().copied().filter(|word| !MEANINGFUL.contains(word)).collect()
}

/// The number of texts of a run that contain each term.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    texts: usize,
    frequency: HashMap<String, u32>,
}

impl Corpus {
    /// Counts the terms of all users in the run.
    pub fn of<'a>(everybody: impl IntoIterator<Item = &'a Terms>) -> Corpus {
        let mut corpus = Corpus::default();
        for terms in everybody {
            corpus.texts += 1;
            for term in terms.0.keys() {
                *corpus.frequency.entry(term.clone()).or_default() += 1;
            }
        }
        corpus
    }

    /// Returns ln((1 + N) / (1 + df)) + 1: a term in all texts weighs 1, a rarer one more.
    fn weight(&self, term: &str) -> f64 {
        let frequency = self.frequency.get(term).copied().unwrap_or_default();
        ((1.0 + self.texts as f64) / (1.0 + f64::from(frequency))).ln() + 1.0
    }

    /// Returns the vector of one user's terms, of length 1; none if there are no terms.
    pub fn vector(&self, terms: &Terms) -> Option<Vector> {
        let mut values = vec![0.0; DIMENSIONS];
        // In the order of the terms, because the order of a sum affects its last digits.
        let mut sorted: Vec<(&String, &u32)> = terms.0.iter().collect();
        sorted.sort_unstable();
        for (term, count) in sorted {
            let (dimension, sign) = slot(term);
            values[dimension] += sign * f64::from(*count) * self.weight(term);
        }
        let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
        if norm == 0.0 {
            return None;
        }
        values.iter_mut().for_each(|value| *value /= norm);
        Some(Vector(values))
    }
}

/// Returns the position and sign of a term, from two ends of one hash.
fn slot(term: &str) -> (usize, f64) {
    let mut hasher = FnvHasher::default();
    hasher.write(term.as_bytes());
    let hash = hasher.finish();
    // FNV mixes upward: its low bits depend little on the last bytes, so the high half is folded in.
    let folded = hash ^ (hash >> 32);
    let sign = if (folded >> 16) & 1 == 0 { 1.0 } else { -1.0 };
    ((folded % DIMENSIONS as u64) as usize, sign)
}

/// A user's terms as a direction: [`DIMENSIONS`] values, of length 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Vec<f64>);

/// Returns the value of the feature `vectorSimilarity`: the cosine, at least 0; .5 if a user has no text.
pub fn similarity_value(a: Option<&Vector>, b: Option<&Vector>) -> f64 {
    match (a, b) {
        (Some(a), Some(b)) => a.0.iter().zip(&b.0).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0),
        (None, _) | (_, None) => 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Terms {
        Terms::of([text], &[])
    }

    fn similarity(a: &str, b: &str) -> f64 {
        let (a, b) = (terms(a), terms(b));
        let corpus = Corpus::of([&a, &b]);
        similarity_value(corpus.vector(&a).as_ref(), corpus.vector(&b).as_ref())
    }

    #[test]
    fn terms_are_words_and_pairs_without_stop_words() {
        let terms = terms("The Rust compiler, and the Rust language");

        let mut names: Vec<(&str, u32)> = terms.0.iter().map(|(term, count)| (term.as_str(), *count)).collect();
        names.sort_unstable();

        assert_eq!(
            names,
            [
                ("compiler", 1),
                ("compiler rust", 1),
                ("language", 1),
                ("rust", 2),
                ("rust compiler", 1),
                ("rust language", 1),
            ]
        );
    }

    #[test]
    fn stop_words_of_a_listed_language_are_left_out() {
        let text = "die Liebe und das Meer";

        assert!(Terms::of([text], &[]).0.contains_key("und"));
        assert!(!Terms::of([text], &["de-AT".to_owned()]).0.contains_key("und"));
    }

    #[test]
    fn like_texts_are_nearer_than_unlike_ones() {
        let own = "Building distributed databases in Rust";

        let same = similarity(own, own);
        let near = similarity(own, "I teach Rust and distributed systems");
        let far = similarity(own, "Italian cooking with my children");

        assert!((same - 1.0).abs() < 1e-9, "{same}");
        assert!(near > far, "{near} {far}");
        assert!(far < 0.3, "{far}");
    }

    #[test]
    fn no_text_is_neither_like_nor_unlike() {
        assert_eq!(similarity("", "Rust"), 0.5);
        assert_eq!(similarity("the and of", "Rust"), 0.5);
    }

    #[test]
    fn a_rare_term_weighs_more_than_one_that_everybody_uses() {
        let everybody = [terms("coffee rust"), terms("coffee chess"), terms("coffee opera")];
        let corpus = Corpus::of(&everybody);

        assert!((corpus.weight("coffee") - 1.0).abs() < 1e-9);
        assert!((corpus.weight("rust") - (1.0 + 2f64.ln())).abs() < 1e-9);
    }
}
