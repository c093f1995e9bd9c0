//! The metrics of the page, for a collector.

use prometheus::proto::{Histogram, Metric as Sample, MetricFamily, MetricType};

use super::page::Page;
use convoke_calls::telemetry::{Metric, MetricData, Point, Sizes};

pub(crate) async fn collected(page: Page<'_>) -> Vec<Metric> {
    page.families().await.into_inner().iter().map(metric).collect()
}

fn metric(family: &MetricFamily) -> Metric {
    let samples = family.get_metric();
    let data = match family.get_field_type() {
        MetricType::COUNTER => MetricData::Counter(points(samples, |sample| sample.get_counter().get_value())),
        MetricType::HISTOGRAM => MetricData::Histogram(points(samples, |sample| sizes(sample.get_histogram()))),
        MetricType::GAUGE | MetricType::SUMMARY | MetricType::UNTYPED => {
            MetricData::Gauge(points(samples, |sample| sample.get_gauge().get_value()))
        }
    };
    Metric { name: family.name().to_owned(), help: family.help().to_owned(), data }
}

fn points<T>(samples: &[Sample], value: impl Fn(&Sample) -> T) -> Vec<Point<T>> {
    let labels = |sample: &Sample| {
        let labels = sample.get_label().iter();
        labels.map(|label| (label.name().to_owned(), label.value().to_owned())).collect()
    };
    samples.iter().map(|sample| Point { labels: labels(sample), value: value(sample) }).collect()
}

/// The buckets of the page count all values up to their bound; those of a collector count only their own.
fn sizes(histogram: &Histogram) -> Sizes {
    let (mut bounds, mut counts, mut below) = (Vec::new(), Vec::new(), 0);
    for bucket in histogram.get_bucket() {
        if bucket.upper_bound().is_infinite() {
            continue;
        }
        bounds.push(bucket.upper_bound());
        counts.push(bucket.cumulative_count().saturating_sub(below));
        below = bucket.cumulative_count();
    }
    let count = histogram.get_sample_count();
    counts.push(count.saturating_sub(below));
    Sizes { bounds, counts, count, sum: histogram.get_sample_sum() }
}

#[cfg(test)]
mod tests {
    use super::super::family::{self, Families};
    use super::*;

    #[test]
    fn buckets_of_a_collector_count_only_their_own_values() {
        let mut families = Families::default();
        let own = family::Sizes::of([1.0, 5.0], &[3, 2, 4], 60.0);
        families.histograms("sizes", "Sizes.", [([("kind", "a")], own)]);
        let MetricData::Histogram(points) = metric(&families.into_inner()[0]).data else { panic!("a histogram") };
        let Point { labels, value } = &points[0];
        assert_eq!(labels[..], [("kind".to_owned(), "a".to_owned())]);
        assert_eq!((&value.bounds[..], &value.counts[..]), (&[1.0, 5.0][..], &[3, 2, 4][..]));
        assert_eq!((value.count, value.sum), (9, 60.0));
    }
}
