//! Metric families for the encoder.

use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};

/// A label and its value.
pub(super) type Label<'a> = (&'static str, &'a str);

/// The families of a page, in order.
#[derive(Default)]
pub(super) struct Families(Vec<MetricFamily>);

/// A histogram of sizes or durations.
pub(super) struct Sizes {
    /// For each bound, the number of values up to it.
    pub cumulative: Vec<(f64, u64)>,
    pub count: u64,
    pub sum: f64,
}

impl Sizes {
    /// Creates a histogram from the counts per bucket. The last bucket has the values that exceed all `bounds`.
    pub(super) fn of(bounds: impl IntoIterator<Item = f64>, counts: &[u64], sum: f64) -> Self {
        let mut count = 0;
        let mut cumulative = Vec::new();
        for (bound, own) in bounds.into_iter().zip(counts) {
            count += own;
            cumulative.push((bound, count));
        }
        Self { cumulative, count: counts.iter().sum(), sum }
    }
}

impl Families {
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.counters(name, help, [(&[][..], value)]);
    }

    /// Adds counters by labels. Adds nothing without samples.
    pub(super) fn counters<'a, L: AsRef<[Label<'a>]>>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (L, u64)>,
    ) {
        let sample = |(labels, value): (L, u64)| {
            let mut counter = Counter::default();
            counter.set_value(value as f64);
            let mut metric = labelled(labels.as_ref());
            metric.set_counter(counter);
            metric
        };
        self.push(name, help, MetricType::COUNTER, samples.into_iter().map(sample).collect());
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.gauges(name, help, [(&[][..], value)]);
    }

    pub(super) fn gauges<'a, L: AsRef<[Label<'a>]>>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (L, f64)>,
    ) {
        let sample = |(labels, value): (L, f64)| {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            let mut metric = labelled(labels.as_ref());
            metric.set_gauge(gauge);
            metric
        };
        self.push(name, help, MetricType::GAUGE, samples.into_iter().map(sample).collect());
    }

    pub(super) fn histograms<'a, L: AsRef<[Label<'a>]>>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (L, Sizes)>,
    ) {
        let sample = |(labels, sizes): (L, Sizes)| {
            let mut histogram = Histogram::default();
            histogram.set_sample_count(sizes.count);
            histogram.set_sample_sum(sizes.sum);
            histogram.set_bucket(sizes.cumulative.into_iter().map(bucket).collect());
            let mut metric = labelled(labels.as_ref());
            metric.set_histogram(histogram);
            metric
        };
        self.push(name, help, MetricType::HISTOGRAM, samples.into_iter().map(sample).collect());
    }

    pub(super) fn into_inner(self) -> Vec<MetricFamily> {
        self.0
    }

    fn push(&mut self, name: &str, help: &str, kind: MetricType, samples: Vec<Metric>) {
        if samples.is_empty() {
            // The encoder rejects a family without samples.
            return;
        }
        let mut family = MetricFamily::default();
        family.set_name(name.to_owned());
        family.set_help(help.to_owned());
        family.set_field_type(kind);
        family.set_metric(samples);
        self.0.push(family);
    }
}

fn bucket((bound, count): (f64, u64)) -> Bucket {
    let mut bucket = Bucket::default();
    bucket.set_upper_bound(bound);
    bucket.set_cumulative_count(count);
    bucket
}

fn labelled(labels: &[Label<'_>]) -> Metric {
    let pair = |(name, value): &Label<'_>| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    };
    Metric::from_label(labels.iter().map(pair).collect())
}
