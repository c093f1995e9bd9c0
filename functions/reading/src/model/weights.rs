//! Weights of clues, learned from the labelled meetings.
//!
//! A logistic regression: the weights of all clues of a thing are added, and their sum tells how likely it is. The weights
//! lie in the `.tsv` files beside this one, a clue per line, in hundredths. The crate in `learn/` writes them; they are not
//! edited by hand.

use std::borrow::Cow;
use std::sync::LazyLock;

use fst::{Error, Map};

use super::packing::{Packed, packed};
use super::tellings::Telling;

/// Known clues of a usual sentence.
const CLUES: usize = 128;
/// Bytes of a weight.
const BYTES: usize = size_of::<i16>();

/// The weights of each clue, one per column.
#[derive(Debug)]
pub struct Weights<const COLUMNS: usize> {
    /// The row of each clue.
    clues: Map<Cow<'static, [u8]>>,
    weights: Cow<'static, [u8]>,
}

impl<const COLUMNS: usize> Weights<COLUMNS> {
    /// Reads lines of weights, each with its clue behind it. Lines of another form are comments.
    ///
    /// # Errors
    /// If the lines have a clue twice.
    pub fn read(lines: &str) -> Result<Weights<COLUMNS>, Error> {
        let Packed { clues, weights } = packed(lines)?;
        Weights::unpacked(clues.into(), weights.into())
    }

    fn unpacked(clues: Cow<'static, [u8]>, weights: Cow<'static, [u8]>) -> Result<Weights<COLUMNS>, Error> {
        let clues = Map::new(clues)?;
        assert_eq!(weights.len(), clues.len() * COLUMNS * BYTES, "each clue has a weight per column");
        Ok(Weights { clues, weights })
    }

    /// How likely something is by its clues, from 0 to 1, per column. A repeated clue counts once.
    pub fn likelihood(&self, clues: impl FnOnce(&mut dyn FnMut(&str))) -> [f64; COLUMNS] {
        let mut known: Vec<u64> = Vec::with_capacity(CLUES);
        clues(&mut |clue| known.extend(self.clues.get(clue)));
        known.sort_unstable();
        known.dedup();
        let mut sums = [0_i32; COLUMNS];
        for row in known {
            let start = row as usize * COLUMNS * BYTES;
            let (weights, _) = self.weights[start..].as_chunks::<BYTES>();
            sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += i32::from(i16::from_le_bytes(*weight)));
        }
        sums.map(|sum| 1.0 / (1.0 + (-f64::from(sum) / 100.0).exp()))
    }
}

/// All that is learned.
#[derive(Debug)]
pub struct Learned {
    /// Of a sentence: what it tells, by the columns of [`Telling`].
    pub tellings: Weights<{ Telling::ALL.len() }>,
    /// Of a sentence and a noun phrase before it: whether the sentence is about that one.
    pub referents: Weights<1>,
    /// Of a phrase: whether it is a topic.
    pub topics: Weights<1>,
}

/// A table that the build script has packed.
macro_rules! table {
    ($name:literal) => {
        Weights::unpacked(
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".clues")).into(),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".weights")).into(),
        )
        .expect("the build script packs what can be read")
    };
}

static LEARNED: LazyLock<Learned> = LazyLock::new(|| Learned {
    tellings: table!("tellings"),
    referents: table!("referents"),
    topics: table!("topics"),
});

impl Learned {
    /// The weights that are part of the program.
    #[must_use]
    pub fn known() -> &'static Learned {
        &LEARNED
    }

    /// Reads the lines of other tables.
    ///
    /// # Errors
    /// If the lines of a table have a clue twice.
    pub fn read([tellings, referents, topics]: [&str; 3]) -> Result<Learned, Error> {
        Ok(Learned {
            tellings: Weights::read(tellings)?,
            referents: Weights::read(referents)?,
            topics: Weights::read(topics)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_files_is_packed() {
        let lines = |file: &str| file.lines().filter(|line| !line.starts_with('#')).count();
        let Learned { tellings, referents, topics } = Learned::known();
        assert_eq!(tellings.clues.len(), lines(include_str!("tellings.tsv")));
        assert_eq!(referents.clues.len(), lines(include_str!("referents.tsv")));
        assert_eq!(topics.clues.len(), lines(include_str!("topics.tsv")));
        assert!([&tellings.clues, &referents.clues, &topics.clues].iter().all(|clues| clues.contains_key("always")));
    }

    #[test]
    fn repeated_clue_counts_once_and_unknown_clue_never() {
        let weights = Weights::<1>::read("# weights\n100\train\n-50\tsun\nx\tbroken\n").unwrap();
        let likelihood = |clues: &[&str]| weights.likelihood(|tell| clues.iter().for_each(|clue| tell(clue)))[0];
        assert!((likelihood(&[]) - 0.5).abs() < 1e-9);
        assert!(likelihood(&["rain"]) > likelihood(&["rain", "sun"]));
        assert!((likelihood(&["rain", "rain", "snow", "broken"]) - likelihood(&["rain"])).abs() < 1e-9);
    }

    #[test]
    fn clue_that_stands_there_twice_is_refused() {
        assert!(Weights::<1>::read("1\train\n2\train\n").is_err());
    }
}
