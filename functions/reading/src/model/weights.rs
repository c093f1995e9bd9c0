//! Weights of features, learned from the labelled meetings.
//!
//! A logistic regression: the likelihood is the logistic function of the sum of the weights of all features. The
//! weights are in `.tsv` files beside this one, in hundredths, one feature per line. The crate in `learn/` writes these
//! files.

use std::borrow::Cow;
use std::sync::LazyLock;

use fst::{Error, Map};

use super::acts::Act;
use super::packing::{Packed, packed};

/// Known features of a typical sentence.
const FEATURES: usize = 128;
/// Bytes of a weight.
const BYTES: usize = size_of::<i16>();

/// The weights of each feature, one per column.
#[derive(Debug)]
pub struct Weights<const COLUMNS: usize> {
    /// The row of each feature.
    features: Map<Cow<'static, [u8]>>,
    weights: Cow<'static, [u8]>,
}

impl<const COLUMNS: usize> Weights<COLUMNS> {
    /// Reads lines of weights, each followed by its feature. Other lines are comments.
    ///
    /// # Errors
    /// The lines contain a feature twice.
    pub fn read(lines: &str) -> Result<Weights<COLUMNS>, Error> {
        let Packed { features, weights } = packed(lines)?;
        Weights::unpacked(features.into(), weights.into())
    }

    fn unpacked(features: Cow<'static, [u8]>, weights: Cow<'static, [u8]>) -> Result<Weights<COLUMNS>, Error> {
        let features = Map::new(features)?;
        assert_eq!(weights.len(), features.len() * COLUMNS * BYTES, "each feature has a weight per column");
        Ok(Weights { features, weights })
    }

    /// Returns the likelihood per column, 0 … 1. A repeated feature counts once.
    pub fn likelihood(&self, features: impl FnOnce(&mut dyn FnMut(&str))) -> [f64; COLUMNS] {
        let mut known: Vec<u64> = Vec::with_capacity(FEATURES);
        features(&mut |feature| known.extend(self.features.get(feature)));
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

/// All learned weights.
#[derive(Debug)]
pub struct Learned {
    /// Dialogue acts of a sentence, by the columns of [`Act`].
    pub acts: Weights<{ Act::ALL.len() }>,
    /// Reference of a sentence to an earlier noun phrase.
    pub referents: Weights<1>,
    /// Phrase as a topic.
    pub topics: Weights<1>,
}

/// Returns a table that the build script has packed.
macro_rules! table {
    ($name:literal) => {
        Weights::unpacked(
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".features")).into(),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".weights")).into(),
        )
        .expect("the build script packs what can be read")
    };
}

static LEARNED: LazyLock<Learned> =
    LazyLock::new(|| Learned { acts: table!("acts"), referents: table!("referents"), topics: table!("topics") });

impl Learned {
    /// Returns the built-in weights.
    #[must_use]
    pub fn known() -> &'static Learned {
        &LEARNED
    }

    /// Reads the lines of other tables.
    ///
    /// # Errors
    /// The lines of a table contain a feature twice.
    pub fn read([acts, referents, topics]: [&str; 3]) -> Result<Learned, Error> {
        Ok(Learned { acts: Weights::read(acts)?, referents: Weights::read(referents)?, topics: Weights::read(topics)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The highest number of bytes of all built-in tables together.
    const PACKED_MAX: usize = 1_000_000;

    #[test]
    fn every_line_of_the_files_is_packed_into_a_megabyte() {
        let lines = |file: &str| file.lines().filter(|line| !line.starts_with('#')).count();
        let Learned { acts, referents, topics } = Learned::known();
        assert_eq!(acts.features.len(), lines(include_str!("acts.tsv")));
        assert_eq!(referents.features.len(), lines(include_str!("referents.tsv")));
        assert_eq!(topics.features.len(), lines(include_str!("topics.tsv")));
        assert!(acts.features.contains_key("always") && topics.features.contains_key("always"));
        let size = |features: &Map<Cow<'_, [u8]>>, weights: &[u8]| features.as_fst().size() + weights.len();
        let sizes = [
            size(&acts.features, &acts.weights),
            size(&referents.features, &referents.weights),
            size(&topics.features, &topics.weights),
        ];
        assert!(sizes.iter().sum::<usize>() <= PACKED_MAX, "{sizes:?}");
    }

    #[test]
    fn repeated_feature_counts_once_and_unknown_feature_never() {
        let weights = Weights::<1>::read("# weights\n100\train\n-50\tsun\nx\tbroken\n").unwrap();
        let likelihood =
            |features: &[&str]| weights.likelihood(|emit| features.iter().for_each(|feature| emit(feature)))[0];
        assert!((likelihood(&[]) - 0.5).abs() < 1e-9);
        assert!(likelihood(&["rain"]) > likelihood(&["rain", "sun"]));
        assert!((likelihood(&["rain", "rain", "snow", "broken"]) - likelihood(&["rain"])).abs() < 1e-9);
    }

    #[test]
    fn duplicate_feature_is_rejected() {
        assert!(Weights::<1>::read("1\train\n2\train\n").is_err());
    }
}
