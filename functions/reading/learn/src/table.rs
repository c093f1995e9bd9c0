//! A table of lessons, and the weights that it teaches.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use crate::regression::weights;

/// Lessons that a clue must stand in.
const LESSONS_MIN: usize = 4;
/// The smallest weight that is written, hundredths.
const WEIGHT_MIN: f64 = 2.0;
/// A clue whose weights are all smaller, hundredths, is left out, and the weights of the others are learned again without it.
const LEFT_OUT: f64 = 10.0;

/// What is to be told apart, with its clues.
pub(crate) struct Table<const COLUMNS: usize> {
    /// The number of each clue.
    clues: FxHashMap<String, u32>,
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
        Table { clues: FxHashMap::default(), lessons: Vec::new(), trust }
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
        let all = self.columns(&lessons, &having);
        for (clue, of) in having.iter_mut().enumerate() {
            if all.iter().all(|column| hundredths(column[clue]).abs() < LEFT_OUT) {
                of.clear();
            }
        }
        let columns = self.columns(&lessons, &having);
        let mut clues: Vec<(&String, &u32)> = self.clues.iter().collect();
        clues.sort_unstable();
        let mut lines = format!("# How much a clue speaks for {what}, in hundredths.\n# Learned; see `weights.rs`.\n");
        for (clue, number) in clues {
            let own = columns.iter().map(|column| hundredths(column[*number as usize]));
            let own: Vec<f64> = own.map(|weight| if weight.abs() < WEIGHT_MIN { 0.0 } else { weight }).collect();
            if own.iter().any(|weight| *weight != 0.0) {
                own.iter().for_each(|weight| _ = write!(lines, "{}\t", *weight as i32));
                let _ = writeln!(lines, "{clue}");
            }
        }
        lines
    }

    /// The weights of all clues, by column; `having` has the lessons of each clue.
    fn columns(&self, lessons: &[&Lesson<COLUMNS>], having: &[Vec<u32>]) -> Vec<Vec<f64>> {
        let column = |(column, trust): (usize, &f64)| {
            let tells: Vec<bool> = lessons.iter().map(|one| one.tells[column]).collect();
            weights(having, &tells, *trust)
        };
        self.trust.iter().enumerate().map(column).collect()
    }
}

fn hundredths(weight: f64) -> f64 {
    (weight * 100.0).round()
}
