//! What is printed: a line a comparison.

use std::time::Duration;

/// One contender's turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Requests a second.
    pub rate: f64,
    /// CPU time of the server a request, in microseconds.
    pub cpu_us: f64,
}

/// A contender beside another.
pub(crate) struct Comparison {
    title: &'static str,
    target: f64,
    turns: Vec<(Turn, Turn)>,
}

impl Comparison {
    pub(crate) fn new(title: &'static str, target: f64) -> Self {
        Self { title, target, turns: Vec::new() }
    }

    pub(crate) fn add(&mut self, ours: Turn, theirs: Turn) {
        self.turns.push((ours, theirs));
    }

    pub(crate) fn print(&self) {
        let ratios = sorted(self.turns.iter().map(|(ours, theirs)| ours.rate / theirs.rate));
        let (Some(least), Some(greatest)) = (ratios.first(), ratios.last()) else { return };
        let ratio = median(&ratios);
        let ours = |of: fn(&Turn) -> f64| median(&sorted(self.turns.iter().map(|(ours, _)| of(ours))));
        let theirs = |of: fn(&Turn) -> f64| median(&sorted(self.turns.iter().map(|(_, theirs)| of(theirs))));
        println!(
            "{:42} {ratio:5.2} [{least:5.2} … {greatest:5.2}]  ≥ {:4.2} {}  {:>8.0} {:>8.0}  {:>7.1} {:>7.1}",
            self.title,
            self.target,
            if ratio >= self.target { "yes" } else { "NO " },
            ours(|turn| turn.rate),
            theirs(|turn| turn.rate),
            ours(|turn| turn.cpu_us),
            theirs(|turn| turn.cpu_us),
        );
    }
}

/// What the columns are, and what was measured on what.
pub(crate) fn print_head(rounds: usize, time: Duration, connections: usize) {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{rounds} rounds of {time:?} a contender, {connections} connections, {cores} cores, load on one of them");
    println!("SQLite in WAL with synchronous=FULL: every acknowledged write is on disk\n");
    println!(
        "{:42} {:5} [{:5} … {:5}]  {:10}  {:>8} {:>8}  {:>7} {:>7}",
        "", "ratio", "least", "most", "target", "ours/s", "theirs/s", "µs CPU", "theirs"
    );
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
