//! Clients that record the acknowledged calls in a ledger, and the check of a database against the ledger.
//!
//! The clients create meetings and write into notes. A meeting is several rows of one transaction: the meeting, its host
//! and its notes. Each acknowledged meeting must be complete, and so must each meeting without an acknowledgement if it
//! exists. A client retries a call without a response, or with an error that leaves the outcome open, until it is
//! acknowledged. Retries have the same idempotency key (in an `Idempotency-Key` header for every second client) or
//! operation id: no effect may occur twice.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use convoke::embed::{Runtime, RuntimeOptions};
use convoke::prelude::*;
use functions as _;
use schema::{Meeting, Note, Participant, Role};
use serde_json::{Value, json};

const CREATE: &str = "meetings/lifecycle/createMeeting";
const EDIT: &str = "notes/index/applyNoteOperation";
/// A sequence beyond the log, which means its end.
const AHEAD: i64 = 1 << 40;
/// Number of words that one client writes into one room. A document holds a million characters.
const WORDS_A_ROOM: u64 = 1_000;

/// A client with its acknowledged calls.
#[derive(Default)]
pub(crate) struct Client {
    name: usize,
    /// Number of acknowledged calls. The next call is retried until it is acknowledged.
    done: u64,
    meetings: Vec<String>,
    written: Vec<String>,
    rooms: HashMap<u64, String>,
}

/// Clients that run until they are stopped or their server is gone.
pub(crate) struct Running {
    clients: Vec<JoinHandle<Client>>,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
}

/// Returns clients that have not called yet.
pub(crate) fn clients(count: usize) -> Vec<Client> {
    (0..count).map(|name| Client { name, ..Client::default() }).collect()
}

/// The acknowledged calls of the clients.
pub(crate) fn acknowledged(clients: &[Client]) -> usize {
    clients.iter().map(|client| client.meetings.len() + client.written.len()).sum()
}

impl Running {
    pub(crate) fn start(address: SocketAddr, token: &str, clients: Vec<Client>) -> Self {
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let run = |mut client: Client| {
            let (token, stop, acknowledged) = (token.to_owned(), stop.clone(), acknowledged.clone());
            std::thread::spawn(move || {
                client.run(address, &token, &stop, &acknowledged);
                client
            })
        };
        Self { clients: clients.into_iter().map(run).collect(), stop, acknowledged }
    }

    /// Returns the number of calls that were acknowledged since the start.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(self) -> Vec<Client> {
        self.stop.store(true, Ordering::Relaxed);
        self.clients.into_iter().map(|client| client.join().unwrap()).collect()
    }
}

impl Client {
    /// Alternately creates a meeting and writes a word, until the client is stopped or the server is gone.
    fn run(&mut self, address: SocketAddr, token: &str, stop: &AtomicBool, acknowledged: &AtomicU64) {
        let Ok(mut stream) = TcpStream::connect(address) else { return };
        while !stop.load(Ordering::Relaxed) {
            let name = format!("<{}-{}>", self.name, self.done);
            let room = self.done / 2 / WORDS_A_ROOM;
            let mut key = None;
            let (path, args) = if !self.rooms.contains_key(&room) {
                // Its idempotency key makes it the same meeting for all clients and after every restart.
                (CREATE, json!({ "title": format!("Room {room}"), "idempotencyKey": format!("room-{room}") }))
            } else if self.done.is_multiple_of(2) && !self.name.is_multiple_of(2) {
                key = Some(&*name);
                (CREATE, json!({ "title": name }))
            } else if self.done.is_multiple_of(2) {
                (CREATE, json!({ "title": name, "idempotencyKey": name }))
            } else {
                let operation = json!({ "type": "insert", "position": 0, "content": name });
                let id = name.trim_matches(['<', '>']);
                let room = &self.rooms[&room];
                (EDIT, json!({ "meetingId": room, "clientSequence": AHEAD, "operationId": id, "operation": operation }))
            };
            let Some(reply) = call_with(&mut stream, token, path, key, &args) else { return };
            if reply["status"] != "success" {
                let code = reply["errorData"]["code"].as_str().unwrap_or_default();
                let again = ["COMMIT_UNKNOWN", "NOT_READY", "UNAVAILABLE", "OVERLOADED", "TIMEOUT"].contains(&code);
                assert!(again, "{path}: {reply}");
                std::thread::sleep(Duration::from_millis(2));
                continue;
            }
            acknowledged.fetch_add(1, Ordering::Relaxed);
            match reply["value"]["meetingId"].as_str() {
                Some(meeting) if !self.rooms.contains_key(&room) => {
                    self.rooms.insert(room, meeting.to_owned());
                    self.meetings.push(meeting.to_owned());
                    continue;
                }
                Some(meeting) => self.meetings.push(meeting.to_owned()),
                None => self.written.push(name),
            }
            self.done += 1;
        }
    }
}

/// Makes a call on an open connection. Returns `None` if the connection broke before the complete response.
pub(crate) fn call(stream: &mut TcpStream, token: &str, path: &str, args: &Value) -> Option<Value> {
    call_with(stream, token, path, None, args)
}

fn call_with(stream: &mut TcpStream, token: &str, path: &str, key: Option<&str>, args: &Value) -> Option<Value> {
    let key = key.map(|key| format!("idempotency-key: {key}\r\n")).unwrap_or_default();
    let body = json!({ "args": args }).to_string();
    let head = format!(
        "POST /api/run/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         authorization: Bearer {token}\r\n{key}content-length: {}\r\n\r\n",
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

/// Asserts that every acknowledged meeting exists, every existing meeting is complete and none exists twice, and that
/// every acknowledged word occurs in the notes exactly once. The folder's server must have ended.
pub(crate) fn check(folder: &Path, clients: &[Client]) {
    let acknowledged: HashSet<&str> =
        clients.iter().flat_map(|client| client.meetings.iter().map(String::as_str)).collect();
    let mut options = RuntimeOptions::in_folder(folder.join("data"), convoke::embed::default_engine());
    // Each read below is of all rows, however many they are and however busy the machine is.
    options.limits.query_timeout = Duration::from_hours(1);
    let runtime = Runtime::start(options).unwrap();
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
    let lost: Vec<_> = acknowledged.iter().filter(|id| !there.contains(**id)).collect();
    assert!(lost.is_empty(), "{} of {} acknowledged meetings are lost: {lost:?}", lost.len(), acknowledged.len());
    let text = runtime.read(|db| {
        let mut text = String::new();
        for note in db.scan::<Note>().take(usize::MAX >> 1)? {
            for piece in &note.pieces {
                text.push_str(&db.get(piece.id)?.expect("a piece of the notes is there").text);
            }
        }
        Ok(text)
    });
    let text = text.unwrap();
    let mut words = HashSet::new();
    for word in text.split_inclusive('>') {
        assert!(words.insert(word), "{word} was written twice");
    }
    for word in clients.iter().flat_map(|client| &client.written) {
        assert!(words.contains(word.as_str()), "{word} was acknowledged and is lost");
    }
    runtime.store().close();
}
