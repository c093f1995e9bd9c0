//! The real binary on a failing disk: failing reads, and files that cannot grow.
//!
//! A preloaded library (`shim`) or a limit of the shell injects real errors of the operating system.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "shared by two test programs")]
mod process;
#[allow(dead_code, reason = "shared by two test programs")]
mod shim;

use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use process::{Server, convoke, limited, minted};
use shim::{Calls, EIO, ENOSPC, Faults};

const CREATE: &str = "meetings/lifecycle/createMeeting";
const LIST: &str = "meetings/queries/listUserMeetings";
const INSIGHT: &str = "insights/queries/getMeetingInsights";
const EDIT: &str = "notes/index/applyNoteOperation";

/// Returns a folder with a token, and a database with one meeting.
fn installation() -> (TempDir, String, String) {
    let folder = TempDir::new().unwrap();
    let token = minted(folder.path());
    let server = Server::start(&mut convoke(folder.path()));
    let reply = server.call(&token, CREATE, &json!({ "title": "Room" }));
    let meeting = reply.value()["meetingId"].as_str().unwrap().to_owned();
    server.stop();
    (folder, token, meeting)
}

fn database(folder: &Path) -> std::path::PathBuf {
    folder.join("data/convoke.db")
}

#[test]
fn failed_reads_are_unavailable_until_the_disk_recovers() {
    let (folder, token, _) = installation();
    let faults = Faults::new();
    let mut command = convoke(folder.path());
    faults.preload(&mut command, &database(folder.path()));
    let server = Server::start(&mut command);
    assert_eq!(server.get("/readyz").0, 200);

    // The caches of this process hold no row of a meeting yet.
    faults.fail(Calls::Reads, EIO);
    for _ in 0..20 {
        let read = server.call(&token, LIST, &json!({}));
        assert_eq!((read.status, read.code()), (200, "UNAVAILABLE"), "{:?}", read.body);
        let written = server.call(&token, CREATE, &json!({ "title": "While it fails" }));
        assert!(matches!(written.code(), "UNAVAILABLE" | "NOT_READY"), "{:?}", written.body);
    }
    let (status, said) = server.get("/readyz");
    assert_eq!(status, 503);
    assert!(said.contains("the disk does not answer reads") && said.contains("Input/output error"), "{said}");

    faults.mend(Calls::Reads);
    server.until(|| server.get("/readyz").0 == 200);
    assert_eq!(server.call(&token, LIST, &json!({})).value()["items"].as_array().unwrap().len(), 1);
    server.call(&token, CREATE, &json!({ "title": "Afterwards" })).value();
    assert_eq!(server.call(&token, LIST, &json!({})).value()["items"].as_array().unwrap().len(), 2);
}

#[test]
fn failed_commit_is_unknown_and_writes_resume_after_recovery() {
    let (folder, token, _) = installation();
    let faults = Faults::new();
    let mut command = convoke(folder.path());
    faults.preload(&mut command, &database(folder.path()));
    let server = Server::start(&mut command);
    let mut made = 1;
    for (calls, errno, reason) in [(Calls::Writes, ENOSPC, "there is no room"), (Calls::Syncs, EIO, "the disk failed")]
    {
        faults.fail(calls, errno);
        let first = server.call(&token, CREATE, &json!({ "title": "Unknown" }));
        assert_eq!((first.status, first.code()), (500, "COMMIT_UNKNOWN"), "{:?}", first.body);
        let next = server.call(&token, CREATE, &json!({ "title": "Refused" }));
        assert_eq!((next.status, next.code()), (503, "NOT_READY"), "{:?}", next.body);
        let (status, said) = server.get("/readyz");
        assert!(status == 503 && said.contains(reason), "{status} {said}");
        assert!(server.call(&token, LIST, &json!({})).value()["items"].as_array().unwrap().len() >= made);
        faults.mend(calls);
        server.until(|| server.get("/readyz").0 == 200);
        server.call(&token, CREATE, &json!({ "title": "Afterwards" })).value();
        made = server.call(&token, LIST, &json!({})).value()["items"].as_array().unwrap().len();
    }
}

