//! Histograms of latencies over a span of time: record, pack, add up, and compute percentiles.
//!
//! A packed histogram has the V2 format of HdrHistogram, which other tools read. Packed histograms are added up without
//! unpacking them one by one. A week of a busy function is ten thousand of them, and the library would first read each
//! into a histogram of up to 24,576 cells.

use std::ops::AddAssign;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2Serializer};

/// Greatest latency that is recorded exactly: an hour, in µs.
pub(crate) const LATENCY_US_MAX: u64 = 3_600_000_000;
/// Significant decimal digits: values in one cell differ by less than 0.1 %.
pub(crate) const DIGITS: u8 = 3;
/// Number of cells of width 1. Each further group of half as many cells has twice the width. It follows from the
/// digits.
const CELLS: usize = 2_048;
const HALF: usize = CELLS / 2;
/// Number of cells up to an hour.
const CELLS_MAX: usize = 24 * HALF;
/// Bytes before the counts in the V2 format.
const V2_HEADER_BYTES: usize = 40;

/// Counts and sums of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    pub calls: u64,
    pub errors: u64,
    /// Calls by the scheduler.
    pub scheduled: u64,
    pub latency_us: u64,
}

impl AddAssign for Stats {
    fn add_assign(&mut self, more: Self) {
        self.calls += more.calls;
        self.errors += more.errors;
        self.scheduled += more.scheduled;
        self.latency_us += more.latency_us;
    }
}

/// The calls of one function in one span of time, packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Start of the span, in ms since the epoch.
    pub start: i64,
    pub stats: Stats,
    /// The latencies, in the V2 format.
    pub packed: Box<[u8]>,
}

pub(crate) fn pack<C: hdrhistogram::Counter>(histogram: &Histogram<C>) -> Box<[u8]> {
    let mut packed = Vec::new();
    let written = V2Serializer::new().serialize(histogram, &mut packed);
    debug_assert!(written.is_ok(), "a histogram of fewer than 2^63 calls is written to memory");
    packed.into()
}

/// The sum of many spans.
#[derive(Default)]
pub(crate) struct Sum {
    pub stats: Stats,
    /// Calls per cell, up to the last cell with calls.
    counts: Vec<u64>,
}

impl Sum {
    /// Adds a span. If its bytes are not a V2 histogram, only its counts and sums are added.
    pub(crate) fn add(&mut self, span: &Span) {
        self.stats += span.stats;
        let counts = &mut self.counts;
        each_count(&span.packed, |cell, count| {
            if cell >= counts.len() {
                counts.resize(cell + 1, 0);
            }
            counts[cell] = counts[cell].saturating_add(count);
        });
    }

    /// Clears the sum, but keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.stats = Stats::default();
        self.counts.clear();
    }

    /// Returns the latency, in µs, that `percent` of the calls do not exceed, by nearest rank; 0 without calls.
    pub(crate) fn percentile_us(&self, percent: u64) -> f64 {
        let calls: u64 = self.counts.iter().sum();
        let rank = (calls * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (cell, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                let (least, width) = cell_bounds(cell);
                return least as f64 + (width - 1) as f64 / 2.0;
            }
        }
        0.0
    }

    /// Returns the sum as one span that begins at `start`.
    pub(crate) fn span(&self, start: i64) -> Span {
        let mut histogram = recorder();
        for (cell, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let recorded = histogram.record_n(cell_bounds(cell).0, *count);
            debug_assert!(recorded.is_ok(), "the histogram grows");
        }
        Span { start, stats: self.stats, packed: pack(&histogram) }
    }
}

/// Returns an empty histogram, which grows as needed.
pub(crate) fn recorder<C: hdrhistogram::Counter>() -> Histogram<C> {
    Histogram::new(DIGITS).expect("3 digits are allowed")
}

/// Returns the least value of a cell, and the number of values in it.
fn cell_bounds(cell: usize) -> (u64, u64) {
    if cell < CELLS {
        return (cell as u64, 1);
    }
    let shift = cell / HALF - 1;
    (((cell % HALF + HALF) as u64) << shift, 1 << shift)
}

