//! Examples of one classifier, and the learned weights.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use crate::regression::weights;

/// Fewest examples of a feature.
const EXAMPLES_MIN: usize = 4;
/// Smallest written weight, in hundredths.
const WEIGHT_MIN: f64 = 2.0;
/// Features with only smaller weights are pruned. The weights of the others are then learned again.
const PRUNED_BELOW: f64 = 0.1;

/// Examples with their features and labels.
pub(crate) struct Table<const COLUMNS: usize> {
    /// The number of each feature.
    features: FxHashMap<String, u32>,
    examples: Vec<Example<COLUMNS>>,
    /// The weight of an example against the penalty, by column.
    example_weights: [f64; COLUMNS],
}

struct Example<const COLUMNS: usize> {
    meeting: usize,
    features: Vec<u32>,
    labels: [bool; COLUMNS],
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(crate) fn new(example_weights: [f64; COLUMNS]) -> Table<COLUMNS> {
        Table { features: FxHashMap::default(), examples: Vec::new(), example_weights }
    }

    pub(crate) fn number(&mut self, feature: &str) -> u32 {
        if let Some(known) = self.features.get(feature) {
            return *known;
        }
        let next = u32::try_from(self.features.len()).expect("a corpus has fewer features");
        self.features.insert(feature.to_owned(), next);
        next
    }

    pub(crate) fn add(&mut self, meeting: usize, features: BTreeSet<u32>, labels: [bool; COLUMNS]) {
        self.examples.push(Example { meeting, features: features.into_iter().collect(), labels });
    }

    /// Returns the weights as the lines of their file, by feature.
    pub(crate) fn learned(&self, what: &str, is_taught: impl Fn(usize) -> bool) -> String {
        let examples: Vec<&Example<COLUMNS>> =
            self.examples.iter().filter(|example| is_taught(example.meeting)).collect();
        let mut examples_of: Vec<Vec<u32>> = vec![Vec::new(); self.features.len()];
        for (index, example) in (0..).zip(&examples) {
            example.features.iter().for_each(|feature| examples_of[*feature as usize].push(index));
        }
        examples_of.iter_mut().filter(|of| of.len() < EXAMPLES_MIN).for_each(Vec::clear);
        let all = self.columns(&examples, &examples_of);
        for (feature, of) in examples_of.iter_mut().enumerate() {
            if all.iter().all(|column| column[feature].abs() < PRUNED_BELOW) {
                of.clear();
            }
        }
        let columns = self.columns(&examples, &examples_of);
        let mut features: Vec<(&String, &u32)> = self.features.iter().collect();
        features.sort_unstable();
        let mut lines =
            format!("# How much a feature speaks for {what}, in hundredths.\n# Learned; see `weights.rs`.\n");
        for (feature, number) in features {
            let own = columns.iter().map(|column| hundredths(column[*number as usize]));
            let own: Vec<f64> = own.map(|weight| if weight.abs() < WEIGHT_MIN { 0.0 } else { weight }).collect();
            if own.iter().any(|weight| *weight != 0.0) {
                own.iter().for_each(|weight| _ = write!(lines, "{}\t", *weight as i32));
                let _ = writeln!(lines, "{feature}");
            }
        }
        lines
    }

    /// Returns the weights of all features, by column; `examples_of` has the examples of each feature.
    fn columns(&self, examples: &[&Example<COLUMNS>], examples_of: &[Vec<u32>]) -> Vec<Vec<f64>> {
        let column = |(column, example_weight): (usize, &f64)| {
            let labels: Vec<bool> = examples.iter().map(|one| one.labels[column]).collect();
            weights(examples_of, &labels, *example_weight)
        };
        self.example_weights.iter().enumerate().map(column).collect()
    }
}

fn hundredths(weight: f64) -> f64 {
    (weight * 100.0).round()
}
