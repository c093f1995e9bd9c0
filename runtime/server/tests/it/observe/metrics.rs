//! `/metrics`: what was done stands there, and nothing that a client can make up.

use std::time::Duration;

use convoke::testing::TestApp;
use convoke_calls::call::envelope::LogLinesOn;
use serde_json::json;

use super::support::Samples;

#[test]
fn calls_are_counted_by_function_and_outcome_with_durations() {
    let app = TestApp::new();
    let server = app.serve();
    let token = server.token("ada");
    for name in ["a", "a", "b"] {
        server.call(Some(&token), "work/increment", &json!({ "name": name })).value();
    }
    let refused = server.call(Some(&token), "work/increment", &json!({ "name": 7 }));
    assert_eq!(refused.code(), "INVALID_ARGUMENT");
    server.call(Some(&token), "work/half", &json!({ "name": "c" }));

    let page = Samples::scrape(&app, &server);
    let labels = r#"function="work/increment",kind="mutation""#;
    assert_eq!(page.value(&format!(r#"convoke_calls_total{{{labels},outcome="OK"}}"#)), 3.0);
    assert_eq!(page.value(&format!(r#"convoke_calls_total{{{labels},outcome="INVALID_ARGUMENT"}}"#)), 1.0);
    assert_eq!(page.value(&format!("convoke_call_duration_seconds_count{{{labels}}}")), 4.0);
    assert_eq!(page.value(&format!(r#"convoke_call_duration_seconds_bucket{{{labels},le="+Inf"}}"#)), 4.0);
    let nested = page.value(&format!("convoke_nested_calls_total{{{labels}}}"));
    assert_eq!(nested, 2.0, "by the action, and by the other mutation that it called");
    let mut buckets: Vec<(f64, f64)> = page
        .names("convoke_call_duration_seconds_bucket{function=\"work/increment\"")
        .map(|name| (name.rsplit("le=\"").next().unwrap().trim_end_matches("\"}").parse().unwrap(), page.value(name)))
        .collect();
    buckets.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let buckets: Vec<f64> = buckets.into_iter().map(|(_, count)| count).collect();
    assert_eq!(buckets.len(), 18);
    assert!(buckets.is_sorted(), "a bucket holds all that is below it: {buckets:?}");
    assert_eq!(
        page.value(r#"convoke_calls_total{function="work/half",kind="action",outcome="FAILED_PRECONDITION"}"#),
        1.0
    );
    // Three increments, the one that the action made, and the first sight of ada.
    assert_eq!(page.value("convoke_store_batch_mutations_sum"), 6.0);
    assert_eq!(
        page.value("convoke_store_commit_duration_seconds_count"),
        page.value("convoke_store_batch_mutations_count")
    );
}

#[test]
fn client_input_is_never_a_label() {
    let app = TestApp::new();
    let server = app.serve();
    for path in ["made/up", "work/increment%00", "x\"}y"] {
        server.post(None, &format!("/api/run/{path}"), r#"{"args":{}}"#);
    }
    server.post(None, "/api/query", r#"{"path":"made:up","args":{}}"#);
    server.post(None, "/api/made-up", "{}");
    let page = Samples::scrape(&app, &server);
    assert_eq!(page.names("made").count(), 0);
    assert_eq!(page.names("convoke_calls_total").count(), 0, "and none was a call");
    assert_eq!(page.value(r#"convoke_requests_refused_total{stage="envelope",code="FUNCTION_NOT_FOUND"}"#), 4.0);
    assert_eq!(page.value(r#"convoke_requests_refused_total{stage="listener",code="ROUTE_NOT_FOUND"}"#), 1.0);
}

#[test]
fn rejections_are_counted_by_reason() {
    let app = TestApp::new();
    let server = app.serve_with(
        |options| {
            options.limits.request_body_bytes_max = 1_000;
            options.limits.calls_per_address_per_second = 4;
        },
        LogLinesOn::Error,
    );
    server.post(None, "/api/query", "{");
    server.post(Some("no.token.atall"), "/api/query", "{}");
    server.post(None, "/api/query", vec![b' '; 2_000]);
    server.post(None, "/api/query", "{}");
    let reply = server.post(None, "/api/query", "{}");
    assert_eq!(reply.code(), "TOO_MANY_REQUESTS");
    let page = Samples::scrape(&app, &server);
    for (labels, count) in [
        (r#"stage="envelope",code="INVALID_JSON""#, 1.0),
        (r#"stage="envelope",code="INVALID_ENVELOPE""#, 1.0),
        (r#"stage="credentials",code="INVALID_CREDENTIALS""#, 1.0),
        (r#"stage="listener",code="PAYLOAD_TOO_LARGE""#, 1.0),
        (r#"stage="listener",code="TOO_MANY_REQUESTS""#, 1.0),
    ] {
        assert_eq!(page.value(&format!("convoke_requests_refused_total{{{labels}}}")), count, "{labels}");
    }
    assert_eq!(page.value("convoke_token_rejections_total"), 1.0);
}

#[test]
fn token_is_verified_once_then_cached() {
    let app = TestApp::new();
    let server = app.serve();
    let token = server.token("ada");
    for _ in 0..3 {
        server.call(Some(&token), "work/nothing", &json!({})).value();
    }
    let page = Samples::scrape(&app, &server);
    assert_eq!(page.value(r#"convoke_token_lookups_total{result="miss"}"#), 1.0);
    assert_eq!(page.value(r#"convoke_token_lookups_total{result="hit"}"#), 2.0);
    assert_eq!(page.value("convoke_tokens_remembered"), 1.0);
    assert_eq!(page.value("convoke_auth_issuers_without_keys"), 0.0);
    assert_eq!(page.value("convoke_http_connections_rejected_total"), 0.0);
    assert!(page.value("convoke_http_connections_accepted_total") >= 2.0);
    assert!(page.value(r#"convoke_store_statements_total{cache="hit"}"#) > 0.0);
    assert!(page.value(r#"convoke_store_statements_total{cache="miss"}"#) > 0.0);
}

#[test]
fn job_metrics_have_state_lag_and_outcome() {
    let app = TestApp::new();
    let plan = |name: &str, args| app.user("ada").call(&format!("work/{name}"), args);
    plan("plan", json!({ "n": 1, "afterMs": 30_000 }));
    plan("planBreakDown", json!({ "n": 2 }));
    let server = app.serve();
    let state = |page: &Samples, state: &str| page.value(&format!("convoke_jobs{{state=\"{state}\"}}"));
    let result = |page: &Samples, result: &str| {
        page.value(&format!("convoke_job_attempts_unsuccessful_total{{result=\"{result}\"}}"))
    };
    let early = Samples::scrape(&app, &server);
    assert_eq!((state(&early, "pending"), early.value("convoke_jobs_lag_seconds")), (2.0, 0.0));

    // The clock jumps past both, and nothing runs.
    app.clock().advance(Duration::from_secs(90));
    assert_eq!(Samples::scrape(&app, &server).value("convoke_jobs_lag_seconds"), 90.0);

    app.advance(Duration::from_secs(60));
    let done = Samples::scrape(&app, &server);
    assert_eq!(
        (state(&done, "pending"), state(&done, "failed"), done.value("convoke_jobs_lag_seconds")),
        (0.0, 1.0, 0.0)
    );
    assert_eq!((result(&done, "again"), result(&done, "failed"), result(&done, "postponed")), (1.0, 1.0, 0.0));
    let scheduled = r#"convoke_scheduled_calls_total{function="work/breakDown",kind="mutation"}"#;
    assert_eq!(done.value(scheduled), 2.0);
    app.failed_jobs();
}

#[test]
fn replays_and_rate_limits_are_counted() {
    let app = TestApp::new();
    let server = app.serve();
    let args = json!({ "name": "a", "idempotencyKey": "k" });
    for _ in 0..3 {
        app.user("ada").call("work/incrementOnce", args.clone());
    }
    let page = Samples::scrape(&app, &server);
    assert_eq!(page.value("convoke_idempotent_replays_total"), 2.0);
    assert_eq!(page.value(r#"convoke_rate_limited_total{class="write"}"#), 0.0);
}

convoke::gauge!("test_twice", "A figure of the application.", |runtime| runtime.limits().readers as f64 * 2.0);

#[test]
fn application_metric_is_exported() {
    let app = TestApp::new();
    let server = app.serve();
    let page = Samples::scrape(&app, &server);
    assert_eq!(page.value("test_twice"), 2.0 * page.value("convoke_store_readers"));
}

#[test]
fn process_build_and_file_metrics_are_exported() {
    let app = TestApp::new();
    let server = app.serve();
    let page = Samples::scrape(&app, &server);
    assert_eq!(page.value(&format!(r#"convoke_build_info{{version="{}"}}"#, env!("CARGO_PKG_VERSION"))), 1.0);
    assert_eq!(page.value("convoke_ready"), 1.0);
    for name in [
        "process_start_time_seconds",
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_max_fds",
        "convoke_store_database_bytes",
        "convoke_disk_free_bytes",
        "convoke_disk_size_bytes",
        "convoke_store_readers",
    ] {
        assert!(page.value(name) > 0.0, "{name}");
    }
    assert!(page.get("process_cpu_seconds_total").is_some());
}
