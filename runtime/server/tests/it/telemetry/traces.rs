//! The structure of traces.

use std::time::Duration;

use convoke::testing::TestApp;
use convoke_calls::log_sink::LogLine;
use convoke_calls::trace::Severity;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use reqwest::Method;
use serde_json::json;

use super::collector::{Collector, attribute, flush};
use crate::admin::Door;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

#[track_caller]
fn one<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let found: Vec<&Span> = spans.iter().filter(|span| span.name == name).collect();
    let names: Vec<&str> = spans.iter().map(|span| &*span.name).collect();
    assert_eq!(found.len(), 1, "{name} among {names:?}");
    found[0]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn send(app: &TestApp, server: &convoke::testing::TestServer<'_>, path: &str, args: &serde_json::Value, flags: &str) {
    let parent = format!("00-{TRACE}-{PARENT}-{flags}");
    let body = json!({ "args": args }).to_string();
    let (route, fields) = (format!("/api/run/{path}"), [("traceparent", &*parent)]);
    let reply = app.block_on(server.send_async(None, &route, &fields, body));
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[test]
fn trace_leads_from_the_request_to_the_outbound_request_and_the_job() {
    let (collector, service) = (Collector::new(), Collector::new());
    let app = TestApp::configured(&collector.settings("sampling = 0.0"));
    let server = app.serve();
    let url = format!("http://127.0.0.1:{}/stock?key=hunter2", service.port);
    // The service reads requests with a length only.
    send(&app, &server, "telemetry/functions/orderByPost", &json!({ "url": url }), "01");
    assert_eq!(app.run_due(), 1);
    flush(&app, &server);

    let spans = collector.spans();
    let request = one(&spans, "POST /api/run/{path}");
    assert_eq!((hex(&request.trace_id), hex(&request.parent_span_id)), (TRACE.to_owned(), PARENT.to_owned()));
    assert_eq!(request.kind(), SpanKind::Server);
    let path = [
        "POST /api/run/{path}",
        "telemetry/functions/orderByPost",
        "telemetry/functions/write",
        "transaction",
        "telemetry/functions/writeLine",
        "work/increment",
    ];
    let transactions: Vec<&Span> = spans.iter().filter(|span| span.name == "transaction").collect();
    let of_job = one(&spans, "telemetry/functions/invoice");
    let (mut of_call, mut of_jobs) = (Vec::new(), Vec::new());
    transactions
        .iter()
        .for_each(|span| if span.trace_id == of_job.trace_id { of_jobs.push(*span) } else { of_call.push(*span) });
    let ([transaction], [of_jobs]) = (&of_call[..], &of_jobs[..]) else { panic!("{transactions:?}") };
    let span = |name| if name == "transaction" { *transaction } else { one(&spans, name) };
    for pair in path.windows(2) {
        let (outer, inner) = (span(pair[0]), span(pair[1]));
        assert_eq!(inner.parent_span_id, outer.span_id, "{pair:?}");
        assert_eq!(inner.trace_id, request.trace_id);
        assert!(outer.start_time_unix_nano <= inner.start_time_unix_nano);
        assert!(inner.end_time_unix_nano <= outer.end_time_unix_nano);
    }
    let call = one(&spans, "telemetry/functions/orderByPost");
    assert_eq!(attribute(&call.attributes, "convoke.kind").as_deref(), Some("action"));
    assert_eq!(attribute(&call.attributes, "convoke.outcome").as_deref(), Some("OK"));
    assert_eq!(attribute(&call.attributes, "convoke.rows_written").as_deref(), Some("2"));

    let outbound = one(&spans, "POST");
    assert_eq!((outbound.kind(), &outbound.parent_span_id), (SpanKind::Client, &call.span_id));
    assert_eq!(attribute(&outbound.attributes, "http.response.status_code").as_deref(), Some("200"));
    assert_eq!(attribute(&outbound.attributes, "server.port"), Some(service.port.to_string()));
    let received = service.arrived();
    let header = format!("traceparent: 00-{TRACE}-{}-01", hex(&outbound.span_id));
    assert!(received[0].head.contains(&header), "{} lacks {header}", received[0].head);

    assert_eq!((of_job.kind(), &of_job.parent_span_id[..]), (SpanKind::Consumer, &[][..]));
    assert_eq!(of_job.links.len(), 1);
    let link = &of_job.links[0];
    let scheduler = one(&spans, "telemetry/functions/write");
    assert_eq!((&link.trace_id, &link.span_id), (&scheduler.trace_id, &scheduler.span_id));
    assert_ne!(of_job.trace_id, call.trace_id);
    assert_eq!(of_jobs.parent_span_id, of_job.span_id);
    assert!(!format!("{spans:?}").contains("hunter2"), "the path of an outbound request may contain secrets");
}

#[test]
fn step_of_a_workflow_is_linked_to_the_start_of_its_run() {
    let collector = Collector::new();
    let app = TestApp::configured(&collector.settings(""));
    let server = app.serve();
    server.call(None, "telemetry/functions/ship", &json!({})).value();
    assert!(app.run_due() > 0);
    flush(&app, &server);
    let spans = collector.spans();
    let (start, step) = (one(&spans, "telemetry/functions/ship"), one(&spans, "telemetry/functions/invoice"));
    assert_eq!((&step.links[0].trace_id, &step.links[0].span_id), (&start.trace_id, &start.span_id));
    assert_eq!((step.links.len(), step.kind()), (1, SpanKind::Consumer));
}

#[test]
fn each_run_of_a_live_query_has_a_span_with_its_reason() {
    let collector = Collector::new();
    let app = TestApp::configured(&collector.settings("metrics = false"));
    let server = app.serve();
    let user = app.nobody();
    let mut live = user.watch("work/read", json!({ "name": "shelf" }));
    assert_eq!(live.next().value(), &json!(0));
    user.call("work/increment", json!({ "name": "shelf" }));
    assert_eq!(live.next().value(), &json!(1));
    flush(&app, &server);
    let spans = collector.spans();
    let runs: Vec<&Span> = spans.iter().filter(|span| span.name == "work/read").collect();
    let attributes = |name| runs.iter().map(|span| attribute(&span.attributes, name).unwrap()).collect::<Vec<_>>();
    assert_eq!(attributes("convoke.live"), ["subscribed", "again"]);
    assert_eq!(attributes("convoke.outcome"), ["OK", "OK"]);
    assert_eq!(attributes("convoke.rows_read"), ["0", "1"]);
    assert!(runs.iter().all(|span| span.kind() == SpanKind::Internal && span.parent_span_id.is_empty()));
}

#[test]
fn request_of_the_administration_has_a_span_with_the_pattern_of_its_path() {
    let collector = Collector::new();
    let app = TestApp::configured(&collector.settings("metrics = false"));
    let door = Door::of(&app);
    assert_eq!(door.operator(Method::GET, "/api/admin/tables/counters?where=name%3Dhunter2", None).status, 200);
    door.operator(Method::GET, "/api/admin/tables/hunter2", None);
    flush(&app, &door.server);
    let spans = collector.spans();
    let [found, missing] = &spans[..] else { panic!("{spans:?}") };
    for span in [found, missing] {
        assert_eq!((&*span.name, span.kind()), ("GET /api/admin/tables/{name}", SpanKind::Server));
        assert_eq!(attribute(&span.attributes, "http.route").as_deref(), Some("/api/admin/tables/{name}"));
    }
    assert_eq!(attribute(&found.attributes, "error.type"), None);
    assert_eq!(attribute(&missing.attributes, "error.type").as_deref(), Some("NOT_FOUND"));
    assert!(!format!("{spans:?}").contains("hunter2"), "a path may name rows");
}

#[test]
fn each_try_of_a_webhook_has_a_span_with_a_link_to_its_cause() {
    let (collector, receiver) =
        (Collector::new(), Collector::responding(|number| (if number == 0 { 500 } else { 200 }, Duration::ZERO)));
    let settings = format!("{}\n[webhooks]\nallow = [\"127.0.0.0/8\"]", collector.settings("metrics = false"));
    let app = TestApp::configured(&settings);
    let door = Door::of(&app);
    let endpoint = json!({ "url": format!("http://127.0.0.1:{}/hunter2", receiver.port), "events": ["order.paid"] });
    assert_eq!(door.operator(Method::POST, "/api/admin/webhooks", Some(&endpoint)).status, 200);
    door.server.call(None, "telemetry/functions/announce", &json!({})).value();
    assert_eq!(app.run_due(), 1);
    app.advance(Duration::from_secs(10));
    assert_eq!(receiver.arrived().len(), 1);
    flush(&app, &door.server);
    let spans = collector.spans();
    let cause = one(&spans, "telemetry/functions/announce");
    let tries: Vec<&Span> = spans.iter().filter(|span| span.name == "webhook order.paid").collect();
    let attributes = |name| tries.iter().map(|span| attribute(&span.attributes, name).unwrap()).collect::<Vec<_>>();
    assert_eq!(attributes("http.response.status_code"), ["500", "200"]);
    assert_eq!(attributes("http.request.resend_count"), ["0", "1"]);
    assert_eq!(attributes("server.address"), ["127.0.0.1", "127.0.0.1"]);
    for span in &tries {
        assert_eq!((&span.links[0].trace_id, &span.links[0].span_id), (&cause.trace_id, &cause.span_id));
        assert_eq!((span.kind(), span.links.len()), (SpanKind::Client, 1));
    }
    assert_eq!(attribute(&tries[0].events[0].attributes, "exception.type").as_deref(), Some("500"));
    assert!(tries[1].events.is_empty());
    assert!(!format!("{tries:?}").contains("hunter2"), "a URL may contain a secret");
}

#[test]
fn failure_is_an_exception_and_a_rejection_is_not() {
    let collector = Collector::new();
    let app = TestApp::configured(&collector.settings(""));
    let server = app.serve();
    server.call(None, "telemetry/functions/fail", &json!({}));
    server.call(None, "telemetry/functions/idle", &json!({ "unknown": 1 }));
    flush(&app, &server);
    let spans = collector.spans();
    let failed = one(&spans, "telemetry/functions/fail");
    let exception = &failed.events[0];
    assert_eq!(exception.name, "exception");
    assert_eq!(attribute(&exception.attributes, "exception.type").as_deref(), Some("INTERNAL"));
    let message = attribute(&exception.attributes, "exception.message").unwrap();
    assert!(message.contains("the shelf is gone"), "{message}");
    assert_eq!(failed.status.as_ref().unwrap().code, 2);
    let rejected = one(&spans, "telemetry/functions/idle");
    assert_eq!(attribute(&rejected.attributes, "convoke.outcome").as_deref(), Some("INVALID_ARGUMENT"));
    assert!(rejected.events.is_empty() && rejected.status.is_none());
}

#[test]
fn traces_that_are_not_sampled_are_not_sent_and_their_context_is_passed_on() {
    let (collector, service) = (Collector::new(), Collector::new());
    let app = TestApp::configured(&collector.settings("sampling = 0.0"));
    let server = app.serve();
    let url = format!("http://127.0.0.1:{}/", service.port);
    for _ in 0..20 {
        server.call(None, "telemetry/functions/idle", &json!({})).value();
    }
    send(&app, &server, "telemetry/functions/orderByPost", &json!({ "url": url }), "00");
    assert_eq!(app.run_due(), 1);
    send(&app, &server, "telemetry/functions/idle", &json!({}), "01");
    flush(&app, &server);
    let header = format!("traceparent: 00-{TRACE}-{PARENT}-00");
    assert!(service.arrived()[0].head.contains(&header), "{}", service.arrived()[0].head);
    let names: Vec<String> = collector.spans().into_iter().map(|span| span.name).collect();
    assert_eq!(names, ["read", "telemetry/functions/idle", "POST /api/run/{path}"]);
}

#[test]
fn log_lines_have_the_ids_of_their_trace() {
    let collector = Collector::new();
    let app = TestApp::configured(&collector.settings(""));
    let server = app.serve();
    let sink = app.runtime().log_sink().unwrap();
    let line = |fields: &[(&'static str, &str)]| LogLine {
        severity: Severity::Warn,
        target: "convoke::function",
        message: "the shelf is empty".to_owned(),
        fields: fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
    };
    sink.add(line(&[("trace_id", TRACE), ("function", "shop/buy"), ("span_id", PARENT)]));
    sink.add(line(&[]));
    flush(&app, &server);
    let [within, without] = collector.logs().try_into().unwrap();
    assert_eq!((hex(&within.trace_id), hex(&within.span_id)), (TRACE.to_owned(), PARENT.to_owned()));
    assert_eq!(attribute(&within.attributes, "function").as_deref(), Some("shop/buy"));
    assert_eq!((&*within.severity_text, within.severity_number), ("WARN", 13));
    assert!(without.trace_id.is_empty());
    assert!(format!("{:?}", within.body).contains("the shelf is empty"));
}

#[test]
fn metrics_of_the_page_are_sent() {
    let collector = Collector::new();
    let app = TestApp::configured(&collector.settings("traces = false"));
    let server = app.serve();
    for _ in 0..3 {
        server.call(None, "telemetry/functions/idle", &json!({})).value();
    }
    app.block_on(async {
        let background = server.admin().start_background();
        while collector.metrics().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        background.stop().await;
    });
    let metrics = collector.metrics();
    let calls = metrics.iter().find(|metric| metric.name == "convoke_calls_total").unwrap();
    let Some(Data::Sum(sum)) = &calls.data else { panic!("{calls:?}") };
    assert!(sum.is_monotonic && sum.aggregation_temporality == 2);
    let of_idle = sum
        .data_points
        .iter()
        .find(|point| attribute(&point.attributes, "function").as_deref() == Some("telemetry/functions/idle"));
    assert!(format!("{:?}", of_idle.unwrap().value).contains("3.0"), "{of_idle:?}");
    let durations = metrics.iter().find(|metric| metric.name == "convoke_call_duration_seconds").unwrap();
    let Some(Data::Histogram(durations)) = &durations.data else { panic!("{durations:?}") };
    let point = &durations.data_points[0];
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
    assert!(collector.spans().is_empty());
}
