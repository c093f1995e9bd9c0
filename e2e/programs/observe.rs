//! The log of a real process, in both formats.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// A forged log line with control characters of a terminal, as an attacker would send it.
const FORGED: &str = "Ada\n2030-01-01T00:00:00.000000Z ERROR the bank is empty\r\u{1b}[2K\u{9b}2K\u{2028}";
const KEY_SECRET: &str = "c2VjcmV0LW9mLWEta2V5LXRoYXQtbm9ib2R5LWtub3dz";

/// A server that logs into a file.
struct Serving {
    process: Child,
    folder: TempDir,
    url: String,
    token: String,
}

impl Serving {
    fn start(args: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let log = folder.path().join("log");
        let process = hello(folder.path())
            .args(["dev", "--listen", "127.0.0.1:0"])
            .args(args)
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut serving = Self { process, folder, url: String::new(), token: String::new() };
        let said = serving.until(|log| log.contains("convoke: listening on "));
        let after = |part: &str| said.split(part).nth(1).unwrap().split(['\'', '\n']).next().unwrap().to_owned();
        (serving.url, serving.token) = (after("convoke: listening on "), after("Bearer "));
        serving
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Waits until the log satisfies `enough`, and returns it.
    fn until(&self, enough: impl Fn(&str) -> bool) -> String {
        for _ in 0..6_000 {
            let log = self.log();
            if enough(&log) {
                return log;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("waited in vain:\n{}", self.log());
    }

    fn send(&self, route: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> (u16, Value) {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let mut request = agent.post(format!("{}{route}", self.url)).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send(body.as_ref()).unwrap();
        (response.status().as_u16(), response.into_body().read_json().unwrap())
    }

    /// Makes one call of every kind that logs a line, each with its own request id. Returns the lines since the start.
    fn lines_of_everything(&self) -> Vec<String> {
        let bearer = format!("Bearer {}", self.token);
        let hello = json!({ "args": { "name": FORGED } }).to_string();
        let route = "/api/run/greetings/sayHello";
        assert_eq!(self.send(route, &[("x-request-id", "good"), ("authorization", &bearer)], &hello).0, 200);
        assert_eq!(self.send(route, &[("x-request-id", "argument")], r#"{"args":{"nome":1}}"#).0, 200);
        assert_eq!(self.send(route, &[("x-request-id", "json")], "{").0, 400);
        let unknown = "/api/run/made%0A2030-01-01T00:00:00.000000Z%20ERROR%20up/forged";
        assert_eq!(self.send(unknown, &[("x-request-id", "unknown")], "{\"args\":{}}").0, 400);
        let broken = format!("{bearer}x");
        assert_eq!(self.send(route, &[("x-request-id", "token"), ("authorization", &broken)], &hello).0, 401);
        let key = format!("Convoke development:ci|{KEY_SECRET}");
        // Calls of one millisecond have no order.
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(self.send(route, &[("x-request-id", "key"), ("authorization", &key)], &hello).0, 401);
        let secret_query = format!("/nowhere?token={KEY_SECRET}");
        assert_eq!(self.send(&secret_query, &[("x-request-id", "route")], "").0, 404);
        assert_eq!(self.send(route, &[("x-request-id", "large")], vec![b' '; 1_100_000]).0, 413);
        let ids = ["good", "argument", "json", "unknown", "token", "key", "route", "large"];
        let log = self.until(|log| ids.iter().all(|id| log.matches(&format!("{id}\"")).count() > 0));
        let lines: Vec<String> =
            log.lines().skip_while(|line| !line.starts_with("convoke: listening")).skip(1).map(str::to_owned).collect();
        for secret in [self.token.rsplit('.').next().unwrap(), self.token.split('.').nth(1).unwrap(), KEY_SECRET] {
            assert!(!lines.iter().any(|line| line.contains(secret)), "a secret stands in the log");
        }
        lines
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns a command for `hello`, in its own folder and an empty environment.
fn hello(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hello"));
    command.current_dir(folder).env_clear().stdin(Stdio::null());
    command
}

#[test]
fn json_log_has_the_outcome_of_every_request() {
    let serving = Serving::start(&["--log-format", "json"]);
    let lines: Vec<Value> =
        serving.lines_of_everything().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |id: &str, message: &str| {
        let found: Vec<&Value> =
            lines.iter().filter(|line| line["request_id"] == id && line["message"] == message).collect();
        assert_eq!(found.len(), 1, "{id} {message}: {lines:#?}");
        found[0]
    };
    let good = of("good", "call");
    assert_eq!((&good["level"], &good["function"]), (&json!("INFO"), &json!("greetings/sayHello")));
    assert_eq!((&good["kind"], &good["outcome"], &good["subject"]), (&json!("query"), &json!("OK"), &json!("ada")));
    assert!(good["took_us"].as_u64().is_some() && good["timestamp"].is_string());
    let own = lines.iter().find(|line| line["request_id"] == "good" && line["target"] == "convoke::function").unwrap();
    assert!(own["message"].as_str().unwrap().starts_with("greeting Ada\n"), "a value is a value: {own}");
    assert_eq!(of("argument", "call")["outcome"], "INVALID_ARGUMENT");
    for (id, outcome, by) in [
        ("json", "INVALID_JSON", "envelope"),
        ("unknown", "FUNCTION_NOT_FOUND", "envelope"),
        ("token", "INVALID_CREDENTIALS", "credentials"),
        ("key", "INVALID_CREDENTIALS", "credentials"),
        ("route", "ROUTE_NOT_FOUND", "listener"),
        ("large", "PAYLOAD_TOO_LARGE", "listener"),
    ] {
        let line = of(id, "refused");
        assert_eq!((&line["outcome"], &line["by"]), (&json!(outcome), &json!(by)), "{id}");
        assert_eq!(line["subject"], Value::Null, "the caller must be unknown");
    }
    assert_eq!(of("route", "refused")["asked"], "POST /nowhere", "a query is not repeated");
}

#[test]
fn text_log_escapes_control_characters() {
    let serving = Serving::start(&[]);
    let lines = serving.lines_of_everything();
    for line in &lines {
        assert!(!line.contains(|c: char| c.is_control() || c == '\u{2028}'), "{line:?}");
        let (time, rest) = line.trim_start().split_once(' ').unwrap();
        assert!(time.ends_with('Z') && !time.starts_with("2030"), "{line}");
        assert!(["INFO", "WARN"].iter().any(|level| rest.trim_start().starts_with(level)), "{line}");
    }
    let of = |id: &str| lines.iter().filter(|line| line.contains(&format!("request_id=\"{id}\""))).count();
    assert_eq!((of("good"), of("argument"), of("unknown")), (2, 1, 1));
}

/// Runs `hello logs` on the folder of a server.
fn logs(serving: &Serving, args: &[&str]) -> Command {
    let mut command = hello(serving.folder.path());
    command.arg("logs").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn shown(serving: &Serving, args: &[&str]) -> String {
    let output = logs(serving, args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn logs_follow_calls_and_their_lines_until_shutdown() {
    let mut serving = Serving::start(&[]);
    let route = "/api/run/greetings/sayHello";
    let hello = r#"{"args":{"name":"Ada"}}"#;
    serving.send(route, &[("x-request-id", "before")], hello);

    let mut all = logs(&serving, &["--follow", "--json"]).spawn().unwrap();
    let mut errors = logs(&serving, &["--follow", "--json", "--last", "0", "--outcome", "error"]).spawn().unwrap();
    let mut all_lines = BufReader::new(all.stdout.take().unwrap()).lines();
    let error_lines = BufReader::new(errors.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&all_lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["requestId"], "before", "it begins with the last ones");

    // Only an error of the other process shows that it already follows.
    let (send, followed) = mpsc::channel();
    std::thread::spawn(move || error_lines.map_while(Result::ok).for_each(|line| drop(send.send(line))));
    let first_error = (0..1_200).find_map(|_| {
        serving.send(route, &[("x-request-id", "refused")], r#"{"args":{"nome":1}}"#);
        followed.recv_timeout(Duration::from_millis(50)).ok()
    });
    let first_error = first_error.expect("the other process prints an error");
    assert!(!shown(&serving, &["--request-id", "refused", "--json"]).is_empty());
    let error: Value = serde_json::from_str(&first_error).unwrap();
    assert_eq!((&error["requestId"], &error["outcome"]), (&json!("refused"), &json!("INVALID_ARGUMENT")));
    assert!(error["error"].as_str().unwrap().contains("nome"), "{error}");

    serving.send(route, &[("x-request-id", "during")], hello);
    let during = loop {
        let line = next();
        if line["requestId"] == "during" {
            break line;
        }
    };
    assert_eq!((&during["function"], &during["kind"]), (&json!("greetings/sayHello"), &json!("query")));
    assert_eq!((&during["outcome"], &during["logLines"]), (&json!("OK"), &json!(["[INFO] greeting Ada"])));
    assert!(during["durationMs"].as_f64().unwrap() > 0.0);

    let id = serving.process.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    assert_eq!(serving.process.wait().unwrap().code(), Some(0), "who follows holds no drain");
    for child in [&mut all, &mut errors] {
        assert!(child.wait().unwrap().success());
    }
    let log = serving.log();
    let admin = log.lines().find(|line| line.contains(r#" admin request_id="#)).unwrap_or_else(|| panic!("{log}"));
    for part in [r#"method="GET""#, r#"path="logs""#, r#"outcome="OK""#, r#"deploy_key="operator""#] {
        assert!(admin.contains(part), "an admin request has its line too: {admin}");
    }
}

#[test]
fn recent_calls_filter_by_function_outcome_and_request() {
    let serving = Serving::start(&[]);
    serving.lines_of_everything();
    let text = shown(&serving, &[]);
    let good = text.lines().position(|line| line.contains("greetings/sayHello") && line.contains(" OK ")).unwrap();
    let line = text.lines().nth(good).unwrap();
    for part in ["query", "ada", " ms", "good"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(text.lines().nth(good + 1).unwrap().starts_with("    [INFO] greeting Ada"), "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    assert!(text.lines().all(|line| !line.starts_with("2030")), "no value begins a line:\n{text}");
    for (args, ids) in [
        (&["--function", "greetings/say*", "--outcome", "ok"][..], &["good"][..]),
        (&["--outcome", "invalid_json"], &["json"]),
        (&["--outcome", "error", "--function", "made*"], &["unknown"]),
        (&["--request-id", "key"], &["key"]),
        (&["--last", "1"], &["key"]),
    ] {
        let lines = shown(&serving, &[args, &["--json"]].concat());
        let found: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(found.iter().map(|call| &call["requestId"]).collect::<Vec<_>>(), ids, "{args:?}");
    }
    let misspelt = logs(&serving, &["--outcome", "forbiden"]).output().unwrap();
    assert_eq!(misspelt.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&misspelt.stderr).contains("ok, error, refused, failed, or a code such as"));
}

#[test]
fn logs_without_a_server_fail_with_advice() {
    let folder = TempDir::new().unwrap();
    let output = hello(folder.path()).args(["logs", "--follow"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no server runs on ./data") && said.contains("--url"), "{said}");
}