/// Visits the counts of a packed histogram: numbers in zigzag LEB128. A negative number encodes that number of empty
/// cells.
fn each_count(packed: &[u8], mut visit: impl FnMut(usize, u64)) {
    let mut rest = packed.get(V2_HEADER_BYTES..).unwrap_or_default();
    let mut cell = 0usize;
    while let Some(number) = read_number(&mut rest) {
        match usize::try_from(number.unsigned_abs()) {
            Ok(empty) if number < 0 => cell = cell.saturating_add(empty),
            _ => {
                if number > 0 && cell < CELLS_MAX {
                    visit(cell, number.unsigned_abs());
                }
                cell = cell.saturating_add(1);
            }
        }
    }
}

/// Reads one number of at most 9 bytes. All bits of the ninth byte count.
fn read_number(rest: &mut &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for at in 0..9 {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        if at == 8 {
            number |= u64::from(byte) << 56;
            break;
        }
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;

    use super::*;

    fn span(latencies: &[u64]) -> Span {
        let mut histogram = recorder::<u32>();
        for latency in latencies {
            histogram.record(*latency).unwrap();
        }
        let stats = Stats { calls: latencies.len() as u64, latency_us: latencies.iter().sum(), ..Stats::default() };
        Span { start: 0, stats, packed: pack(&histogram) }
    }

    fn latencies() -> impl Strategy<Value = Vec<u64>> {
        // Every magnitude is equally likely.
        prop::collection::vec((0u32..32).prop_flat_map(|bits| 1..=(2u64 << bits).min(LATENCY_US_MAX)), 1..400)
    }

    proptest! {
        #[test]
        fn percentile_is_within_a_thousandth_of_the_exact_nearest_rank(
            parts in prop::collection::vec(latencies(), 1..6), percent in 1u64..=100
        ) {
            let mut sum = Sum::default();
            for part in &parts {
                sum.add(&span(part));
            }
            let mut all: Vec<u64> = parts.concat();
            all.sort_unstable();
            let exact = all[(all.len() as u64 * percent).div_ceil(100).max(1) as usize - 1] as f64;
            let found = sum.percentile_us(percent);
            prop_assert!((found - exact).abs() <= exact / 1_000.0, "{found} instead of {exact}");
        }

        #[test]
        fn counts_are_read_as_the_format_specifies(latencies in latencies()) {
            let span = span(&latencies);
            let unpacked: Histogram<u64> = Deserializer::new().deserialize(&mut &*span.packed).unwrap();
            let mut sum = Sum::default();
            sum.add(&span);
            let mut cells = 0;
            for step in unpacked.iter_recorded() {
                let cell = sum.counts.iter().enumerate().filter(|(_, count)| **count > 0).nth(cells).unwrap();
                let (least, width) = cell_bounds(cell.0);
                prop_assert_eq!((least + width - 1, *cell.1), (step.value_iterated_to(), step.count_at_value()));
                cells += 1;
            }
            prop_assert_eq!(cells, sum.counts.iter().filter(|count| **count > 0).count());
        }

        #[test]
        fn packing_a_sum_loses_nothing(parts in prop::collection::vec(latencies(), 1..4)) {
            let mut sum = Sum::default();
            parts.iter().for_each(|part| sum.add(&span(part)));
            let mut again = Sum::default();
            again.add(&sum.span(7));
            prop_assert_eq!(again.stats, sum.stats);
            prop_assert_eq!(again.counts, sum.counts);
        }
    }

    #[test]
    fn damaged_bytes_do_no_harm() {
        let whole = span(&[1, 500, 70_000]).packed;
        for end in 0..whole.len() {
            let mut sum = Sum::default();
            sum.add(&Span { start: 0, stats: Stats::default(), packed: whole[..end].into() });
        }
        let mut sum = Sum::default();
        sum.add(&Span { start: 0, stats: Stats::default(), packed: [0xff; 200].into() });
        assert!(sum.counts.len() <= CELLS_MAX);
    }

    #[test]
    fn empty_sum_has_percentile_zero() {
        assert_eq!(Sum::default().percentile_us(95), 0.0);
    }
}
