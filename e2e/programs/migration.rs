//! A release whose schema does not fit the data: it rejects calls until the migration is complete, and the migration
//! resumes after its process is killed.

#![allow(clippy::disallowed_methods, reason = "real processes take real time")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod process;

use std::io::{BufRead as _, Read as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use process::{Serving, text};
use serde_json::{Value, json};
use tempfile::TempDir;

const BOOKS: i64 = 4_000;
const DEV: [&str; 3] = ["dev", "--listen", "127.0.0.1:0"];

fn program(path: &str, folder: &Path) -> Command {
    let mut command = Command::new(path);
    command.current_dir(folder).env_clear().stdin(Stdio::null());
    command
}

fn before(folder: &Path) -> Command {
    program(env!("CARGO_BIN_EXE_library_v1"), folder)
}

fn after(folder: &Path) -> Command {
    program(env!("CARGO_BIN_EXE_library_v2"), folder)
}

#[track_caller]
fn done(output: Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Returns a folder with the books of the first release.
fn old_library() -> TempDir {
    let folder = TempDir::new().unwrap();
    for _ in 0..BOOKS / 1_000 {
        done(before(folder.path()).args(["run", "library/addBooks", r#"{"count":1000}"#]).output().unwrap());
    }
    folder
}

/// Returns the operator's status of the migration, and the difference of the schema.
fn standing(folder: &Path) -> (Value, Value) {
    let output = after(folder).args(["migrate", "--dry-run", "--json"]).output().unwrap();
    let schema: Value = serde_json::from_str(&done(output)).unwrap();
    (schema["migrations"][0].clone(), schema["difference"].clone())
}

fn ready(url: &str) -> (u16, Value) {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let mut reply = agent.get(format!("{url}/readyz")).call().unwrap();
    (reply.status().as_u16(), reply.body_mut().read_json().unwrap())
}

fn shelves(url: &str) -> (u16, Value) {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let mut reply = agent.post(format!("{url}/api/run/library/shelves")).send_json(json!({ "args": {} })).unwrap();
    (reply.status().as_u16(), reply.body_mut().read_json().unwrap())
}

/// Calls the migration with a token.
fn migrated_by(url: &str, token: &str) -> Value {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let request = agent.post(format!("{url}/api/run/migrations/fillShelves"));
    let request = request.header("authorization", format!("Bearer {}", token.trim()));
    request.send_json(json!({ "args": { "limit": 10 } })).unwrap().into_body().read_json().unwrap()
}

/// Asserts that every book has its shelf and was changed exactly once.
fn whole() -> Value {
    let tall = (BOOKS + 2) / 3;
    json!([
        { "shelf": "tall", "books": tall, "edits": tall },
        { "shelf": "others", "books": BOOKS - tall, "edits": BOOKS - tall },
    ])
}

#[test]
fn killed_server_resumes_its_migration() {
    let folder = old_library();
    let here = folder.path();
    let mut serving = Serving::start(after(here).args(DEV));
    let (status, body) = ready(&serving.url);
    let reason = "table books: field shelf is no longer an Option, and rows without a value exist";
    assert!(status == 503 && body["reason"].as_str().unwrap().starts_with(reason), "{status} {body}");
    let refused = shelves(&serving.url);
    assert_eq!((refused.0, &refused.1["errorData"]["code"]), (503, &json!("NOT_READY")));
    assert_eq!(standing(here).0["state"], "not begun");

    let mut migrating = after(here);
    // The batches are so small that the migration is not complete before the kill.
    let mut migrating = migrating.args(["migrate", "--batch", "1"]).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while standing(here).0["done"].as_i64().unwrap() < BOOKS / 8 {
        assert!(begun.elapsed() < Duration::from_secs(300), "it does not go on");
    }
    // SIGKILL: no operation is completed, and no file is closed.
    serving.process.kill().unwrap();
    serving.process.wait().unwrap();
    let mut said = String::new();
    migrating.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(!migrating.wait().unwrap().success() && said.contains("no response"), "{said}");

    let mut serving = Serving::start(after(here).args(DEV));
    let (stands, difference) = standing(here);
    let half = stands["done"].as_i64().unwrap();
    assert!((BOOKS / 8..BOOKS).contains(&half) && stands["state"] == "begun", "{stands}");
    assert_eq!(stands["total"], BOOKS);
    assert!(difference.as_str().unwrap().starts_with(reason));
    assert_eq!(ready(&serving.url).0, 503);

    let output = after(here).args(["migrate", "--batch", "50"]).output().unwrap();
    let said = text(&output.stderr);
    done(output);
    for part in [
        &format!("migrations/fillShelves: begun, {half} of {BOOKS} rows"),
        &format!("migrations/fillShelves: finished, {BOOKS} rows"),
        "the database fits now, and all calls are served",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains('\r'), "no progress line in a pipe: {said}");
    let (finished, difference) = standing(here);
    assert_eq!((&finished["state"], &finished["done"], &difference), (&json!("finished"), &json!(BOOKS), &Value::Null));
    // The same process now serves all callers.
    assert_eq!(ready(&serving.url).0, 200);
    assert_eq!(shelves(&serving.url).1["value"], whole());
    let log = serving.take_log();
    assert_eq!(serving.signal("TERM"), 0);
    let parts = log.lines().map_while(Result::ok).filter(|line| line.contains("migrated")).count();
    assert_eq!(i64::try_from(parts).unwrap(), (BOOKS - half) / 50 + 1, "a line a part, and no row twice");
}

#[test]
fn killed_offline_migration_resumes() {
    let folder = old_library();
    let here = folder.path();
    let mut half = 0;
    for _ in 0..200 {
        let mut migrating = after(here);
        let mut migrating = migrating.args(["migrate", "--batch", "5"]).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(400));
        let ended = migrating.try_wait().unwrap();
        migrating.kill().unwrap();
        migrating.wait().unwrap();
        let at = standing(here).0["done"].as_i64().unwrap();
        assert!(at >= half, "it never goes back: {half}, then {at}");
        half = at;
        if ended.is_some() {
            break;
        }
    }
    done(after(here).args(["migrate"]).output().unwrap());
    let output = after(here).args(["run", "library/shelves"]).output().unwrap();
    assert_eq!(serde_json::from_str::<Value>(&done(output)).unwrap(), whole());
    let again = after(here).args(["migrate"]).output().unwrap();
    assert!(text(&again.stderr).contains("nothing was left to do"), "{}", text(&again.stderr));
    let unknown = after(here).args(["migrate", "migrations/fillShelfs"]).output().unwrap();
    assert!(text(&unknown.stderr).contains("known: migrations/fillShelves"), "{}", text(&unknown.stderr));
}

#[test]
fn migration_runs_as_an_admin_function_and_its_last_part_opens_the_store() {
    let folder = old_library();
    let serving = Serving::start(after(folder.path()).args(DEV));
    let part = |limit: i64| {
        let args = format!("{{\"limit\":{limit}}}");
        let output = after(folder.path()).args(["run", "migrations/fillShelves", &args]).output().unwrap();
        serde_json::from_str::<Value>(&done(output)).unwrap()
    };
    let unchanged = standing(folder.path());
    for part in ["  - books: field shelf is no longer an Option", "Write a migration: an admin mutation in a module"] {
        assert!(serving.said.contains(part), "{}", serving.said);
    }
    // The operator sees the stored rows, without the field that the schema adds.
    assert!(done(after(folder.path()).arg("data").output().unwrap()).contains("books"));
    let rows = done(after(folder.path()).args(["data", "books", "--limit", "2", "--json"]).output().unwrap());
    let row: Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
    assert_eq!((&row["edits"], &row["shelf"], row.get("isbn")), (&json!(0), &Value::Null, None));
    let token = done(after(folder.path()).args(["token", "--subject", "ada", "--role", "admin"]).output().unwrap());
    let by_user = || migrated_by(&serving.url, &token)["errorMessage"].as_str().unwrap().to_owned();
    assert_eq!(by_user(), "Access denied: Insufficient permissions", "it is the operator's alone");
    assert_eq!(standing(folder.path()), unchanged, "nothing of the schema was applied for it");
    assert_eq!(part(1_500), json!({ "done": 1_500, "total": BOOKS, "finished": false }));
    assert_eq!(ready(&serving.url).0, 503);
    assert_eq!(part(BOOKS), json!({ "done": BOOKS, "total": BOOKS, "finished": true }));
    assert_eq!(ready(&serving.url).0, 200);
    assert_eq!(by_user(), "Access denied: Insufficient permissions");
    assert_eq!(shelves(&serving.url).1["value"], whole());
    let output = after(folder.path()).args(["run", "migrations/fillShelves", r#"{"limit":0}"#]).output().unwrap();
    assert!(text(&output.stderr).contains("INVALID_ARGUMENT: must be 1 to 10000 (got 0) (limit)"));
}
