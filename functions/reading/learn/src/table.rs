//! A table of lessons, and the weights that it teaches.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::regression::{Settings, weights};

/// Lessons that a clue must stand in.
const LESSONS_MIN: usize = 4;
/// The smallest weight that is kept, hundredths.
const WEIGHT_MIN: f64 = 2.0;
/// Cost of the absolute value of a weight.
const THRIFT: f64 = 0.0;

/// What is to be told apart, with its clues.
pub(crate) struct Table<const COLUMNS: usize> {
    /// The number of each clue.
    clues: BTreeMap<String, u32>,
    lessons: Vec<Lesson<COLUMNS>>,
    trust: [f64; COLUMNS],
}

struct Lesson<const COLUMNS: usize> {
    meeting: usize,
    clues: Vec<u32>,
    tells: [bool; COLUMNS],
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(crate) fn new(trust: [f64; COLUMNS]) -> Table<COLUMNS> {
        Table { clues: BTreeMap::new(), lessons: Vec::new(), trust }
    }

    pub(crate) fn number(&mut self, clue: &str) -> u32 {
        if let Some(known) = self.clues.get(clue) {
            return *known;
        }
        let next = u32::try_from(self.clues.len()).expect("a corpus has fewer clues");
        self.clues.insert(clue.to_owned(), next);
        next
    }

    pub(crate) fn add(&mut self, meeting: usize, clues: BTreeSet<u32>, tells: [bool; COLUMNS]) {
        self.lessons.push(Lesson { meeting, clues: clues.into_iter().collect(), tells });
    }

    /// The weights as the lines of their file, by clue.
    pub(crate) fn learned(&self, what: &str, is_taught: impl Fn(usize) -> bool) -> String {
        let lessons: Vec<&Lesson<COLUMNS>> = self.lessons.iter().filter(|lesson| is_taught(lesson.meeting)).collect();
        let mut having: Vec<Vec<u32>> = vec![Vec::new(); self.clues.len()];
        for (index, lesson) in (0..).zip(&lessons) {
            lesson.clues.iter().for_each(|clue| having[*clue as usize].push(index));
        }
        having.iter_mut().filter(|of| of.len() < LESSONS_MIN).for_each(Vec::clear);
        let columns: Vec<Vec<f64>> = (0..COLUMNS)
            .map(|column| {
                let tells: Vec<bool> = lessons.iter().map(|one| one.tells[column]).collect();
                weights(&having, &tells, Settings { trust: self.trust[column], thrift: THRIFT })
            })
            .collect();
        let mut lines = format!("# How much a clue speaks for {what}, in hundredths.\n# Learned; see `weights.rs`.\n");
        for (clue, number) in &self.clues {
            let own = columns.iter().map(|column| (column[*number as usize] * 100.0).round());
            let own: Vec<f64> = own.map(|weight| if weight.abs() < WEIGHT_MIN { 0.0 } else { weight }).collect();
            if own.iter().any(|weight| *weight != 0.0) {
                own.iter().for_each(|weight| _ = write!(lines, "{}\t", *weight as i32));
                let _ = writeln!(lines, "{clue}");
            }
        }
        lines
    }
}
