//! Clues in words, as the files of the weights have them.

use std::fmt::{Arguments, Write as _};

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
