//! What a stream contains, and what is lost.

use std::path::Path;
use std::time::Duration;

use convoke::testing::TestApp;
use convoke_calls::log_sink::LogLine;
use convoke_calls::trace::Severity;
use convoke_store::disk::Room;
use serde_json::{Value, json};

use crate::webhooks::receiver::{Receiver, answer};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn say(app: &TestApp, text: &str) {
    let args = json!({ "text": text, "password": "hunter2" });
    app.user("ada").call("logStreams/functions/say", args).value();
}

fn event(app: &TestApp, target: &'static str, message: &str) {
    let fields = vec![("job", "7".to_owned())];
    let message = message.to_owned();
    app.runtime().log_sink().unwrap().add(LogLine { severity: Severity::Warn, target, message, fields });
}

fn flush(app: &TestApp) {
    app.block_on(async { app.runtime().start_background().stop().await });
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn file(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("calls.jsonl")).unwrap()
}

fn written_and_lost(app: &TestApp) -> (u64, u64) {
    let counts = app.runtime().log_streams().unwrap().counts();
    (counts[0].written, counts[0].lost)
}

#[test]
fn file_has_calls_with_their_log_lines_and_events_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let app = TestApp::configured(&format!("[[log_streams]]\nfile = {path:?}\n"));
    say(&app, "good morning");
    event(&app, "convoke::job", "failed: the shelf is empty");
    event(&app, "convoke::function", "said good morning");
    flush(&app);
    let text = file(folder.path());
    assert!(!text.contains("hunter2"), "{text}");
    let [call, event] = lines(&text).try_into().unwrap();
    assert_eq!(
        (&call["type"], &call["function"], &call["outcome"]),
        (&json!("call"), &json!("logStreams/functions/say"), &json!("OK"))
    );
    assert_eq!(call["logLines"], json!(["[INFO] said good morning"]));
    assert_eq!(call["arguments"]["text"], "good morning");
    assert_eq!(
        (&event["type"], &event["level"], &event["target"]),
        (&json!("event"), &json!("WARN"), &json!("convoke::job"))
    );
    assert_eq!((&event["message"], &event["fields"]), (&json!("failed: the shelf is empty"), &json!({ "job": "7" })));
    assert_eq!(written_and_lost(&app), (2, 0));
}

#[test]
fn full_file_is_rotated_between_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let limits = "file_bytes_max = 1000\nfiles_max = 3\nevents = false";
    let app = TestApp::configured(&format!("[[log_streams]]\nfile = {path:?}\n{limits}\n"));
    for number in 0..12 {
        say(&app, &format!("number {number}"));
        flush(&app);
    }
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["calls.jsonl", "calls.jsonl.1", "calls.jsonl.2"]);
    for name in &names {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(text.len() <= 1_000 && !lines(&text).is_empty(), "{name}: {text}");
    }
    let last = lines(&file(folder.path())).pop().unwrap();
    assert_eq!(last["arguments"]["text"], "number 11");
}

#[test]
fn full_disk_loses_lines_only_beyond_the_queue_and_delays_no_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let app = TestApp::configured(&format!("[[log_streams]]\nfile = {path:?}\nevents = false\n"));
    let room = |free_bytes| app.disk().set(Room { free_bytes, total_bytes: 1 << 40 });
    room(0);
    let background = app.block_on(async { app.runtime().start_background() });
    say(&app, "while the disk is full");
    std::thread::sleep(Duration::from_millis(600));
    assert!(!path.exists(), "the last space is reserved for the database");
    room(1 << 40);
    app.block_on(background.stop());
    assert_eq!(lines(&file(folder.path()))[0]["arguments"]["text"], "while the disk is full");
    assert_eq!(written_and_lost(&app), (1, 0));

    room(0);
    say(&app, "until the end");
    flush(&app);
    assert_eq!(written_and_lost(&app), (1, 1), "the queue ends with the process");
}

#[test]
fn webhook_receives_a_refused_batch_again_under_the_same_id_with_a_valid_signature() {
    let receiver = Receiver::new(|number| answer(if number == 0 { 500 } else { 200 }, "", ""));
    let url = receiver.url.clone();
    let app = TestApp::with(|options| {
        options.settings = toml::from_str(&format!("[[log_streams]]\nwebhook = {url:?}\n")).unwrap();
        convoke_calls::outbound::secret::write(&options.data, "LOG_STREAM", SECRET).unwrap();
    });
    say(&app, "first");
    say(&app, "second");
    let background = app.block_on(async { app.runtime().start_background() });
    let are_all_accepted = (0..2_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        written_and_lost(&app) == (2, 0)
    });
    assert!(are_all_accepted);
    app.block_on(background.stop());
    let arrived = receiver.arrived();
    for request in &arrived {
        assert!(request.is_signed_by(SECRET));
        assert!(!request.is_signed_by("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
        assert_eq!(request.header("content-type"), "application/x-ndjson");
    }
    let [refused, accepted @ ..] = &arrived[..] else { panic!("no request") };
    assert_eq!(refused.header("webhook-id"), accepted[0].header("webhook-id"));
    assert_eq!(refused.body, accepted[0].body);
    // A slow test may be in the middle of its calls when the first batch is sent.
    let lines = accepted.iter().flat_map(|request| lines(&request.body));
    let texts: Vec<Value> = lines.map(|line| line["arguments"]["text"].clone()).collect();
    assert_eq!(texts, ["first", "second"]);
}

#[test]
fn webhook_without_its_secret_stops_the_start() {
    let started =
        std::panic::catch_unwind(|| TestApp::configured("[[log_streams]]\nwebhook = \"https://logs.example.com/\"\n"));
    let panic = started.err().unwrap();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("[[log_streams]] 1") && message.contains("LOG_STREAM"), "{message}");
}
