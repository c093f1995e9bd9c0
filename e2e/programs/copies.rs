//! Continuous copies by a server process: its commands, its readiness, and a second server that takes over.

#![allow(clippy::disallowed_methods, reason = "real processes take real time")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod process;

use std::fs;
use std::path::Path;
use std::time::Duration;

use process::{Serving, hello, run, text};
use serde_json::Value;
use tempfile::TempDir;

const DEV: [&str; 3] = ["dev", "--listen", "127.0.0.1:0"];

/// Runs a command and returns its output and its errors.
#[track_caller]
fn command(folder: &Path, args: &[&str]) -> (bool, String) {
    let output = run(folder, args);
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

/// Polls a condition, for one minute at most.
#[track_caller]
fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what} never came");
}

/// A folder with settings that copy to `place` beside it.
fn copied() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("place")).unwrap();
    let place = folder.path().join("place");
    fs::write(
        folder.path().join("convoke.toml"),
        format!("[copy]\nto = \"dir:{}\"\nevery = \"100ms\"\nacknowledge = \"copied\"\n", place.display()),
    )
    .unwrap();
    folder
}

fn newest(folder: &Path) -> Value {
    let (succeeded, said) = command(folder, &["copies", "list", "--json"]);
    assert!(succeeded, "{said}");
    let generations: Value = serde_json::from_str(&said).unwrap();
    generations.as_array().unwrap().last().cloned().unwrap_or_default()
}

fn wait_for_a_copy(folder: &Path) {
    until("a copy", || newest(folder)["newest"]["commit"].is_u64());
}

#[test]
fn copies_are_listed_verified_and_restored_by_commands() {
    let folder = copied();
    let here = folder.path();
    let serving = Serving::start(hello(here).args(DEV));
    wait_for_a_copy(here);
    let (succeeded, said) =
        command(here, &["run", "greetings/sayHello", r#"{"name":"Ada"}"#, "--as", "ada", "--create"]);
    assert!(succeeded, "{said}");
    let (_, said) = command(here, &["doctor"]);
    assert!(said.contains("on the disk of the database"), "{said}");
    let copied = said.split("copied up to ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or_default();
    assert!(copied.starts_with("20") && copied.ends_with('Z'), "{said}");
    // Killed: what was acknowledged is in the copy.
    serving.signal("KILL");
    let (succeeded, said) = command(here, &["copies", "verify"]);
    assert!(succeeded && said.contains("verified, generation 1"), "{said}");
    let (succeeded, said) = command(here, &["copies", "list"]);
    assert!(succeeded && said.contains("snapshot") && said.contains("newest"), "{said}");

    let other = here.join("other");
    fs::create_dir(&other).unwrap();
    let other = other.to_str().unwrap();
    let from = format!("dir:{}", here.join("place").display());
    let (succeeded, said) = command(here, &["restore", "--from", &from, "--data", other]);
    assert!(succeeded && said.contains("generation 1"), "{said}");
    let rows = |data: &str| command(here, &["data", "--data", data]);
    assert_eq!(rows(other), rows("data"));

    for (args, expected) in [
        (&["restore", "--from", "/tmp"][..], "write dir:/path or s3://bucket/prefix"),
        (&["restore", "--from", "dir:/nowhere"], "mount its disk, or create it"),
        (&["restore", "--from", &from, "--at", "yesterday"], "write 2026-03-01T12:00:00Z"),
        (&["restore", "--from", &from, "--at", "2020-01-01T00:00:00Z"], "has no copy from"),
        (&["restore", "--from", &from, "--commit", "0"], "no snapshot at or before commit 0"),
        (&["restore", "--from", &from, "--generation", "7"], "has no generation 7; see `"),
        (&["restore", "--at", "2020-01-01T00:00:00Z"], "has no copy from"),
        (&["restore", "data/convoke.db", "--at", "2020-01-01T00:00:00Z"], "cannot be used with '--at <TIME>'"),
        (&["restore", "data/convoke.db", "--take-over"], "cannot be used with '--take-over'"),
        (&["restore", "data/convoke.db", "--region", "eu"], "cannot be used with '--region <REGION>'"),
        (&["restore"], "<FILE>"),
    ] {
        let (succeeded, said) = command(here, args);
        assert!(!succeeded && said.contains(expected), "{args:?}: {said}");
    }
}

#[test]
fn restored_server_continues_the_copies_only_on_request() {
    let folder = copied();
    let here = folder.path();
    let former = Serving::start(hello(here).args(DEV));
    wait_for_a_copy(here);
    let (second, empty) = (here.join("second"), here.join("empty"));
    let data = second.to_str().unwrap();
    let from = format!("dir:{}", here.join("place").display());

    // A mistyped folder does not end the copies of the server.
    fs::create_dir(&empty).unwrap();
    fs::create_dir(&second).unwrap();
    let (succeeded, said) = command(here, &["copies", "take-over", "--data", empty.to_str().unwrap()]);
    assert!(!succeeded && said.contains("nothing was taken over"), "{said}");
    assert_eq!(newest(here)["generation"], 1);

    // A test of a restore does not disturb the copies.
    let (succeeded, said) = command(here, &["restore", "--from", &from, "--data", data]);
    assert!(succeeded, "{said}");
    let trial = Serving::start(hello(here).args(DEV).args(["--data", data]));
    until("the warning", || command(here, &["doctor", "--data", data]).1.contains("has not made them"));
    trial.signal("TERM");
    assert_eq!(newest(here)["generation"], 1);

    let (succeeded, said) = command(here, &["restore", "--from", &from, "--data", data, "--take-over"]);
    assert!(succeeded && said.contains("continues these copies as generation 2"), "{said}");
    let next = Serving::start(hello(here).args(DEV).args(["--data", data]));
    until("the next generation", || newest(here)["newest"]["commit"].is_u64() && newest(here)["generation"] == 2);
    until("the warning", || command(here, &["doctor"]).1.contains("has taken over these copies as generation 2"));
    drop((former, next));
}
