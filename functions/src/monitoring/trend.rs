//! Trends of a function's latency, call rate and error rate.
//!
//! This module computes the trends of a series of buckets. The runtime provides the buckets with latencies and
//! percentiles.

/// One bucket of a contiguous series of equal buckets, oldest first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    pub call_count: u64,
    pub error_count: u64,
    /// Mean in ms over all calls; meaningless without calls.
    pub avg_latency: f64,
}

/// State of the last bucket of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastBucket {
    Complete,
    /// It is the current bucket and is ignored: half a bucket would look like a drop.
    Incomplete,
}

/// Direction of a value for which less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    Improving,
    Stable,
    Degrading,
}

impl Health {
    /// Returns the label on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Health::Improving => "improving",
            Health::Stable => "stable",
            Health::Degrading => "degrading",
        }
    }
}

/// Direction of the number of calls, which is neither good nor bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volume {
    Increasing,
    Stable,
    Decreasing,
}

impl Volume {
    /// Returns the label on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Volume::Increasing => "increasing",
            Volume::Stable => "stable",
            Volume::Decreasing => "decreasing",
        }
    }
}

/// The three trends of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trends {
    pub latency: Health,
    pub throughput: Volume,
    pub error: Health,
}

/// Smallest change of a value over the series, as a fraction of its median, that counts as a trend.
const RELATIVE_CHANGE: f64 = 0.10;
/// Smallest change of the error rate that counts as a trend besides: one more error in ten thousand calls is no trend.
const ERROR_CHANGE: f64 = 0.01;

/// Returns the trends of a contiguous series. All are stable with fewer than two buckets that contain calls.
///
/// The slope is the Theil–Sen estimator, the median over all pairs, so that one slow bucket makes no trend.
#[must_use]
pub fn trends(buckets: &[Bucket], last: LastBucket) -> Trends {
    let complete = match last {
        LastBucket::Complete => buckets,
        LastBucket::Incomplete => &buckets[..buckets.len().saturating_sub(1)],
    };
    let called: Vec<(f64, &Bucket)> =
        complete.iter().enumerate().filter(|(_, b)| b.call_count > 0).map(|(i, b)| (float(i as u64), b)).collect();
    if called.len() < 2 {
        return Trends { latency: Health::Stable, throughput: Volume::Stable, error: Health::Stable };
    }
    let first_called = complete.iter().position(|b| b.call_count > 0).unwrap_or(0);
    let latencies: Vec<Point> = called.iter().map(|&(x, b)| (x, b.avg_latency)).collect();
    let error_rates: Vec<Point> =
        called.iter().map(|&(x, b)| (x, float(b.error_count) / float(b.call_count))).collect();
    let counts: Vec<Point> =
        (0u64..).zip(&complete[first_called..]).map(|(i, b)| (float(i), float(b.call_count))).collect();
    Trends {
        latency: health(Change::of(&latencies).relative),
        throughput: volume(Change::of(&counts).relative),
        error: error_health(&Change::of(&error_rates)),
    }
}

/// Index and value of a bucket.
type Point = (f64, f64);

/// The change of a value from the first to the last point, by its slope.
struct Change {
    /// In the unit of the value.
    absolute: f64,
    /// As a fraction of the median, or of the mean if the median is 0.
    relative: f64,
}

impl Change {
    fn of(points: &[Point]) -> Change {
        let span = match (points.first(), points.last()) {
            (Some(first), Some(last)) => last.0 - first.0,
            _ => 0.0,
        };
        let absolute = slope(points) * span;
        let mut figures: Vec<f64> = points.iter().map(|point| point.1).collect();
        let mean = figures.iter().sum::<f64>() / float(figures.len().max(1) as u64);
        let middle = median(&mut figures);
        let scale = if middle == 0.0 { mean } else { middle };
        let relative = if scale == 0.0 { 0.0 } else { absolute / scale };
        Change { absolute, relative }
    }
}

fn slope(points: &[Point]) -> f64 {
    let mut slopes = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (i, &(x, y)) in points.iter().enumerate() {
        slopes.extend(points[i + 1..].iter().map(|&(later, figure)| (figure - y) / (later - x)));
    }
    median(&mut slopes)
}

/// Returns the middle value, or the mean of the two middle values; 0 for an empty slice. Reorders the slice.
fn median(values: &mut [f64]) -> f64 {
    let half = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if even {
        let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        f64::midpoint(lower, upper)
    } else {
        upper
    }
}

fn health(relative: f64) -> Health {
    if relative > RELATIVE_CHANGE {
        Health::Degrading
    } else if relative < -RELATIVE_CHANGE {
        Health::Improving
    } else {
        Health::Stable
    }
}

fn error_health(change: &Change) -> Health {
    if change.absolute.abs() > ERROR_CHANGE { health(change.relative) } else { Health::Stable }
}

fn volume(relative: f64) -> Volume {
    match health(relative) {
        Health::Degrading => Volume::Increasing,
        Health::Stable => Volume::Stable,
        Health::Improving => Volume::Decreasing,
    }
}

fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bucket(call_count: u64, error_count: u64, avg_latency: f64) -> Bucket {
        Bucket { call_count, error_count, avg_latency }
    }

    fn latencies(of: &[f64]) -> Vec<Bucket> {
        of.iter().map(|&latency| bucket(10, 0, latency)).collect()
    }

    fn counts(of: &[u64]) -> Vec<Bucket> {
        of.iter().map(|&count| bucket(count, 0, 5.0)).collect()
    }

    const STABLE: Trends = Trends { latency: Health::Stable, throughput: Volume::Stable, error: Health::Stable };

    #[test]
    fn a_rising_latency_degrades_and_a_falling_one_improves() {
        let rising = latencies(&[10.0, 11.0, 12.0, 13.0]);
        assert_eq!(trends(&rising, LastBucket::Complete), Trends { latency: Health::Degrading, ..STABLE });
        let falling = latencies(&[13.0, 12.0, 11.0, 10.0]);
        assert_eq!(trends(&falling, LastBucket::Complete), Trends { latency: Health::Improving, ..STABLE });
        assert_eq!(trends(&latencies(&[10.0; 8]), LastBucket::Complete), STABLE);
    }

    #[test]
    fn a_change_of_a_tenth_is_not_yet_a_trend() {
        // Slope 0.5 over 2 buckets is 1.0, a tenth of the median 10.
        assert_eq!(trends(&latencies(&[9.5, 10.0, 10.5]), LastBucket::Complete).latency, Health::Stable);
        assert_eq!(trends(&latencies(&[9.4, 10.0, 10.6]), LastBucket::Complete).latency, Health::Degrading);
    }

    #[test]
    fn single_slow_bucket_is_not_a_trend() {
        let spike = latencies(&[10.0, 10.0, 10.0, 10.0, 10.0, 900.0]);
        assert_eq!(trends(&spike, LastBucket::Complete).latency, Health::Stable);
    }

    #[test]
    fn throughput_counts_the_empty_buckets_after_the_first_call() {
        let rising = counts(&[0, 0, 10, 20, 30]);
        assert_eq!(trends(&rising, LastBucket::Complete).throughput, Volume::Increasing);
        let fading = counts(&[30, 20, 10, 0, 0]);
        assert_eq!(trends(&fading, LastBucket::Complete).throughput, Volume::Decreasing);
        // The initial silence precedes the first call and does not count as an increase.
        let steady = counts(&[0, 0, 0, 10, 10, 10]);
        assert_eq!(trends(&steady, LastBucket::Complete).throughput, Volume::Stable);
    }

    #[test]
    fn a_sparse_series_is_measured_against_its_mean() {
        // The median is 0, and the median of the slopes is 0, so there is no trend.
        let sparse = counts(&[5, 0, 0, 0, 0, 0, 0, 5]);
        assert_eq!(trends(&sparse, LastBucket::Complete), STABLE);
        let ending = counts(&[8, 6, 0, 0, 0]);
        assert_eq!(trends(&ending, LastBucket::Complete).throughput, Volume::Decreasing);
    }

    #[test]
    fn gaps_in_latency_are_skipped_but_keep_their_width() {
        let series = [bucket(10, 0, 10.0), bucket(0, 0, 0.0), bucket(0, 0, 0.0), bucket(10, 0, 10.9)];
        // (10.9 - 10) / 3 · 3 / 10.45 is below a tenth.
        assert_eq!(trends(&series, LastBucket::Complete).latency, Health::Stable);
    }

    #[test]
    fn errors_need_an_absolute_change_as_well() {
        let rates = |errors: [u64; 4]| errors.map(|count| bucket(1000, count, 5.0));
        assert_eq!(trends(&rates([1, 2, 3, 4]), LastBucket::Complete).error, Health::Stable);
        assert_eq!(trends(&rates([10, 20, 30, 40]), LastBucket::Complete).error, Health::Degrading);
        assert_eq!(trends(&rates([40, 30, 20, 10]), LastBucket::Complete).error, Health::Improving);
        assert_eq!(trends(&rates([0; 4]), LastBucket::Complete).error, Health::Stable);
    }

    #[test]
    fn the_current_bucket_is_left_out() {
        let series = counts(&[100, 100, 100, 3]);
        assert_eq!(trends(&series, LastBucket::Incomplete), STABLE);
        // Two buckets, one of them current: not enough for a trend.
        assert_eq!(trends(&latencies(&[10.0, 20.0]), LastBucket::Incomplete), STABLE);
    }

    #[test]
    fn nothing_and_one_bucket_are_stable() {
        for last in [LastBucket::Complete, LastBucket::Incomplete] {
            assert_eq!(trends(&[], last), STABLE);
            assert_eq!(trends(&latencies(&[10.0]), last), STABLE);
            assert_eq!(trends(&counts(&[0, 0, 0]), last), STABLE);
        }
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_ones() {
        assert!((median(&mut [4.0, 1.0, 3.0, 2.0]) - 2.5).abs() < f64::EPSILON);
        assert!((median(&mut [3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
    }

    fn series() -> impl Strategy<Value = Vec<Bucket>> {
        let one = (0u64..50, 0.0..1.0f64, 0.1..100.0f64).prop_map(|(calls, share, latency)| {
            let errors = (float(calls) * share) as u64;
            bucket(calls, errors, latency)
        });
        prop::collection::vec(one, 0..40)
    }

    proptest! {
        #[test]
        fn a_series_read_backward_has_the_opposite_latency_trend(series in series()) {
            let forward = trends(&series, LastBucket::Complete).latency;
            let mut reversed = series;
            reversed.reverse();
            let backward = trends(&reversed, LastBucket::Complete).latency;
            let opposite = match forward {
                Health::Improving => Health::Degrading,
                Health::Stable => Health::Stable,
                Health::Degrading => Health::Improving,
            };
            prop_assert_eq!(backward, opposite);
        }

        #[test]
        fn the_unit_of_latency_does_not_matter(series in series()) {
            let scaled: Vec<Bucket> =
                series.iter().map(|b| Bucket { avg_latency: b.avg_latency * 1024.0, ..*b }).collect();
            prop_assert_eq!(trends(&series, LastBucket::Complete), trends(&scaled, LastBucket::Complete));
        }
    }
}
