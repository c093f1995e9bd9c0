//! Metrics before they are encoded.

/// A metric.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Its description.
    pub help: String,
    /// Its values.
    pub data: MetricData,
}

/// The values of a metric.
#[derive(Clone, Debug)]
pub enum MetricData {
    /// A total since the start of the process.
    Counter(Vec<Point<f64>>),
    /// A current value.
    Gauge(Vec<Point<f64>>),
    /// A distribution of sizes or durations.
    Histogram(Vec<Point<Sizes>>),
}

/// A value with its labels.
#[derive(Clone, Debug)]
pub struct Point<T> {
    /// The labels.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: T,
}

/// A distribution.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Upper bounds of the buckets, in ascending order, without the last bucket, which has no bound.
    pub bounds: Vec<f64>,
    /// Number of values per bucket: one more than bounds.
    pub counts: Vec<u64>,
    /// Number of all values.
    pub count: u64,
    /// Sum of all values.
    pub sum: f64,
}
