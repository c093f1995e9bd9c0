//! Clients that keep a ledger of what was acknowledged to them, and the check of a database against it.
//!
//! They make meetings and write into notes. A meeting is several rows of one transaction (itself, its host, its notes);
//! each acknowledged one must be whole, and so must each one that was not acknowledged, if it is there at all. What got
//! no answer, or one that does not say that nothing happened, is sent again under its idempotency key (of every other
//! client in an `Idempotency-Key` field) or operation id until it is acknowledged: nothing may be there twice.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use convoke::prelude::*;
use convoke::{Runtime, RuntimeOptions};
use functions as _;
use schema::{Meeting, Note, Participant, Role};
use serde_json::{Value, json};

const CREATE: &str = "meetings/lifecycle/createMeeting";
const EDIT: &str = "notes/index/applyNoteOperation";
/// A sequence ahead of the log stands for its end, however long it has grown.
const AHEAD: i64 = 1 << 40;
/// Words that one client writes into one room: a document holds a million characters.
const WORDS_A_ROOM: u64 = 1_000;

/// Somebody who calls, and what was acknowledged to them.
#[derive(Default)]
pub(crate) struct Client {
    name: usize,
    /// Calls that were acknowledged so far: the next one is made again until it is.
    done: u64,
    meetings: Vec<String>,
    written: Vec<String>,
    rooms: HashMap<u64, String>,
}

/// Clients that run until they are told to stop, or until their server is gone.
pub(crate) struct Running {
    clients: Vec<JoinHandle<Client>>,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
}

/// So many clients that have called nothing yet.
pub(crate) fn clients(count: usize) -> Vec<Client> {
    (0..count).map(|name| Client { name, ..Client::default() }).collect()
}

/// What the clients have been told is done.
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

    /// Calls that were acknowledged since the start.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(self) -> Vec<Client> {
        self.stop.store(true, Ordering::Relaxed);
        self.clients.into_iter().map(|client| client.join().unwrap()).collect()
    }
}

impl Client {
    /// Makes a meeting and writes a word, in turns, until the server is gone or it is told to stop.
    fn run(&mut self, address: SocketAddr, token: &str, stop: &AtomicBool, acknowledged: &AtomicU64) {
        let Ok(mut stream) = TcpStream::connect(address) else { return };
        while !stop.load(Ordering::Relaxed) {
            let name = format!("<{}-{}>", self.name, self.done);
            let room = self.done / 2 / WORDS_A_ROOM;
            let mut key = None;
            let (path, args) = if !self.rooms.contains_key(&room) {
                // The same one for all clients and after every restart, by its idempotency key.
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

/// One call on an open connection; nothing if the connection broke before the whole answer was there.
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

/// Every acknowledged meeting is there, every meeting that is there is whole, and none was made twice; every
/// acknowledged word stands in the notes, and no word stands there twice. The folder's server has ended.
pub(crate) fn check(folder: &Path, clients: &[Client]) {
    let acknowledged: HashSet<&str> =
        clients.iter().flat_map(|client| client.meetings.iter().map(String::as_str)).collect();
    let runtime = Runtime::start(RuntimeOptions::in_folder(folder.join("data"), convoke::default_engine())).unwrap();
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
