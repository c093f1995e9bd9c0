//! A server process that follows the copies of another one, and its promotion while clients write.

#![allow(clippy::disallowed_methods, reason = "real processes take real time")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod process;

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use process::{Serving, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The folders of a server and of one that follows it.
struct Folders {
    folder: TempDir,
}

impl Folders {
    /// Writes the settings: each mutation waits for its copy.
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("place")).unwrap();
        let own = Self { folder };
        let settings = format!("[copy]\nto = {:?}\nevery = \"100ms\"\nacknowledge = \"copied\"\n", own.place());
        fs::write(own.path().join("convoke.toml"), settings).unwrap();
        own
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn place(&self) -> String {
        format!("dir:{}", self.path().join("place").display())
    }

    fn data(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn ledger(&self, args: &[&str], data: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ledger"));
        command.current_dir(self.path()).env_clear().stdin(Stdio::null());
        command.args(args).arg("--data").arg(self.data(data));
        command
    }

    fn serve(&self, data: &str) -> Serving {
        Serving::start(&mut self.ledger(&["dev", "--no-watch", "--listen", "127.0.0.1:0"], data))
    }

    fn follow(&self, data: &str) -> Command {
        let place = self.place();
        let args = ["serve", "--env", "development", "--listen", "127.0.0.1:0", "--follow", &place];
        self.ledger(&args, data)
    }

    /// Runs a command and returns whether it succeeded, and what it printed.
    fn command(&self, args: &[&str], data: &str) -> (bool, String) {
        let output = self.ledger(args, data).output().unwrap();
        (output.status.success(), text(&output.stdout) + &text(&output.stderr))
    }
}

fn try_call(url: &str, function: &str, args: &Value) -> Result<Value, ureq::Error> {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let url = format!("{url}/api/run/ledger/{function}");
    agent.post(url).send_json(json!({ "args": args }))?.into_body().read_json()
}

fn post(url: &str, mark: &str) -> Result<Value, ureq::Error> {
    try_call(url, "post", &json!({ "mark": mark }))
}

fn entries(url: &str) -> HashSet<String> {
    let books = try_call(url, "books", &json!({})).unwrap();
    serde_json::from_value(books["value"]["entries"].clone()).unwrap()
}

/// Polls a condition, for one minute at most.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what} never came");
}

fn is_ready(url: &str) -> bool {
    ureq::get(format!("{url}/readyz")).call().is_ok()
}

/// Posts until a post succeeds: before, the first snapshot may not be stored yet.
fn first_post(url: &str, mark: &str) {
    until("the first copy", || post(url, mark).is_ok_and(|reply| reply["status"] == "success"));
}

/// Subscribes to the total, and passes on each result.
fn watch_total(url: &str) -> mpsc::Receiver<Value> {
    let reply = ureq::post(format!("{url}/api/live"))
        .send_json(json!({ "queries": [{ "id": "t", "path": "ledger/total", "args": {} }] }))
        .unwrap();
    let (send, results) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(reply.into_body().into_reader()).lines().map_while(Result::ok) {
            if let Some(data) = line.strip_prefix("data:")
                && let Ok(event) = serde_json::from_str::<Value>(data)
                && send.send(event).is_err()
            {
                return;
            }
        }
    });
    results
}

