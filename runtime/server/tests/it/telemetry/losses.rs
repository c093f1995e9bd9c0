//! Collectors that are dead, slow, or reject records.

use std::time::Duration;

use convoke::testing::{TestApp, TestServer};
use convoke_core::clock::{Clock as _, SystemClock};
use reqwest::Method;
use serde_json::json;

use super::collector::{Collector, flush};
use crate::admin::Door;
use crate::observe::support::Samples;

/// A port that refuses connections. A port that was free before could belong to another test now.
const REFUSING: u16 = 1;

/// Measures real time.
struct Stopwatch(SystemClock, Duration);

impl Stopwatch {
    fn start() -> Self {
        let clock = SystemClock::new();
        let began = clock.monotonic();
        Self(clock, began)
    }

    fn elapsed(&self) -> Duration {
        self.0.monotonic() - self.1
    }
}

fn call(server: &TestServer<'_>, count: usize) {
    for _ in 0..count {
        server.call(None, "telemetry/functions/idle", &json!({})).value();
    }
}

fn lost(app: &TestApp, server: &TestServer<'_>, signal: &str) -> f64 {
    Samples::scrape(app, server).value(&format!("convoke_telemetry_lost_total{{signal=\"{signal}\"}}"))
}

/// Waits until so many spans are lost. A span is recorded shortly after the client has the response.
fn lost_after(app: &TestApp, server: &TestServer<'_>, spans: f64) -> f64 {
    for _ in 0..6_000 {
        if lost(app, server, "traces") >= spans {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    lost(app, server, "traces")
}

#[test]
fn dead_collector_loses_what_the_queue_cannot_hold_and_ends_with_the_server() {
    let settings = format!("[telemetry]\notlp = \"http://127.0.0.1:{REFUSING}\"\nwaiting_max = 30\nmetrics = false");
    let app = TestApp::configured(&settings);
    let server = app.serve();
    call(&server, 20);
    assert_eq!(lost_after(&app, &server, 30.0), 30.0, "each call has a request, a call and a read");
    let began = Stopwatch::start();
    flush(&app, &server);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(lost(&app, &server, "traces"), 60.0);
    call(&server, 1);
}

#[test]
fn slow_collector_delays_no_call_and_the_end_by_at_most_five_seconds() {
    let collector = Collector::responding(|_| (200, Duration::from_secs(60)));
    let app = TestApp::configured(&collector.settings("waiting_max = 600\nmetrics = false"));
    let server = app.serve();
    call(&server, 10);
    let background = app.block_on(async { server.admin().start_background() });
    // The exporter waits for the collector, and the calls do not.
    let begun = (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        collector.received() > 0
    });
    assert!(begun);
    let began = Stopwatch::start();
    call(&server, 300);
    assert!(began.elapsed() < Duration::from_secs(60), "no call waited for the response, which takes 60 s");
    let before_the_end = lost_after(&app, &server, 300.0);
    assert_eq!(before_the_end, 300.0, "900 spans, of which 600 wait");
    let began = Stopwatch::start();
    app.block_on(background.stop());
    assert!(began.elapsed() < Duration::from_secs(9), "a request itself has a timeout of 10 s: {:?}", began.elapsed());
    assert_eq!(lost(&app, &server, "traces"), 930.0);
}

#[test]
fn temporary_failure_is_retried_with_the_same_records() {
    let collector = Collector::responding(|number| (if number < 2 { 503 } else { 200 }, Duration::ZERO));
    let app = TestApp::configured(&collector.settings("metrics = false"));
    let server = app.serve();
    call(&server, 2);
    app.block_on(async {
        let background = server.admin().start_background();
        while collector.spans().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        background.stop().await;
    });
    assert_eq!(collector.spans().len(), 6);
    let page = Samples::scrape(&app, &server);
    assert_eq!(page.value("convoke_telemetry_sent_total{signal=\"traces\"}"), 6.0);
    assert_eq!(page.value("convoke_telemetry_lost_total{signal=\"traces\"}"), 0.0);
}

#[test]
fn rejected_records_are_lost_and_not_retried() {
    let collector = Collector::responding(|number| (if number == 0 { 404 } else { 200 }, Duration::ZERO));
    let app = TestApp::configured(&collector.settings("metrics = false"));
    let server = app.serve();
    call(&server, 2);
    flush(&app, &server);
    assert_eq!(lost(&app, &server, "traces"), 6.0);
    call(&server, 1);
    flush(&app, &server);
    assert_eq!((lost(&app, &server, "traces"), collector.spans().len()), (6.0, 3));
}

#[test]
fn dead_collector_of_one_signal_delays_no_other_signal() {
    let collector = Collector::new();
    let dead = format!("gzip = true\notlp_traces = \"http://127.0.0.1:{REFUSING}/spans\"\nmetrics_seconds = 1");
    let app = TestApp::configured(&collector.settings(&dead));
    let server = app.serve();
    app.block_on(async {
        let background = server.admin().start_background();
        // The traces wait longer after each failure, up to 30 s. The metrics are sent each second.
        while collector.metrics_requests() < 4 {
            server.post_async(None, "/api/query", r#"{"path":"telemetry/functions/idle","args":{}}"#).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        background.stop().await;
    });
    assert!(collector.spans().is_empty());
    assert!(lost(&app, &server, "traces") > 0.0 && lost(&app, &server, "metrics") < 1.0);
    let head = collector.arrived()[0].head.clone();
    assert!(head.contains("content-encoding: gzip"), "{head}");
}

#[test]
fn headers_of_the_secret_are_sent() {
    let collector = Collector::new();
    let mut app = TestApp::configured(&collector.settings("metrics = false"));
    app.set_secret("OTLP_HEADERS", "x-honeycomb-team=hunter2%2C3");
    app.restart();
    let server = app.serve();
    call(&server, 1);
    flush(&app, &server);
    let head = collector.arrived()[0].head.clone();
    assert!(head.contains("x-honeycomb-team: hunter2,3"), "{head}");
    assert!(head.contains("content-type: application/x-protobuf"), "{head}");
}

#[test]
fn doctor_reports_if_the_collector_can_be_reached() {
    let telemetry = |port: u16| {
        let app = TestApp::configured(&format!("[telemetry]\notlp = \"http://127.0.0.1:{port}\"\n"));
        let reply = Door::of(&app).operator(Method::GET, "/api/admin/doctor", None);
        let findings = reply.value()["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|finding| finding["subject"] == "telemetry").unwrap()
    };
    let refused = telemetry(REFUSING);
    assert_eq!(refused["state"], "warning");
    assert!(refused["says"].as_str().unwrap().contains("cannot be reached"), "{refused}");
    assert!(refused["advice"].as_str().unwrap().contains("telemetry.otlp"), "{refused}");
    assert_eq!(telemetry(Collector::new().port)["state"], "ok");
}
