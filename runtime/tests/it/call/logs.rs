//! Log lines: in order, within the limits, and never of another call.

use convoke::testing::TestApp;
use serde_json::json;

#[test]
fn lines_carry_their_level_and_fields_and_leave_out_what_is_finer_than_debug() {
    let app = TestApp::new();
    let reply = app.nobody().call("call/functions/logLevels", json!({}));
    assert_eq!(reply.log_lines(), ["[DEBUG] one", "[INFO] two count=2 who=ada", "[WARN] three", "[ERROR] four"]);
}

#[test]
fn the_operators_level_does_not_empty_a_callers_lines() {
    let quiet = tracing_subscriber::fmt().with_max_level(tracing::Level::ERROR).with_writer(std::io::sink).finish();
    let app = TestApp::new();
    let reply = tracing::subscriber::with_default(quiet, || app.nobody().call("call/functions/logLevels", json!({})));
    assert_eq!(reply.log_lines().len(), 4);
}

#[test]
fn more_lines_than_the_limit_are_counted_and_long_ones_are_cut() {
    let app = TestApp::new();
    let reply = app.nobody().call("call/functions/logMuch", json!({ "count": 300, "bytes": 10_000 }));
    let lines = reply.log_lines();
    assert_eq!(lines.len(), 257);
    assert_eq!(lines[256], "[WARN] 44 more log lines were left out");
    assert!(lines[..256].iter().all(|line| line.len() <= 4_096 && line.ends_with('…')));
}

#[test]
fn concurrent_calls_never_mix_lines_also_from_tasks_threads_and_transactions() {
    let app = TestApp::new();
    let calls = (0..20).map(|i| {
        let caller = app.nobody();
        async move {
            let name = format!("n{i}");
            let reply = caller.call_async("call/functions/logEverywhere", json!({ "name": name })).await;
            (name, reply)
        }
    });
    for (name, reply) in app.block_on(futures_util::future::join_all(calls)) {
        let expected: Vec<String> = (0..3)
            .flat_map(|round| {
                [
                    format!("[INFO] {name} {round} here"),
                    format!("[INFO] {name} {round} task"),
                    format!("[INFO] {name} {round} thread"),
                    format!("[INFO] incrementing {name}"),
                ]
            })
            .collect();
        assert_eq!(reply.log_lines(), expected);
    }
}
