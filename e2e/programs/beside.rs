//! Files that a server writes beside its database: the record of calls, secrets, and scheduled backups.

#![allow(clippy::disallowed_methods, reason = "real processes take real time")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod process;

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use process::{Serving, hello, run, text};
use serde_json::{Value, json};
use tempfile::TempDir;

const DEV: [&str; 3] = ["dev", "--listen", "127.0.0.1:0"];

#[track_caller]
fn done(output: Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Polls a condition, for one minute at most.
#[track_caller]
fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what} never came");
}

fn calls(folder: &Path, args: &[&str]) -> Vec<Value> {
    let printed = done(run(folder, &[&["logs", "--json"], args].concat()));
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn recorded_calls_survive_sigkill_and_are_readable_without_a_server() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    let serving = Serving::start(hello(here).args(DEV));
    serving.call(None, &json!({ "name": "Ada" }));
    serving.call(None, &json!({ "nome": "Ada" }));
    // A request for the calls writes the pending ones.
    assert_eq!(calls(here, &["--since", "1h"]).len(), 2);
    serving.signal("KILL");
    let found = calls(here, &["--since", "1h", "--text", "ada"]);
    let outcomes: Vec<&Value> = found.iter().map(|call| &call["outcome"]).collect();
    assert_eq!(outcomes, ["OK", "INVALID_ARGUMENT"]);
    assert_eq!((&found[0]["arguments"], &found[1]["refused"]), (&json!({ "name": "Ada" }), &json!(true)));
    let file = std::fs::read_dir(here.join("data/calls")).unwrap().next().unwrap().unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    // A truncated line is skipped, and the lines after it are read.
    let mut cut = std::fs::OpenOptions::new().append(true).open(file.path()).unwrap();
    cut.write_all(b"{\"time\":179").unwrap();
    let serving = Serving::start(hello(here).args(DEV));
    serving.call(None, &json!({ "name": "Grace" }));
    assert_eq!(calls(here, &["--since", "1h"]).len(), 3);
    assert_eq!(calls(here, &["--outcome", "refused"]).len(), 1);
    assert_eq!(calls(here, &["--outcome", "failed"]).len(), 0);
    assert_eq!(calls(here, &["--caller", "anonymous", "--last", "1"])[0]["arguments"]["name"], "Grace");
}

