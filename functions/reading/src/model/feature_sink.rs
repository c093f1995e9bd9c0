//! Features as text, in the form of the files of weights.

use std::fmt::{Arguments, Write as _};

/// Passes each feature on as words with spaces between.
pub(crate) struct FeatureSink<'t> {
    /// Buffer of the current feature.
    feature: String,
    emit: &'t mut dyn FnMut(&str),
}

impl<'t> FeatureSink<'t> {
    pub(crate) fn new(emit: &'t mut dyn FnMut(&str)) -> FeatureSink<'t> {
        FeatureSink { feature: String::new(), emit }
    }

    pub(crate) fn format(&mut self, feature: Arguments<'_>) {
        self.feature.clear();
        // Writing into a string cannot fail.
        let _ = self.feature.write_fmt(feature);
        (self.emit)(&self.feature);
    }

    /// Emits a feature of some words. Most features take this path, which formats nothing.
    pub(crate) fn words(&mut self, words: &[&str]) {
        self.run("", words);
    }

    /// Emits a feature of some words with a common prefix.
    pub(crate) fn run(&mut self, begin: &str, words: &[&str]) {
        self.feature.clear();
        self.feature.push_str(begin);
        for word in words {
            if !self.feature.is_empty() {
                self.feature.push(' ');
            }
            self.feature.push_str(word);
        }
        (self.emit)(&self.feature);
    }
}

/// Returns the number of bounds below a number, so that close numbers give the same feature.
pub(crate) fn step(number: usize, bounds: &[usize]) -> usize {
    bounds.partition_point(|bound| *bound < number)
}
