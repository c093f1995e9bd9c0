//! The printed report, one line per comparison, and the recorded results.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Slowdown relative to the peer at which `--quick` fails, far above the noise of a machine.
const MARGIN: f64 = 1.5;

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
    title: String,
    target: f64,
    turns: Vec<(Turn, Turn)>,
}

impl Comparison {
    pub(crate) fn new(title: String, target: f64) -> Self {
        Self { title, target, turns: Vec::new() }
    }

    pub(crate) fn add(&mut self, ours: Turn, theirs: Turn) {
        self.turns.push((ours, theirs));
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// The median of the rounds' ratios.
    pub(crate) fn ratio(&self) -> f64 {
        median(&sorted(self.turns.iter().map(|(ours, theirs)| ours.rate / theirs.rate)))
    }

    /// CPU time of a request beside the peer's.
    fn cpu_ratio(&self) -> f64 {
        median(&sorted(self.turns.iter().map(|(ours, theirs)| ours.cpu_us / theirs.cpu_us)))
    }

    pub(crate) fn print(&self) {
        let ratios = sorted(self.turns.iter().map(|(ours, theirs)| ours.rate / theirs.rate));
        let (Some(least), Some(greatest)) = (ratios.first(), ratios.last()) else { return };
        let ours = |of: fn(&Turn) -> f64| median(&sorted(self.turns.iter().map(|(ours, _)| of(ours))));
        let theirs = |of: fn(&Turn) -> f64| median(&sorted(self.turns.iter().map(|(_, theirs)| of(theirs))));
        println!(
            "{:54} {:5.2} [{least:5.2} … {greatest:5.2}]  {}  {:>8.0} {:>8.0}  {:>7.1} {:>7.1}",
            self.title,
            self.ratio(),
            target(self.target, self.ratio()),
            ours(|turn| turn.rate),
            theirs(|turn| turn.rate),
            ours(|turn| turn.cpu_us),
            theirs(|turn| turn.cpu_us),
        );
    }
}

/// A line of a figure that is to be no more than `most`.
pub(crate) fn print_most(title: &str, most: f64, figure: f64, unit: &str) {
    println!("{title:54} {figure:7.1} {unit} ≤ {most:3.0} {}", if figure <= most { "yes" } else { "NO " });
}

/// A line of a ratio alone.
pub(crate) fn print_ratio(title: &str, least: f64, ratio: f64) {
    println!("{title:54} {ratio:5.2} {:18} {}", "", target(least, ratio));
}

fn target(target: f64, ratio: f64) -> String {
    match target {
        0.0 => " ".repeat(10),
        target => format!("≥ {target:4.2} {}", if ratio >= target { "yes" } else { "NO " }),
    }
}

/// Explains the columns and the setup.
pub(crate) fn print_head(rounds: usize, time: Duration, connections: usize) {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{rounds} rounds of {time:?} a contender, {connections} connections, {cores} cores, load on one of them");
    println!("SQLite in WAL with synchronous=FULL: every acknowledged write is on disk\n");
    println!(
        "{:54} {:5} [{:5} … {:5}]  {:10}  {:>8} {:>8}  {:>7} {:>7}",
        "", "ratio", "least", "most", "target", "ours/s", "theirs/s", "µs CPU", "theirs"
    );
}

/// CPU time of a call beside the peer's as it was when a person last looked, by title.
pub(crate) struct Recorded(BTreeMap<String, f64>);

impl Recorded {
    pub(crate) fn read() -> Self {
        let text = std::fs::read_to_string(Self::file()).unwrap_or_default();
        Self(toml::from_str(&text).expect("recorded.toml has a number for each title"))
    }

    fn file() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/calls/recorded.toml")
    }

    /// Returns true if this call has not become much dearer.
    pub(crate) fn holds(&self, comparison: &Comparison) -> bool {
        self.0.get(comparison.title()).is_none_or(|before| comparison.cpu_ratio() <= before * MARGIN)
    }

    /// Returns true if no call has become much dearer; says which.
    pub(crate) fn still_holds(&self, comparisons: &[Comparison]) -> bool {
        let dearer: Vec<&Comparison> = comparisons.iter().filter(|comparison| !self.holds(comparison)).collect();
        for comparison in &dearer {
            println!(
                "{}: {:.2} times the CPU of the peer, recorded were {:.2}. If it is meant, record it anew: \
                 cargo bench -p convoke --bench calls -- --quick --record",
                comparison.title(),
                comparison.cpu_ratio(),
                self.0[comparison.title()],
            );
        }
        dearer.is_empty()
    }

    pub(crate) fn write(self, comparisons: &[Comparison]) {
        let mut all = self.0;
        let rounded = |ratio: f64| (ratio * 100.0).round() / 100.0;
        all.extend(comparisons.iter().map(|one| (one.title().to_owned(), rounded(one.cpu_ratio()))));
        let text = toml::to_string(&all).expect("numbers by title are a table");
        let head = "# CPU time of a call beside its peer's, as `cargo bench -p convoke --bench calls -- --quick --record` saw it.\n";
        std::fs::write(Self::file(), format!("{head}{text}")).unwrap();
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