#[test]
fn secret_is_read_from_stdin_and_never_printed() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    let set = |name: &str, value: &str| {
        let mut command = hello(here);
        let mut child = command
            .args(["secret", "set", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(value.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(!text(&output.stdout).contains("hush") && !text(&output.stderr).contains("hush"));
        output
    };
    // Without a running server, the command writes the file itself.
    done(set("API_KEY", "hush one\n"));
    let file = here.join("data/secrets/API_KEY");
    let mut serving = Serving::start(hello(here).args(DEV));
    let mut log = serving.take_log();
    done(set("API_KEY", "hush two\n"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hush two");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let listed = done(run(here, &["secret", "list"]));
    assert!(listed.contains("API_KEY") && !listed.contains("hush"), "{listed}");
    let refused = set("api-key", "hush");
    assert!(text(&refused.stderr).contains("use A-Z, 0-9 and _"), "{}", text(&refused.stderr));
    let on_the_line = run(here, &["secret", "set", "API_KEY", "hush"]);
    assert_eq!(on_the_line.status.code(), Some(2), "a value on the command line is not understood");
    done(run(here, &["secret", "remove", "API_KEY"]));
    assert!(!file.exists());
    drop(serving);
    let mut logged = String::new();
    std::io::Read::read_to_string(&mut log, &mut logged).unwrap();
    assert!(logged.contains("secrets/API_KEY") && !logged.contains("hush"), "{logged}");
}

fn finding(folder: &Path, subject: &str) -> Value {
    let output = run(folder, &["doctor", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let findings = found.get("findings").unwrap_or(&found).as_array().unwrap().clone();
    findings.into_iter().find(|one| one["subject"] == subject).unwrap_or(Value::Null)
}

#[test]
fn scheduled_backups_run_and_failures_are_reported() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    let backups = here.join("elsewhere");
    std::fs::write(here.join("convoke.toml"), "[backup]\nevery = \"1h\"\nkeep = 2\ndir = \"elsewhere\"\n").unwrap();
    let serving = Serving::start(hello(here).args(DEV));
    let made = until("a backup", || {
        let names = std::fs::read_dir(&backups).ok()?.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.into_iter().find(|name| name.ends_with(".db"))
    });
    let state = |of: &str| until(of, || Some(finding(here, "backups")).filter(|finding| finding["state"] == of));
    state("ok");
    // The command that `doctor` names restores it.
    serving.signal("TERM");
    done(run(here, &["restore", backups.join(made).to_str().unwrap(), "--data", "data"]));

    // A file in place of the folder prevents a backup, for root too.
    std::fs::rename(&backups, here.join("former")).unwrap();
    std::fs::write(&backups, "in the way").unwrap();
    let mut serving = Serving::start(hello(here).args(DEV));
    let mut log = serving.take_log();
    let failed = state("problem");
    assert!(failed["says"].as_str().unwrap().contains("failed"), "{failed}");
    serving.signal("TERM");
    let mut logged = String::new();
    std::io::Read::read_to_string(&mut log, &mut logged).unwrap();
    let line = logged.lines().find(|line| line.contains("the scheduled backup failed")).expect(&logged);
    assert!(line.contains("ERROR"), "{line}");
}

#[test]
fn invalid_schedule_stops_the_start() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("convoke.toml"), "[backup]\nevery = \"5s\"\n").unwrap();
    let output = run(folder.path(), &DEV);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("the time must be at least 1m"), "{}", text(&output.stderr));
}

#[test]
fn commands_create_no_database_in_a_named_folder() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    std::fs::create_dir(here.join("typo")).unwrap();
    for args in [
        &["backup"][..],
        &["export", "a.tar.gz"],
        &["jobs", "list"],
        &["logs"],
        &["secret", "list"],
        &["data"],
        &["run", "greetings/sayHello", "{}"],
        &["deploy-key", "list"],
    ] {
        let output = run(here, &[args, &["--data", "typo"]].concat());
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(text(&output.stderr).contains("there is no database in typo"), "{args:?}: {}", text(&output.stderr));
        assert_eq!(std::fs::read_dir(here.join("typo")).unwrap().count(), 0, "{args:?}");
    }
    // A secret may be set before the first start, and needs no database.
    std::fs::write(here.join("value"), "hush").unwrap();
    let value = std::fs::File::open(here.join("value")).unwrap();
    done(hello(here).args(["secret", "set", "API_KEY", "--data", "typo"]).stdin(value).output().unwrap());
    let names: Vec<_> = std::fs::read_dir(here.join("typo")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["secrets"]);
    Serving::start(hello(here).args(DEV).args(["--data", "typo"]));
    done(run(here, &["secret", "list", "--data", "typo"]));
}

#[test]
fn lost_database_is_reported_and_not_replaced_by_an_empty_one() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    let serving = Serving::start(hello(here).args(DEV));
    serving.call(None, &json!({ "name": "Ada" }));
    assert_eq!(calls(here, &[]).len(), 1);
    serving.signal("TERM");
    assert_eq!(finding(here, "database"), Value::Null);
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(here.join(format!("data/convoke.db{ending}")));
    }
    for lost in ["missing", "empty"] {
        let found = finding(here, "database");
        assert_eq!(found["state"], "problem", "{lost}: {found}");
        assert!(found["says"].as_str().unwrap().contains("calls of a former one"), "{found}");
        let output = run(here, &["serve", "--listen", "127.0.0.1:0", "--env", "development"]);
        assert_eq!(output.status.code(), Some(1), "{lost}");
        assert!(text(&output.stderr).contains("convoke restore") || text(&output.stderr).contains("hello restore"));
        std::fs::write(here.join("data/convoke.db"), "").unwrap();
    }
    // An operator who wants an empty database moves the traces away.
    std::fs::rename(here.join("data/calls"), here.join("calls")).unwrap();
    Serving::start(hello(here).args(["serve", "--listen", "127.0.0.1:0", "--env", "development"]));
}

#[test]
fn server_waits_for_a_command_that_holds_its_folder() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    let lock = std::fs::File::create(folder.path().join("data/convoke.lock")).unwrap();
    lock.lock().unwrap();
    let command = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        drop(lock);
    });
    drop(Serving::start(hello(folder.path()).args(DEV)));
    command.join().unwrap();
}