#[test]
fn follower_answers_queries_and_live_queries_only() {
    let folders = Folders::new();
    let first = folders.serve("data");
    first_post(&first.url, "one");
    let follower = Serving::start(&mut folders.follow("second"));
    until("the follower", || is_ready(&follower.url));
    until("the entries", || entries(&follower.url) == entries(&first.url));

    let results = watch_total(&follower.url);
    assert_eq!(post(&first.url, "two").unwrap()["status"], "success");
    until("the live result", || results.try_iter().any(|event| event.to_string().contains(":2")));
    let refused = post(&follower.url, "three").unwrap();
    assert_eq!(refused["errorData"]["code"], "UNAVAILABLE", "{refused}");
    assert!(refused.to_string().contains("answers queries only; send changes to that server"), "{refused}");

    let (_, doctor) = folders.command(&["doctor"], "second");
    assert!(doctor.contains("following") && doctor.contains("generation 1"), "{doctor}");
    let metrics = ureq::get(format!("{}/metrics", follower.url)).call().unwrap().into_body().read_to_string().unwrap();
    assert!(metrics.contains("convoke_follower_behind_seconds"));
    let (succeeded, said) = folders.command(&["promote"], "data");
    assert!(!succeeded && said.contains("does not follow copies"), "{said}");

    // Nothing else changes its database.
    follower.signal("TERM");
    let backup = folders.path().join("backup.db");
    fs::copy(folders.data("second").join("convoke.db"), &backup).unwrap();
    for (args, expected) in [
        (&["serve", "--env", "development", "--listen", "127.0.0.1:0"][..], "start it with"),
        (&["dev", "--no-watch", "--listen", "127.0.0.1:0"], "start it with"),
        (
            &["serve", "--env", "development", "--listen", "127.0.0.1:0", "--follow", "dir:/other"],
            "use an empty data folder",
        ),
        (&["restore", "--without-checksum", backup.to_str().unwrap()], "use another data folder"),
        (&["copies", "take-over"], "use another data folder"),
        (&["run", "ledger/post", r#"{"mark": "x"}"#], "answers queries only"),
        (&["promote"], "no server runs on this data folder"),
    ] {
        let (succeeded, said) = folders.command(args, "second");
        assert!(!succeeded && said.contains(expected), "{args:?}: {said}");
    }
    let (succeeded, said) = folders.command(&["run", "ledger/total"], "second");
    assert!(succeeded && said.contains('2'), "{said}");
    first.signal("TERM");
    let output = folders.follow("data").output().unwrap();
    assert!(text(&output.stderr).contains("has a database of its own"), "{}", text(&output.stderr));
}

#[test]
fn promoted_follower_has_every_acknowledged_change_and_accepts_new_ones() {
    let folders = Folders::new();
    let first = folders.serve("data");
    first_post(&first.url, "one");
    let mut follower = Serving::start(&mut folders.follow("second"));
    until("the follower", || is_ready(&follower.url));
    let (ends, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (url, ends, count) = (&first.url, &ends, &count);
                scope.spawn(move || {
                    let marks = (0..).map(|number| format!("{writer}-{number}")).take_while(|_| !ends.load(Relaxed));
                    let is_acknowledged = |mark: &String| {
                        let is_acknowledged = post(url, mark).is_ok_and(|reply| reply["status"] == "success");
                        count.fetch_add(usize::from(is_acknowledged), Relaxed);
                        is_acknowledged
                    };
                    marks.take_while(is_acknowledged).collect::<Vec<_>>()
                })
            })
            .collect();
        until("the acknowledgements", || count.load(Relaxed) >= 20);
        let (succeeded, said) = folders.command(&["promote"], "second");
        assert!(succeeded && said.contains("continues the copies as generation 2"), "{said}");
        std::thread::sleep(Duration::from_millis(500));
        ends.store(true, Relaxed);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert!(!acknowledged.is_empty());
    // It starts again in the same process, on the same address.
    let log = follower.take_log();
    let (send, lines) = mpsc::channel();
    std::thread::spawn(move || log.lines().map_while(Result::ok).for_each(|line| drop(send.send(line))));
    until("the promoted server", || lines.try_iter().any(|line| line.contains("listening on")));
    let found = entries(&follower.url);
    let lost: Vec<_> = acknowledged.iter().filter(|mark| !found.contains(*mark)).collect();
    assert!(lost.is_empty(), "{lost:?} of {}", acknowledged.len());
    first_post(&follower.url, "after the promotion");
    assert!(follower.process.try_wait().unwrap().is_none());
    // The former server cannot acknowledge a change any more.
    let late = post(&first.url, "late").unwrap();
    assert_eq!(late["errorData"]["code"], "COMMIT_UNKNOWN", "{late}");
    // A restart by its supervisor, with the same arguments, keeps it.
    follower.signal("TERM");
    let again = Serving::start(&mut folders.follow("second"));
    assert!(again.said.contains("no longer follows"), "{}", again.said);
    assert!(entries(&again.url).contains("after the promotion"));
    first_post(&again.url, "after the restart");
    let (_, listed) = folders.command(&["copies", "list"], "second");
    assert_eq!(listed.lines().filter(|line| line.trim_start().starts_with('2')).count(), 2, "one snapshot: {listed}");
}
