//! The real binary, killed under load: what was acknowledged is there, and nothing is there by half.
//!
//! Clients make meetings and write into one meeting's notes over HTTP while SIGKILL comes at a random moment, again and
//! again on one data folder. A meeting is several rows of one transaction (itself, its host, its notes); each
//! acknowledged one must be whole, and so must each one that was not acknowledged, if it is there at all. What got no
//! answer is sent again after the restart, under its idempotency key or operation id: nothing is there twice.

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
    let mut clients: Vec<Client> = (0..CLIENTS).map(|name| Client { name, ..Client::default() }).collect();
    let mut moments = Moments(0x5eed);
    for _ in 0..KILLS {
        clients = until_killed(folder.path(), &token, moments.next(), clients);
    }
    let meetings: HashSet<String> = clients.iter().flat_map(|client| client.meetings.clone()).collect();
    let written: Vec<String> = clients.iter().flat_map(|client| client.written.clone()).collect();
    let enough = usize::try_from(KILLS).unwrap();
    assert!(meetings.len() > enough && written.len() > enough, "{} and {}", meetings.len(), written.len());
    check(folder.path(), &meetings, &written);
}

/// Somebody who calls, and what was acknowledged to him.
#[derive(Default)]
struct Client {
    name: usize,
    /// Calls that were acknowledged so far: the next one is made again until it is.
    done: u64,
    meetings: Vec<String>,
    written: Vec<String>,
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

/// Serves, loads, kills.
fn until_killed(folder: &Path, token: &str, after: Duration, clients: Vec<Client>) -> Vec<Client> {
    let flags = ["serve", "--env", "development", "--listen", "127.0.0.1:0", "--log", "error"];
    let mut process = convoke(folder).args(flags).spawn().unwrap();
    let address = listening(&mut process);
    let stop = Arc::new(AtomicBool::new(false));
    let room = room(address, token);
    let running: Vec<_> = clients
        .into_iter()
        .map(|client| {
            let (token, room, stop) = (token.to_owned(), room.clone(), stop.clone());
            std::thread::spawn(move || load(address, &token, &room, client, &stop))
        })
        .collect();
    std::thread::sleep(after);
    // `Child::kill` is SIGKILL: no handler runs, no file is closed in order.
    process.kill().unwrap();
    process.wait().unwrap();
    stop.store(true, Ordering::Relaxed);
    running.into_iter().map(|client| client.join().unwrap()).collect()
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

/// The meeting whose notes all write: the same one after every restart, by its idempotency key.
fn room(address: SocketAddr, token: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let args = json!({ "title": "Room", "idempotencyKey": "room" });
    let reply = call(&mut stream, token, CREATE, &args).expect("nobody kills yet");
    reply["value"]["meetingId"].as_str().unwrap().to_owned()
}

const CREATE: &str = "meetings/lifecycle/createMeeting";
const EDIT: &str = "notes/index/applyNoteOperation";
/// A sequence ahead of the log stands for its end, however long it has grown.
const AHEAD: i64 = 1 << 40;

/// Makes a meeting and writes a word, in turns, until the server is gone.
fn load(address: SocketAddr, token: &str, room: &str, mut client: Client, stop: &AtomicBool) -> Client {
    let Ok(mut stream) = TcpStream::connect(address) else { return client };
    while !stop.load(Ordering::Relaxed) {
        let name = format!("<{}-{}>", client.name, client.done);
        let reply = if client.done.is_multiple_of(2) {
            let args = json!({ "title": name, "idempotencyKey": name });
            call(&mut stream, token, CREATE, &args)
        } else {
            let operation = json!({ "type": "insert", "position": 0, "content": name });
            let id = name.trim_matches(['<', '>']);
            let args = json!({ "meetingId": room, "clientSequence": AHEAD, "operationId": id, "operation": operation });
            call(&mut stream, token, EDIT, &args)
        };
        let Some(reply) = reply else { break };
        assert_eq!(reply["status"], "success", "{reply}");
        match reply["value"]["meetingId"].as_str() {
            Some(meeting) => client.meetings.push(meeting.to_owned()),
            None => client.written.push(name),
        }
        client.done += 1;
    }
    client
}

/// One call on an open connection; nothing if the connection broke before the whole answer was there.
fn call(stream: &mut TcpStream, token: &str, path: &str, args: &Value) -> Option<Value> {
    use std::io::Write as _;
    let body = json!({ "args": args }).to_string();
    let head = format!(
        "POST /api/run/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
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

/// Every acknowledged meeting is there, every meeting that is there is whole, and none was made twice; every
/// acknowledged word stands in the notes, and no word stands there twice.
fn check(folder: &Path, acknowledged: &HashSet<String>, written: &[String]) {
    let runtime = Runtime::start(RuntimeOptions::in_folder(folder.join("data"))).unwrap();
    let checked: Result<HashSet<String>> = runtime.read(|db| {
        let (mut there, mut titles) = (HashSet::new(), HashSet::new());
        for meeting in db.scan::<Meeting>().take(usize::MAX >> 1)? {
            let id = meeting.id();
            let host = db.query(Participant::by_meeting_role).eq(id).eq(Role::Host).first()?;
            assert!(host.is_some(), "{id} has no host");
            assert!(db.query(Note::by_meeting).eq(id).unique()?.is_some(), "{id} has no notes");
            assert!(titles.insert(meeting.title.to_string()), "{} was made twice", meeting.title);
            there.insert(id.to_string());
        }
        Ok(there)
    });
    let there = checked.unwrap();
    let lost: Vec<_> = acknowledged.difference(&there).collect();
    assert!(lost.is_empty(), "{} of {} acknowledged meetings are lost: {lost:?}", lost.len(), acknowledged.len());
    let text = runtime.read(|db| {
        let note = db.scan::<Note>().take(usize::MAX >> 1)?.into_iter().max_by_key(|note| note.sequence);
        let note = note.expect("there are notes");
        let mut text = String::new();
        for piece in &note.pieces {
            text.push_str(&db.get(piece.id)?.expect("a piece of the notes is there").text);
        }
        Ok(text)
    });
    let mut words = HashSet::new();
    for word in text.unwrap().split_inclusive('>') {
        assert!(words.insert(word.to_owned()), "{word} was written twice");
    }
    for word in written {
        assert!(words.contains(word), "{word} was acknowledged and is lost");
    }
    runtime.store().close();
}