#[test]
fn full_disk_delays_a_run_and_repeats_none_of_its_steps() {
    let (folder, token, meeting) = installation();
    let faults = Faults::new();
    let mut command = convoke(folder.path());
    faults.preload(&mut command, &database(folder.path()));
    let server = Server::start(&mut command);
    let operation = json!({ "type": "insert", "position": 0, "content": "- [ ] Ada: write the plan\n" });
    server.call(&token, EDIT, &json!({ "meetingId": meeting, "clientSequence": 0, "operation": operation })).value();
    server.call(&token, "meetings/lifecycle/endMeeting", &json!({ "meetingId": meeting })).value();
    let insight = || server.call(&token, INSIGHT, &json!({ "meetingId": meeting })).value().clone();

    faults.fail(Calls::Writes, ENOSPC);
    assert_eq!(server.call(&token, CREATE, &json!({ "title": "Unknown" })).code(), "COMMIT_UNKNOWN");
    // The follow-up of the meeting is due after 30 s.
    faults.shift_clock(40);
    for _ in 0..100 {
        assert_eq!(insight(), json!(null));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    faults.mend(Calls::Writes);
    server.until(|| !insight().is_null());
    server.until(|| workflows(folder.path(), &["list", "--state", "completed"])["counts"]["completed"] == 1);
    let listed = workflows(folder.path(), &["list", "--state", "completed"]);
    for (state, count) in listed["counts"].as_object().unwrap() {
        assert_eq!(*count, i32::from(state == "completed"), "{state}: {listed}");
    }
    let run = workflows(folder.path(), &["show", listed["items"][0]["id"].as_str().unwrap()]);
    let steps = run["steps"].as_array().unwrap().iter();
    let steps: Vec<_> = steps.map(|step| (step["name"].as_str().unwrap(), &step["state"])).collect();
    let done = json!("done");
    assert_eq!(steps, [("insights/afterMeeting", &done), ("prompts/inputs/nextMeetings", &done)], "{run}");
    server.stop();
}

/// Returns what `convoke workflows` prints about the runs of the server of a folder.
fn workflows(folder: &Path, args: &[&str]) -> serde_json::Value {
    let output = convoke(folder).arg("workflows").args(args).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn start_on_a_failing_disk_reports_the_disk() {
    let (folder, _, _) = installation();
    let faults = Faults::new();
    faults.fail(Calls::Reads, EIO);
    for args in [&["serve", "--env", "development"][..], &["doctor", "--env", "development"]] {
        let mut command = convoke(folder.path());
        faults.preload(&mut command, &database(folder.path()));
        let output = command.args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8([output.stderr, output.stdout].concat()).unwrap();
        assert!(said.contains("Input/output error") && said.contains("dmesg"), "{args:?}: {said}");
        assert!(!said.contains("malformed") && !said.contains("database is damaged"), "{args:?}: {said}");
    }
}

#[test]
fn file_size_limit_counts_as_a_full_disk() {
    let (folder, token, mut meeting) = installation();
    let bytes = std::fs::metadata(database(folder.path())).unwrap().len();
    let blocks = (bytes + 1024 * 1024) / 512;
    let mut server = Server::start(&mut limited(folder.path(), &format!("ulimit -f {blocks}")));
    let mut refused = 0;
    for n in 0..1_000 {
        let operation = json!({ "type": "insert", "position": 0, "content": "0123456789".repeat(5_000) });
        let args = json!({
            "meetingId": meeting, "clientSequence": 1_u64 << 40, "operationId": format!("op{n}"), "operation": operation
        });
        let created = server.call(&token, CREATE, &json!({ "title": format!("Room {n}") }));
        if created.code().is_empty() {
            meeting = created.value()["meetingId"].as_str().unwrap().to_owned();
        }
        for reply in [created, server.call(&token, EDIT, &args)] {
            match reply.code() {
                "" => refused = 0,
                "COMMIT_UNKNOWN" | "NOT_READY" => refused += 1,
                other => panic!("{other}: {:?}", reply.body),
            }
        }
        // While the database file has free pages, a checkpoint frees space in the log.
        if refused > 20 && server.get("/readyz").0 == 503 {
            break;
        }
    }
    let (status, said) = server.get("/readyz");
    assert_eq!(status, 503, "the file never became as large as it may be");
    assert!(said.contains("there is no room"), "{said}");
    assert!(!server.call(&token, LIST, &json!({})).value()["items"].as_array().unwrap().is_empty());
    assert!(server.is_alive());
}
