//! YAKE: scores phrases by frequency, position and surrounding words.
//!
//! Campos et al., "YAKE! Keyword extraction from single documents using multiple local features", Information Sciences
//! 509 (2020), with windows of one word and phrases of up to three. This is our own code because it must use the same
//! sentences, stop words and stems as all other steps, in every language, and add its sums in a fixed order: the crate
//! adds them in the order of a randomly seeded hash map.

use std::collections::{HashMap, HashSet};

use super::candidates::Candidate;
use crate::text::sentences::{Text, WordClass};

/// Statistics of every term and of adjacent terms.
pub(super) struct Scores {
    terms: Vec<TermScore>,
    /// Number of times that the second term follows the first.
    followed: HashMap<(u32, u32), usize>,
}

#[derive(Clone, Default)]
struct TermScore {
    count: usize,
    score: f64,
}

/// Statistics of one term.
#[derive(Clone, Default)]
struct Count {
    all: usize,
    capital: usize,
    acronym: usize,
    content: bool,
    /// Ascending, without duplicates.
    sentences: Vec<usize>,
    left: HashSet<u32>,
    left_all: usize,
    right: HashSet<u32>,
    right_all: usize,
}

impl Scores {
    pub(super) fn of(text: &Text) -> Scores {
        let (counts, followed) = counted(text);
        let content: Vec<f64> = counts.iter().filter(|c| c.content).map(|c| float(c.all)).collect();
        let (mean, deviation) = mean_and_deviation(&content);
        let usual = mean + deviation;
        let most = float(counts.iter().map(|count| count.all).max().unwrap_or(0));
        let sentences = float(text.sentences.len());
        let terms = counts
            .iter()
            .map(|count| TermScore { count: count.all, score: count.score(usual, most, sentences) })
            .collect();
        Scores { terms, followed }
    }

    pub(super) fn phrase(&self, candidate: &Candidate, text: &Text) -> f64 {
        let words = candidate.words(text, candidate.places[0]);
        let (mut product, mut sum) = (1.0, 0.0);
        for (at, word) in words.iter().enumerate() {
            if word.class == WordClass::Content {
                let score = self.terms[word.term as usize].score;
                product *= score;
                sum += score;
            } else if at > 0 && at + 1 < words.len() {
                // An inner stop word counts by how closely it connects its neighbours.
                let tie = self.tie(words[at - 1].term, word.term) * self.tie(word.term, words[at + 1].term);
                product *= 1.0 + (1.0 - tie);
                sum -= 1.0 - tie;
            }
        }
        // The sum of a phrase with a weak stop word can be close to -1, where the quotient is meaningless.
        product / (float(candidate.places.len()) * f64::max(1.0 + sum, 0.1))
    }

    /// Number of occurrences of a term.
    pub(super) fn count(&self, term: u32) -> usize {
        self.terms[term as usize].count
    }

    /// Fraction of the rarer term's occurrences in which both are adjacent.
    fn tie(&self, left: u32, right: u32) -> f64 {
        let together = float(self.followed.get(&(left, right)).copied().unwrap_or(0));
        together / float(self.count(left).min(self.count(right)))
    }
}

impl Count {
    fn score(&self, usual: f64, most: f64, sentences: f64) -> f64 {
        if !self.content || self.all == 0 {
            return 0.0;
        }
        let all = float(self.all);
        let case = float(self.capital.max(self.acronym)) / (1.0 + all.ln());
        let position = (3.0 + median(&self.sentences)).ln().ln();
        let dispersion = share(self.left.len(), self.left_all) + share(self.right.len(), self.right_all);
        let related = 1.0 + dispersion * (all / most);
        let spread = float(self.sentences.len()) / sentences;
        (related * position) / (case + (all / usual) / related + spread / related)
    }
}

fn counted(text: &Text) -> (Vec<Count>, HashMap<(u32, u32), usize>) {
    let mut counts = vec![Count::default(); text.terms as usize];
    let mut followed: HashMap<(u32, u32), usize> = HashMap::new();
    for (s, sentence) in text.sentences.iter().enumerate() {
        for (w, word) in sentence.words.iter().enumerate() {
            let count = &mut counts[word.term as usize];
            count.all += 1;
            count.content |= word.class == WordClass::Content;
            count.acronym += usize::from(is_acronym(&word.surface));
            // Every word at the beginning of a sentence has a capital.
            count.capital += usize::from(w > 0 && word.surface.chars().next().is_some_and(char::is_uppercase));
            if count.sentences.last() != Some(&s) {
                count.sentences.push(s);
            }
            if w > 0 && !word.after_break {
                let left = sentence.words[w - 1].term;
                *followed.entry((left, word.term)).or_default() += 1;
                counts[word.term as usize].left.insert(left);
                counts[word.term as usize].left_all += 1;
                counts[left as usize].right.insert(word.term);
                counts[left as usize].right_all += 1;
            }
        }
    }
    (counts, followed)
}

fn is_acronym(surface: &str) -> bool {
    surface.chars().nth(1).is_some() && surface.chars().all(char::is_uppercase)
}

/// Fraction of distinct neighbours among all neighbours: low for a word of fixed phrases.
fn share(different: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { float(different) / float(all) }
}

fn median(ascending: &[usize]) -> f64 {
    let half = ascending.len() / 2;
    match ascending {
        [] => 0.0,
        _ if ascending.len().is_multiple_of(2) => f64::midpoint(float(ascending[half - 1]), float(ascending[half])),
        _ => float(ascending[half]),
    }
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let number = float(values.len());
    let mean = values.iter().sum::<f64>() / number;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / number;
    (mean, variance.sqrt())
}

fn float(count: usize) -> f64 {
    count as f64
}
