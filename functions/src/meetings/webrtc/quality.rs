//! The quality of a connection, from the metrics of a client.
//!
//! This module defines the thresholds. `session` defines the metadata keys of the metrics and the precedence of the
//! client's own rating.

/// The metrics of one report. Absent, negative and infinite values are ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Metrics {
    /// Packet loss, percent.
    pub packet_loss: Option<f64>,
    /// Round-trip time, ms.
    pub latency: Option<f64>,
    /// Jitter, ms.
    pub jitter: Option<f64>,
    /// Bitrate, bit/s.
    pub bitrate: Option<f64>,
}

/// A rating, from worst to best, so that `min` of two is the worse one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quality {
    Poor,
    Fair,
    Good,
    Excellent,
}

impl Quality {
    /// Returns the rating on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Quality::Poor => "poor",
            Quality::Fair => "fair",
            Quality::Good => "good",
            Quality::Excellent => "excellent",
        }
    }
}

/// Bitrate below which a connection is at most fair, bit/s.
const BITRATE_MIN: f64 = 100_000.0;

/// Returns the worst rating of the metrics. None: there is no usable metric.
#[must_use]
pub fn rate(metrics: &Metrics) -> Option<Quality> {
    [
        usable(metrics.packet_loss).map(|loss| graded(loss, [0.5, 2.0, 5.0])),
        usable(metrics.latency).map(|latency_ms| graded(latency_ms, [100.0, 150.0, 300.0])),
        // Jitter of up to 30 ms is hidden by the receiver's buffer, so it has no step between good and fair.
        usable(metrics.jitter).map(|jitter_ms| graded(jitter_ms, [f64::INFINITY, 30.0, 50.0])),
        usable(metrics.bitrate).map(|bitrate| if bitrate < BITRATE_MIN { Quality::Fair } else { Quality::Excellent }),
    ]
    .into_iter()
    .flatten()
    .min()
}

fn usable(figure: Option<f64>) -> Option<f64> {
    figure.filter(|value| value.is_finite() && *value >= 0.0)
}

/// Returns the rating of a value, from the thresholds above which it is good, fair and poor.
fn graded(figure: f64, [good, fair, poor]: [f64; 3]) -> Quality {
    if figure > poor {
        Quality::Poor
    } else if figure > fair {
        Quality::Fair
    } else if figure > good {
        Quality::Good
    } else {
        Quality::Excellent
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn loss(value: f64) -> Option<Quality> {
        rate(&Metrics { packet_loss: Some(value), ..Metrics::default() })
    }

    fn latency(value: f64) -> Option<Quality> {
        rate(&Metrics { latency: Some(value), ..Metrics::default() })
    }

    fn jitter(value: f64) -> Option<Quality> {
        rate(&Metrics { jitter: Some(value), ..Metrics::default() })
    }

    fn bitrate(value: f64) -> Option<Quality> {
        rate(&Metrics { bitrate: Some(value), ..Metrics::default() })
    }

    #[test]
    fn a_threshold_itself_still_belongs_to_the_better_grade() {
        use Quality::{Excellent, Fair, Good, Poor};
        let steps = [(0.5, Excellent), (0.51, Good), (2.0, Good), (2.1, Fair), (5.0, Fair), (5.1, Poor)];
        for (value, expected) in steps {
            assert_eq!(loss(value), Some(expected), "loss {value}");
        }
        let steps = [(100.0, Excellent), (101.0, Good), (150.0, Good), (151.0, Fair), (300.0, Fair), (301.0, Poor)];
        for (value, expected) in steps {
            assert_eq!(latency(value), Some(expected), "latency {value}");
        }
        let steps = [(30.0, Excellent), (30.1, Fair), (50.0, Fair), (50.1, Poor)];
        for (value, expected) in steps {
            assert_eq!(jitter(value), Some(expected), "jitter {value}");
        }
        for (value, expected) in [(99_999.0, Fair), (100_000.0, Excellent), (0.0, Fair)] {
            assert_eq!(bitrate(value), Some(expected), "bitrate {value}");
        }
    }

    #[test]
    fn a_low_bitrate_does_not_lift_a_poor_connection_to_fair() {
        let metrics = Metrics { packet_loss: Some(9.0), bitrate: Some(50_000.0), ..Metrics::default() };
        assert_eq!(rate(&metrics), Some(Quality::Poor));
    }

    #[test]
    fn without_a_usable_figure_there_is_no_rating() {
        assert_eq!(rate(&Metrics::default()), None);
        assert_eq!(loss(f64::NAN), None);
        assert_eq!(latency(-1.0), None);
        assert_eq!(jitter(f64::INFINITY), None);
    }

    proptest! {
        #[test]
        fn a_further_figure_never_makes_the_rating_better(loss in 0.0..10.0f64, latency in 0.0..500.0f64) {
            let alone = Metrics { packet_loss: Some(loss), ..Metrics::default() };
            let both = Metrics { latency: Some(latency), ..alone };
            prop_assert!(rate(&both) <= rate(&alone));
        }
    }
}
