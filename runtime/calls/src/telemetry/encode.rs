//! Encodes records as OTLP.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::{self as logs, ResourceLogs, ScopeLogs, SeverityNumber};
use opentelemetry_proto::tonic::metrics::v1::{
    self as metrics, AggregationTemporality, HistogramDataPoint, NumberDataPoint, ResourceMetrics, ScopeMetrics,
    metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{self as traces, ResourceSpans, ScopeSpans, Status, span, status};
use prost::Message as _;

use super::metric::{Metric, MetricData, Point, Sizes};
use crate::trace::{LogRecord, Severity, SpanKind, SpanRecord, TraceContext, Value};

/// The flags of a sampled span.
const SAMPLED: u32 = 1;
/// The flag that says that the next one is known.
const HAS_IS_REMOTE: u32 = traces::SpanFlags::ContextHasIsRemoteMask as u32;
/// The flag of a parent in another program.
const IS_REMOTE: u32 = traces::SpanFlags::ContextIsRemoteMask as u32;

/// Encodes the body of a request with spans.
pub(super) fn spans(resource: &[(String, String)], records: Vec<SpanRecord>) -> Vec<u8> {
    let spans = ScopeSpans { scope: scope(), spans: records.into_iter().map(span).collect(), ..ScopeSpans::default() };
    let resource_spans =
        ResourceSpans { resource: of_process(resource), scope_spans: vec![spans], ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![resource_spans] }.encode_to_vec()
}

/// Encodes the body of a request with log records.
pub(super) fn logs(resource: &[(String, String)], records: Vec<LogRecord>) -> Vec<u8> {
    let logs =
        ScopeLogs { scope: scope(), log_records: records.into_iter().map(log).collect(), ..ScopeLogs::default() };
    let resource_logs =
        ResourceLogs { resource: of_process(resource), scope_logs: vec![logs], ..ResourceLogs::default() };
    ExportLogsServiceRequest { resource_logs: vec![resource_logs] }.encode_to_vec()
}

/// Encodes the body of a request with metrics. Totals begin at `start_ns`.
pub(super) fn metrics(resource: &[(String, String)], records: Vec<Metric>, (start_ns, time_ns): (u64, u64)) -> Vec<u8> {
    let metrics = records.into_iter().map(|one| one_metric(one, (start_ns, time_ns))).collect();
    let metrics = ScopeMetrics { scope: scope(), metrics, ..ScopeMetrics::default() };
    let resource_metrics =
        ResourceMetrics { resource: of_process(resource), scope_metrics: vec![metrics], ..ResourceMetrics::default() };
    ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }.encode_to_vec()
}

fn scope() -> Option<InstrumentationScope> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Some(InstrumentationScope { name: "convoke".to_owned(), version, ..InstrumentationScope::default() })
}

fn of_process(attributes: &[(String, String)]) -> Option<Resource> {
    let attributes = attributes.iter().map(|(name, value)| text(name, value)).collect();
    Some(Resource { attributes, ..Resource::default() })
}

fn text(name: &str, value: impl Into<String>) -> KeyValue {
    pair(name, any_value::Value::StringValue(value.into()))
}

