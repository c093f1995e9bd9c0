//! The real binary, killed under load: what was acknowledged is there, and nothing is there by half.
//!
//! Clients make meetings over HTTP while SIGKILL comes at a random moment, again and again on one data folder. A meeting
//! is several rows of one transaction (itself, its host, its notes); each acknowledged one must be whole, and so must
//! each one that was not acknowledged, if it is there at all.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use convoke::prelude::*;
use convoke::{Runtime, RuntimeOptions};
use functions as _;
use schema::{Meeting, Note, Participant, Role};
use serde_json::{Value, json};
use tempfile::TempDir;

const KILLS: u64 = 50;
const CLIENTS: usize = 8;

#[test]
fn every_acknowledged_meeting_survives_sigkill_and_none_is_there_by_half() {
    let folder = TempDir::new().unwrap();
    let token = minted(folder.path());
    let mut acknowledged = HashSet::new();
    let mut moments = Moments(0x5eed);
    for _ in 0..KILLS {
        acknowledged.extend(until_killed(folder.path(), &token, moments.next()));
    }
    assert!(acknowledged.len() > usize::try_from(KILLS).unwrap(), "the load is one: {}", acknowledged.len());
    check(folder.path(), &acknowledged);
}

/// Moments between 5 and 125 ms after the first call: a small generator of its own, so that a failure can be repeated.
struct Moments(u64);

impl Moments {
    fn next(&mut self) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(5 + (self.0 >> 33) % 120)
    }
}

fn convoke(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_convoke"));
    command.current_dir(folder).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn minted(folder: &Path) -> String {
    let output = convoke(folder).args(["token", "--subject", "ada", "--email", "ada@example.com"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Serves, loads, kills. Returns the meetings that were acknowledged.
fn until_killed(folder: &Path, token: &str, after: Duration) -> Vec<String> {
    let flags = ["serve", "--env", "development", "--listen", "127.0.0.1:0", "--log", "error"];
    let mut process = convoke(folder).args(flags).spawn().unwrap();
    let address = listening(&mut process);
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (token, stop) = (token.to_owned(), stop.clone());
            std::thread::spawn(move || load(address, &token, client, &stop))
        })
        .collect();
    std::thread::sleep(after);
    // `Child::kill` is SIGKILL: no handler runs, no file is closed in order.
    process.kill().unwrap();
    process.wait().unwrap();
    stop.store(true, Ordering::Relaxed);
    clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
}

fn listening(process: &mut Child) -> SocketAddr {
    let mut lines = BufReader::new(process.stderr.take().unwrap());
    let mut said = String::new();
    loop {
        let mut line = String::new();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it ended before it listened:\n{said}");
        if let Some(address) = line.trim().strip_prefix("convoke: listening on http://") {
            let address = address.parse().unwrap();
            std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
            return address;
        }
        said.push_str(&line);
    }
}

/// Makes one meeting after the other until the server is gone.
fn load(address: SocketAddr, token: &str, client: usize, stop: &AtomicBool) -> Vec<String> {
    let mut made = Vec::new();
    let Ok(mut stream) = TcpStream::connect(address) else { return made };
    for i in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let body = json!({ "args": { "title": format!("{client}-{i}") } }).to_string();
        match call(&mut stream, token, &body) {
            Some(reply) => made.push(reply["value"]["meetingId"].as_str().expect("a success").to_owned()),
            None => break,
        }
    }
    made
}

/// One call on an open connection; nothing if the connection broke before the whole answer was there.
fn call(stream: &mut TcpStream, token: &str, body: &str) -> Option<Value> {
    use std::io::Write as _;
    let head = format!(
        "POST /api/run/meetings/lifecycle/createMeeting HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         authorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    let mut read = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if read.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut answer = vec![0; length];
    read.read_exact(&mut answer).ok()?;
    serde_json::from_slice(&answer).ok()
}

/// Every acknowledged meeting is there, and every meeting that is there is whole.
fn check(folder: &Path, acknowledged: &HashSet<String>) {
    let runtime = Runtime::start(RuntimeOptions::in_folder(folder.join("data"))).unwrap();
    let checked: Result<HashSet<String>> = runtime.read(|db| {
        let mut there = HashSet::new();
        for meeting in db.scan::<Meeting>().take(usize::MAX >> 1)? {
            let id = meeting.id();
            let host = db.query(Participant::by_meeting_role).eq(id).eq(Role::Host).first()?;
            assert!(host.is_some(), "{id} has no host");
            assert!(db.query(Note::by_meeting).eq(id).unique()?.is_some(), "{id} has no notes");
            there.insert(id.to_string());
        }
        Ok(there)
    });
    let there = checked.unwrap();
    let lost: Vec<_> = acknowledged.difference(&there).collect();
    assert!(lost.is_empty(), "{} of {} acknowledged meetings are lost: {lost:?}", lost.len(), acknowledged.len());
    runtime.store().close();
}
