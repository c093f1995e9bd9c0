//! Log lines: in order, within the limits, and never of another call.

use std::sync::{Arc, Mutex};

use convoke::testing::TestApp;
use serde_json::json;

#[test]
fn log_lines_have_level_and_fields_and_omit_trace() {
    let app = TestApp::new();
    let reply = app.nobody().call("call/functions/logLevels", json!({}));
    assert_eq!(reply.log_lines(), ["[DEBUG] one", "[INFO] two count=2 who=ada", "[WARN] three", "[ERROR] four"]);
}

#[test]
fn operator_log_level_does_not_affect_caller_lines() {
    let quiet = tracing_subscriber::fmt().with_max_level(tracing::Level::ERROR).with_writer(std::io::sink).finish();
    let app = TestApp::new();
    let reply = tracing::subscriber::with_default(quiet, || app.nobody().call("call/functions/logLevels", json!({})));
    assert_eq!(reply.log_lines().len(), 4);
}

#[test]
fn excess_log_lines_are_counted_and_long_ones_truncated() {
    let app = TestApp::new();
    let reply = app.nobody().call("call/functions/logMuch", json!({ "count": 300, "bytes": 10_000 }));
    let lines = reply.log_lines();
    assert_eq!(lines.len(), 257);
    assert_eq!(lines[256], "[WARN] 44 more log lines were omitted");
    assert!(lines[..256].iter().all(|line| line.len() <= 4_096 && line.ends_with('…')));
}

#[test]
fn concurrent_calls_do_not_mix_log_lines() {
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
                    format!("[INFO] {name} {round} work"),
                    format!("[INFO] incrementing {name}"),
                ]
            })
            .collect();
        assert_eq!(reply.log_lines(), expected);
    }
}

#[test]
fn cpu_bound_work_has_a_separate_thread() {
    let app = TestApp::new();
    assert_eq!(app.nobody().call("call/functions/workApart", json!({})).value(), "convoke-work");
}

/// Returns the lines of the operator's log about the calls of `work`.
pub(super) fn operators_log(work: impl FnOnce()) -> String {
    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let sink = Sink::default();
    let writer = sink.clone();
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(log, work);
    let written = sink.0.lock().unwrap().clone();
    String::from_utf8(written).unwrap()
}

#[test]
fn action_and_its_mutations_log_one_request_id() {
    let app = TestApp::new();
    let log = operators_log(|| {
        app.user("ada").call("call/functions/half", json!({ "name": "a" }));
    });
    let line = |part: &str| log.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}: {log}"));
    let id = |line: &str| line.split("request_id=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let called = line("incrementing a");
    assert!(called.contains("call/functions/increment"), "{called}");
    let ended = line(r#"outcome="FAILED_PRECONDITION""#);
    for part in [r#"function="call/functions/half""#, r#"kind="action""#, "took_us=", r#"subject="ada""#] {
        assert!(ended.contains(part), "{part}: {ended}");
    }
    assert_eq!(id(called), id(ended));
    assert_eq!(log.matches("outcome=").count(), 1, "one line a call: {log}");
}

#[test]
fn rejected_call_is_not_an_operator_error() {
    let app = TestApp::with(|options| options.limits.actions_max = 0);
    let log = operators_log(|| {
        let reply = app.user("ada").call("call/functions/half", json!({ "name": "a" }));
        assert_eq!(reply.code(), "OVERLOADED");
    });
    assert!(log.contains(r#"outcome="OVERLOADED""#) && !log.contains("ERROR"), "{log}");
}

#[test]
fn internal_error_cause_is_logged_once_with_the_request_id() {
    let app = TestApp::new();
    let log = operators_log(|| {
        app.nobody().call("call/functions/panicInQuery", json!({}));
        let typed = app.nobody().run::<super::functions::panic_in_action>(());
        assert_eq!(typed.unwrap_err().code(), convoke::Code::Internal);
    });
    for cause in ["a bug in the query", "a bug in the action"] {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(cause)).collect();
        assert!(lines.len() == 1 && lines[0].contains("ERROR") && lines[0].contains("request_id="), "{log}");
    }
}