fn pair(name: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn attribute((name, value): (&str, Value)) -> KeyValue {
    match value {
        Value::Text(value) => text(name, &*value),
        Value::Integer(value) => pair(name, any_value::Value::IntValue(value)),
        Value::Boolean(value) => pair(name, any_value::Value::BoolValue(value)),
    }
}

fn trace_id(context: TraceContext) -> Vec<u8> {
    context.trace_id.to_be_bytes().to_vec()
}

fn span_id(id: u64) -> Vec<u8> {
    id.to_be_bytes().to_vec()
}

fn span(record: SpanRecord) -> traces::Span {
    let kind = match record.kind {
        SpanKind::Internal => span::SpanKind::Internal,
        SpanKind::Server => span::SpanKind::Server,
        SpanKind::Client => span::SpanKind::Client,
        SpanKind::Consumer => span::SpanKind::Consumer,
    };
    let remote = if record.is_parent_remote { IS_REMOTE } else { 0 };
    let link = |link: TraceContext| span::Link {
        trace_id: trace_id(link),
        span_id: span_id(link.span_id),
        flags: u32::from(link.is_sampled()),
        ..span::Link::default()
    };
    let (status, event) = match record.failure {
        None => (None, None),
        Some(failure) => {
            let event = span::Event {
                time_unix_nano: record.end_ns,
                name: "exception".to_owned(),
                attributes: vec![
                    text("exception.type", &*failure.kind),
                    text("exception.message", failure.message.as_str()),
                ],
                ..span::Event::default()
            };
            (Some(Status { message: failure.message, code: status::StatusCode::Error.into() }), Some(event))
        }
    };
    traces::Span {
        trace_id: trace_id(record.context),
        span_id: span_id(record.context.span_id),
        parent_span_id: record.parent_id.map(span_id).unwrap_or_default(),
        flags: SAMPLED | HAS_IS_REMOTE | remote,
        name: record.name.to_string(),
        kind: kind.into(),
        start_time_unix_nano: record.start_ns,
        end_time_unix_nano: record.end_ns,
        attributes: record.attributes.into_iter().map(attribute).collect(),
        events: event.into_iter().collect(),
        links: record.link.map(link).into_iter().collect(),
        status,
        ..traces::Span::default()
    }
}

fn log(record: LogRecord) -> logs::LogRecord {
    let severity = match record.severity {
        Severity::Trace => SeverityNumber::Trace,
        Severity::Debug => SeverityNumber::Debug,
        Severity::Info => SeverityNumber::Info,
        Severity::Warn => SeverityNumber::Warn,
        Severity::Error => SeverityNumber::Error,
    };
    let target = text("log.target", record.target);
    let fields = record.fields.into_iter().map(|(name, value)| text(name, value));
    logs::LogRecord {
        time_unix_nano: record.time_ns,
        observed_time_unix_nano: record.time_ns,
        severity_number: severity.into(),
        severity_text: record.severity.as_str().to_owned(),
        body: Some(AnyValue { value: Some(any_value::Value::StringValue(record.message)) }),
        attributes: std::iter::once(target).chain(fields).collect(),
        flags: record.context.map_or(0, |context| u32::from(context.is_sampled())),
        trace_id: record.context.map(trace_id).unwrap_or_default(),
        span_id: record.context.map(|context| span_id(context.span_id)).unwrap_or_default(),
        ..logs::LogRecord::default()
    }
}

fn one_metric(record: Metric, (start_time_unix_nano, time_unix_nano): (u64, u64)) -> metrics::Metric {
    let attributes =
        |labels: Vec<(String, String)>| labels.into_iter().map(|(name, value)| text(&name, value)).collect();
    let number = |Point { labels, value }: Point<f64>| NumberDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano,
        time_unix_nano,
        value: Some(number_data_point::Value::AsDouble(value)),
        ..NumberDataPoint::default()
    };
    let sizes = |Point { labels, value: Sizes { bounds, counts, count, sum } }: Point<Sizes>| HistogramDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano,
        time_unix_nano,
        count,
        sum: Some(sum),
        bucket_counts: counts,
        explicit_bounds: bounds,
        ..HistogramDataPoint::default()
    };
    let cumulative = AggregationTemporality::Cumulative.into();
    let data = match record.data {
        MetricData::Counter(points) => metric::Data::Sum(metrics::Sum {
            data_points: points.into_iter().map(number).collect(),
            aggregation_temporality: cumulative,
            is_monotonic: true,
        }),
        MetricData::Gauge(points) => {
            metric::Data::Gauge(metrics::Gauge { data_points: points.into_iter().map(number).collect() })
        }
        MetricData::Histogram(points) => metric::Data::Histogram(metrics::Histogram {
            data_points: points.into_iter().map(sizes).collect(),
            aggregation_temporality: cumulative,
        }),
    };
    metrics::Metric { name: record.name, description: record.help, data: Some(data), ..metrics::Metric::default() }
}
