//! Two releases of a program with workflows: a run of the first one continues in a process of the second one by its version,
//! or is blocked, and has no wrong effect.

#![allow(clippy::disallowed_methods, reason = "real processes take real time")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod process;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use process::{Serving, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A release, and the folder of its data.
#[derive(Clone, Copy)]
struct Release<'a> {
    path: &'a str,
    folder: &'a Path,
}

impl Release<'_> {
    fn command(self, args: &[&str]) -> Command {
        let mut command = Command::new(self.path);
        command.current_dir(self.folder).env_clear().stdin(Stdio::null()).args(args);
        command
    }

    fn serve(self) -> Serving {
        Serving::start(&mut self.command(&["dev", "--listen", "127.0.0.1:0"]))
    }

    /// Returns the runs in a state: ids and reasons why they are blocked.
    fn runs(self, state: &str) -> Vec<(String, Value)> {
        let output = self.command(&["workflows", "list", "--state", state, "--json"]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
        let runs = listed["items"].as_array().unwrap().iter();
        runs.map(|run| (run["id"].as_str().unwrap().to_owned(), run["blocked"].clone())).collect()
    }
}

fn call(server: &Serving, function: &str, args: &Value) -> Value {
    let url = format!("{}/api/run/parcels/{function}", server.url);
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let reply: Value = agent.post(url).send_json(json!({ "args": args })).unwrap().into_body().read_json().unwrap();
    assert_eq!(reply["status"], "success", "{function}: {reply}");
    reply["value"].clone()
}

/// Starts a run of each workflow. Returns their ids.
fn begin(server: &Serving, parcel: &str) -> [String; 3] {
    let runs = call(server, "begin", &json!({ "parcel": parcel }));
    [0, 1, 2].map(|place| runs[place].as_str().unwrap().to_owned())
}

fn marks(server: &Serving, parcel: &str) -> Value {
    call(server, "marks", &json!({ "parcel": parcel }))
}

/// Waits, for one minute at most.
#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what} did not happen");
}

#[test]
fn runs_of_one_release_continue_in_another_by_their_version_or_are_blocked() {
    let folder = TempDir::new().unwrap();
    let (v1, v2) = (env!("CARGO_BIN_EXE_parcels_v1"), env!("CARGO_BIN_EXE_parcels_v2"));
    let [v1, v2] = [v1, v2].map(|path| Release { path, folder: folder.path() });
    let go = |server: &Serving, run: &str| call(server, "go", &json!({ "run": run }));
    let waits = |server: &Serving, parcel: &str, first: Value| {
        let is_at_wait = |name| marks(server, &format!("{parcel} {name}")) == first;
        until("the first steps", || ["deliver", "announce", "charge"].into_iter().all(is_at_wait));
    };

    let first = v1.serve();
    let [deliver, announce, charge] = begin(&first, "old");
    waits(&first, "old", json!(["packed"]));
    first.signal("KILL");

    let second = v2.serve();
    for run in [&deliver, &announce, &charge] {
        go(&second, run);
    }
    let is_sent = |server: &Serving, parcel: &str, before: &Value| {
        let mut expected = before.as_array().unwrap().clone();
        expected.push(json!("sent"));
        marks(server, parcel) == Value::Array(expected)
    };
    until("the end by version", || is_sent(&second, "old announce", &json!(["packed"])));
    until("the end by retired code", || is_sent(&second, "old charge", &json!(["packed"])));
    until("the mismatch", || !v2.runs("blocked").is_empty());
    let reason = "step 0 was `run parcels/pack` and is `run parcels/weigh` in the code";
    assert_eq!(v2.runs("blocked"), [(deliver.clone(), json!(reason))]);
    assert_eq!(marks(&second, "old deliver"), json!(["packed"]), "a blocked run has no further effect");
    // New runs take the new path.
    let [new_deliver, new_announce, new_charge] = begin(&second, "new");
    until("the new steps", || marks(&second, "new charge") == json!(["weighed"]));
    until("the new steps", || marks(&second, "new announce") == json!(["weighed", "packed"]));
    go(&second, &new_charge);
    go(&second, &new_deliver);
    until("the new end", || is_sent(&second, "new charge", &json!(["weighed"])));
    until("the new end", || is_sent(&second, "new deliver", &json!(["weighed", "packed"])));
    second.signal("KILL");

    // The former release again: its own run continues, and the run of the newer one waits.
    let first = v1.serve();
    until("the end of the blocked run", || is_sent(&first, "old deliver", &json!(["packed"])));
    go(&first, &new_announce);
    let reason = "the program has no workflow parcels/announce of version 2";
    until("the unknown version", || v1.runs("blocked") == [(new_announce.clone(), json!(reason))]);
    assert_eq!(marks(&first, "new announce"), json!(["weighed", "packed"]));
    first.signal("KILL");

    let second = v2.serve();
    until("the end after the return", || is_sent(&second, "new announce", &json!(["weighed", "packed"])));
    assert_eq!((v2.runs("blocked").len(), v2.runs("active").len(), v2.runs("completed").len()), (0, 0, 6));
}
