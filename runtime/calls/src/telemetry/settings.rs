//! The section `[telemetry]` of the settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

convoke_core::section! {
    /// Traces, logs and metrics for an OpenTelemetry collector, sent by OTLP over HTTP with protobuf. Calls never wait for
    /// the collector: queues are bounded, and lost records are counted in `convoke_telemetry_lost_total`. The variables
    /// OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_COMPRESSION, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES,
    /// OTEL_TRACES_SAMPLER_ARG and OTEL_SDK_DISABLED take precedence over this table.
    pub struct TelemetrySettings in "telemetry" {
        /// Address of the collector, to which `/v1/traces`, `/v1/logs` and `/v1/metrics` are appended. Headers with keys
        /// are a secret: `OTLP_HEADERS`, or the variable OTEL_EXPORTER_OTLP_HEADERS, as `name=value,name=value`.
        #[schemars(example = &"http://localhost:4318")]
        pub otlp: Option<String> = None,
        /// Address for traces, if it differs. Nothing is appended to it. The variable OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
        /// takes precedence.
        #[schemars(example = &"http://localhost:4318/v1/traces")]
        pub otlp_traces: Option<String> = None,
        /// Address for logs, if it differs. Nothing is appended to it. The variable OTEL_EXPORTER_OTLP_LOGS_ENDPOINT takes
        /// precedence.
        #[schemars(example = &"https://logs.example.com/v1/logs")]
        pub otlp_logs: Option<String> = None,
        /// Address for metrics, if it differs. Nothing is appended to it. The variable OTEL_EXPORTER_OTLP_METRICS_ENDPOINT
        /// takes precedence.
        #[schemars(example = &"http://localhost:9090/api/v1/otlp/v1/metrics")]
        pub otlp_metrics: Option<String> = None,
        /// True if the requests to the collector are compressed with gzip: less traffic, for some more CPU time.
        pub gzip: bool = false,
        /// Name of this service. By default, it is the name of the program.
        #[schemars(example = &"shop")]
        pub service_name: Option<String> = None,
        /// Part of the traces that are recorded, from 0 to 1, if no client decides. With 0.01, one in a hundred.
        pub sampling: Ratio = Ratio(1.0),
        /// True if a `traceparent` header of a client continues its trace and decides if the trace is recorded. With false,
        /// each request begins a trace with a link to that of the client: for servers with clients that are not trusted.
        pub continues_traces: bool = true,
        /// True if traces are sent.
        pub traces: bool = true,
        /// True if the lines of the operator's log are sent, with the ids of their trace.
        pub logs: bool = true,
        /// True if the metrics of `/metrics` are sent.
        pub metrics: bool = true,
        /// Seconds between two transmissions of the metrics.
        pub metrics_seconds: u32 = 60,
        /// Maximum number of spans, and of log lines, that wait for the collector. Further ones are lost.
        pub waiting_max: u32 = 8_192,
    }
}

#[cfg(not(feature = "otel"))]
impl TelemetrySettings {
    /// Returns true if an address is set.
    pub(crate) fn has_address(&self) -> bool {
        [&self.otlp, &self.otlp_traces, &self.otlp_logs, &self.otlp_metrics].into_iter().any(Option::is_some)
    }
}

/// A part of a whole, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(with = "f64")]
pub struct Ratio(pub(super) f64);

impl TryFrom<f64> for Ratio {
    type Error = String;

    fn try_from(ratio: f64) -> Result<Self, String> {
        match (0.0..=1.0).contains(&ratio) {
            true => Ok(Self(ratio)),
            false => Err(format!("must be between 0 and 1 (got {ratio})")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_is_between_0_and_1() {
        for (text, sampling) in [("sampling = 0.0", 0.0), ("sampling = 0.01", 0.01), ("", 1.0)] {
            assert_eq!(toml::from_str::<TelemetrySettings>(text).unwrap().sampling, Ratio(sampling));
        }
        for text in ["sampling = -0.1", "sampling = 1.5", "sampling = nan"] {
            let error = toml::from_str::<TelemetrySettings>(text).unwrap_err().to_string();
            assert!(error.contains("must be between 0 and 1"), "{error}");
        }
    }
}
