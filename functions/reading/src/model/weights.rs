//! What clues speak for, as the labelled meetings have taught it.
//!
//! A logistic regression: the weights of all clues of one thing are added, and their sum says how likely it is. They stand
//! in files beside this one, one clue a line, in hundredths: what speaks for something is positive. They are learned by
//! `functions/reading/learn/src/main.rs` from the labelled meetings, never by hand.

use std::fmt::{Arguments, Write as _};
use std::hash::Hasher as _;
use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHasher};

use super::tellings::Telling;

/// About so many known clues a sentence has.
const CLUES: usize = 128;

/// What each clue speaks for or against, by columns.
#[derive(Debug)]
pub struct Weights<const COLUMNS: usize> {
    /// By the fingerprint of a clue the place of its weights: the clues themselves would take several times as much memory.
    places: FxHashMap<u64, u32>,
    weights: Vec<[i16; COLUMNS]>,
}

impl<const COLUMNS: usize> Weights<COLUMNS> {
    /// From lines of weights with the clue behind them. What is no such line is left out.
    #[must_use]
    pub fn read(lines: &str) -> Weights<COLUMNS> {
        let mut known = Weights { places: FxHashMap::default(), weights: Vec::new() };
        for line in lines.lines().filter(|line| !line.starts_with('#')) {
            if let Some((clue, weights)) = columns(line) {
                let place = u32::try_from(known.weights.len()).unwrap_or(u32::MAX);
                known.places.insert(fingerprint(clue), place);
                known.weights.push(weights);
            }
        }
        known
    }

    /// How likely something is by its clues, 0 … 1, by columns. A clue that is told twice counts once.
    pub fn likelihood(&self, clues: impl FnOnce(&mut dyn FnMut(&str))) -> [f64; COLUMNS] {
        let mut known: Vec<u32> = Vec::with_capacity(CLUES);
        clues(&mut |clue| known.extend(self.places.get(&fingerprint(clue))));
        known.sort_unstable();
        known.dedup();
        let mut sums = [0_i32; COLUMNS];
        for place in known {
            sums.iter_mut().zip(self.weights[place as usize]).for_each(|(sum, weight)| *sum += i32::from(weight));
        }
        sums.map(|sum| 1.0 / (1.0 + (-f64::from(sum) / 100.0).exp()))
    }
}

/// The weights of a line, and the clue behind them.
fn columns<const COLUMNS: usize>(line: &str) -> Option<(&str, [i16; COLUMNS])> {
    let mut columns = line.splitn(COLUMNS + 1, '\t');
    let mut weights = [0; COLUMNS];
    for weight in &mut weights {
        *weight = columns.next()?.parse().ok()?;
    }
    Some((columns.next()?, weights))
}

/// What stands for a clue. No two of a file have the same, which a test holds.
fn fingerprint(clue: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(clue.as_bytes());
    hasher.finish()
}

/// Tells clues, each as the words that make it.
pub(crate) struct Teller<'t> {
    /// The one that is being told.
    clue: String,
    tell: &'t mut dyn FnMut(&str),
}

impl<'t> Teller<'t> {
    pub(crate) fn new(tell: &'t mut dyn FnMut(&str)) -> Teller<'t> {
        Teller { clue: String::new(), tell }
    }

    pub(crate) fn tell(&mut self, clue: Arguments<'_>) {
        self.clue.clear();
        // Writing into a string cannot fail.
        let _ = self.clue.write_fmt(clue);
        (self.tell)(&self.clue);
    }

    /// A clue of some words, without formatting: most clues are such.
    pub(crate) fn words(&mut self, words: &[&str]) {
        self.run("", words);
    }

    /// A clue of some words behind what all such clues begin with.
    pub(crate) fn run(&mut self, begin: &str, words: &[&str]) {
        self.clue.clear();
        self.clue.push_str(begin);
        for word in words {
            if !self.clue.is_empty() {
                self.clue.push(' ');
            }
            self.clue.push_str(word);
        }
        (self.tell)(&self.clue);
    }
}

/// The step in which a number lies, for a clue.
pub(crate) fn step(number: usize, bounds: &[usize]) -> usize {
    bounds.partition_point(|bound| *bound < number)
}

/// All that is learned.
#[derive(Debug)]
pub struct Learned {
    /// Of a sentence: what it tells, by the columns of `tellings::Telling`.
    pub tellings: Weights<{ Telling::ALL.len() }>,
    /// Of a sentence and a noun phrase before it: whether that one is what it is about.
    pub referents: Weights<1>,
    /// Of a phrase: whether it is a topic.
    pub topics: Weights<1>,
}

static LEARNED: LazyLock<Learned> = LazyLock::new(|| {
    Learned::read([include_str!("likelihood.tsv"), include_str!("referents.tsv"), include_str!("topics.tsv")])
});

impl Learned {
    /// What is part of the program.
    #[must_use]
    pub fn known() -> &'static Learned {
        &LEARNED
    }

    /// From the lines of their files.
    #[must_use]
    pub fn read([tellings, referents, topics]: [&str; 3]) -> Learned {
        Learned {
            tellings: Weights::read(tellings),
            referents: Weights::read(referents),
            topics: Weights::read(topics),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_files_is_one() {
        let lines = |file: &'static str| file.lines().filter(|line| !line.starts_with('#')).count();
        let Learned { tellings, referents, topics } = Learned::known();
        assert_eq!(tellings.places.len(), lines(include_str!("likelihood.tsv")));
        assert_eq!(referents.places.len(), lines(include_str!("referents.tsv")));
        assert_eq!(topics.places.len(), lines(include_str!("topics.tsv")));
        assert!(tellings.places.contains_key(&fingerprint("always")));
        let always = fingerprint("always");
        assert!(referents.places.contains_key(&always) && topics.places.contains_key(&always));
    }

    #[test]
    fn a_clue_counts_once_and_one_that_is_unknown_not_at_all() {
        let weights = Weights::<1>::read("# weights\n100\train\n-50\tsun\nx\tbroken\n");
        let likelihood = |clues: &[&str]| weights.likelihood(|tell| clues.iter().for_each(|clue| tell(clue)))[0];
        assert!((likelihood(&[]) - 0.5).abs() < 1e-9);
        assert!(likelihood(&["rain"]) > likelihood(&["rain", "sun"]));
        assert!((likelihood(&["rain", "rain", "snow", "broken"]) - likelihood(&["rain"])).abs() < 1e-9);
    }
}
