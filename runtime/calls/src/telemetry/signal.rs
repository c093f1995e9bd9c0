//! The kinds of records.

/// A kind of records, which has a path of its own at the collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Lines of the operator's log.
    Logs,
    /// Metrics.
    Metrics,
}

impl Signal {
    /// All signals.
    pub const ALL: [Signal; 3] = [Signal::Traces, Signal::Logs, Signal::Metrics];

    /// Returns the name, as in settings, metrics and paths.
    pub const fn as_str(self) -> &'static str {
        match self {
            Signal::Traces => "traces",
            Signal::Logs => "logs",
            Signal::Metrics => "metrics",
        }
    }
}
