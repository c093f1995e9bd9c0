//! A table of lessons, and the weights that it teaches.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use crate::regression::{Settings, weights};

/// Lessons that a clue must stand in.
const LESSONS_MIN: usize = 4;
/// The smallest weight that is kept, hundredths.
const WEIGHT_MIN: f64 = 2.0;
/// Cost of the absolute value of a weight.
const THRIFT: f64 = 0.0;

#[allow(missing_docs)]
pub static EXP: std::sync::Mutex<(f64, f64, usize, f64, f64, bool)> = std::sync::Mutex::new((0.0, 2.0, 4, 0.0, 1.0, false));
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
        let (thrift, weight_min, lessons_min, prune, mul, relearn) = *EXP.lock().expect("");
        let lessons: Vec<&Lesson<COLUMNS>> = self.lessons.iter().filter(|lesson| is_taught(lesson.meeting)).collect();
        let mut having: Vec<Vec<u32>> = vec![Vec::new(); self.clues.len()];
        for (index, lesson) in (0..).zip(&lessons) {
            lesson.clues.iter().for_each(|clue| having[*clue as usize].push(index));
        }
        having.iter_mut().filter(|of| of.len() < lessons_min).for_each(Vec::clear);
        let fit = |having: &[Vec<u32>]| -> Vec<Vec<f64>> { (0..COLUMNS)
            .map(|column| {
                let tells: Vec<bool> = lessons.iter().map(|one| one.tells[column]).collect();
                weights(having, &tells, Settings { trust: self.trust[column] * mul, thrift })
            })
            .collect() };
        let mut columns = fit(&having);
        if relearn { for (i, of) in having.iter_mut().enumerate() { if columns.iter().all(|c| c[i].abs() * 100.0 < prune) { of.clear(); } } columns = fit(&having); }
        let mut lines = format!("# How much a clue speaks for {what}, in hundredths.\n# Learned; see `weights.rs`.\n");
        let mut clues: Vec<(&String, &u32)> = self.clues.iter().collect();
        clues.sort_unstable();
        for (clue, number) in clues {
            let own = columns.iter().map(|column| (column[*number as usize] * 100.0).round());
            let own: Vec<f64> = own.map(|weight| if weight.abs() < weight_min { 0.0 } else { weight }).collect();
            if own.iter().any(|weight| *weight != 0.0 && (relearn || weight.abs() >= prune)) {
                own.iter().for_each(|weight| _ = write!(lines, "{}\t", *weight as i32));
                let _ = writeln!(lines, "{clue}");
            }
        }
        lines
    }
}
