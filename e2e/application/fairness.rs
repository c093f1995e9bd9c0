//! The latencies of one user while another user floods the server, on the real binary: numbers to read, not a test.
//!
//! ```sh
//! cargo build --release -p functions
//! CONVOKE_BIN=target/release/convoke cargo test -p functions --test fairness -- --ignored --nocapture
//! ```
//!
//! One user repeats one request on many connections, without a pause. The floods are: on 900 connections a list of 500
//! chunks of a transcript of 9,000 characters each (pages of 4 MiB), a small read, and a small write; on 20 connections
//! prompts for a meeting with 6,000 such chunks; on 32 connections an edit of notes that 5,000 or more entries follow; on
//! 3,000 connections a write of 0.9 MiB. Another user reads and writes on one connection each. The output has that user's
//! latencies alone and during each flood, the rate of rejections of the flood, and the load of the machine. `FLOOD=pages`
//! measures one of the floods.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement stops at the first surprise and prints")]
#![allow(clippy::disallowed_methods, reason = "it measures the machine's time")]

#[path = "faults/binary.rs"]
mod binary;

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use binary::binary;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Duration of each half of a measurement.
const MEASURED: Duration = Duration::from_secs(20);
/// Pause between two calls of the other user.
const PAUSE: Duration = Duration::from_millis(10);

const CHUNKS: usize = 500;
const LONG: usize = 6_000;
const ENTRIES: usize = 9_700;
const CHARACTERS: usize = 9_000;

#[test]
#[ignore = "a measurement of half a minute or more, for a machine that does nothing else"]
fn flood_of_one_user_barely_delays_another() {
    let folder = TempDir::new().unwrap();
    let rates = ["read", "write", "transcripts", "notes", "generation"].map(|class| format!("{class} = 0\n")).concat();
    let limits = "user_bytes_written_per_hour = 0\nconnections_per_address_max = 4000\n";
    std::fs::write(folder.path().join("convoke.toml"), format!("[rates]\n{rates}[limits]\n{limits}")).unwrap();
    let (hog, other) = (token(folder.path(), "hog"), token(folder.path(), "other"));
    let server = Server::start(folder.path());
    let meeting = transcript(server.address, &hog, CHUNKS);
    let long = transcript(server.address, &hog, LONG);
    notes(server.address, &hog, &meeting);
    let own = created(server.address, &other);
    println!("alone:");
    measure(server.address, &other, &own, MEASURED / 4);
    drop(server);

    let insert = json!({ "type": "insert", "position": 0, "content": "x" });
    let floods = [
        ("pages of 4 MiB", 900, request(LIST, &hog, &json!({ "meetingId": meeting, "limit": CHUNKS }))),
        ("small reads", 900, request(READ, &hog, &json!({ "meetingId": meeting }))),
        ("small writes", 900, request(WRITE, &hog, &json!({}))),
        (
            "prompts",
            20,
            request(PROMPTS, &hog, &json!({ "meetingId": long, "kind": "in-call", "forceRegenerate": true })),
        ),
        (
            "edits far behind",
            32,
            request(EDIT, &hog, &json!({ "meetingId": meeting, "clientSequence": ENTRIES / 2, "operation": insert })),
        ),
        (
            "large writes",
            3_000,
            request(CREATE, &hog, &json!({ "title": "Large", "description": "x".repeat(900_000) })),
        ),
    ];
    let only = std::env::var("FLOOD").unwrap_or_default();
    for (what, connections, request) in floods.into_iter().filter(|(what, ..)| what.contains(&only)) {
        let server = Server::start(folder.path());
        let flood = Flood::start(server.address, request, connections);
        println!("beside {what} on {connections} connections, from the start of the server on:");
        measure(server.address, &other, &own, MEASURED);
        flood.stop();
        println!("  the server's memory at its highest: {} MiB", server.peak_mib());
        server.figures().iter().for_each(|line| println!("  {line}"));
    }
}

const LIST: &str = "transcripts/queries/listTranscriptChunks";
const READ: &str = "meetings/queries/getMeeting";
const WRITE: &str = "users/mutations/updateLastSeen";
const CREATE: &str = "meetings/lifecycle/createMeeting";
const PROMPTS: &str = "prompts/generation/generatePrompts";
const EDIT: &str = "notes/index/applyNoteOperation";

/// A server in a process of its own.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let flags = ["serve", "--env", "development", "--listen", "127.0.0.1:0", "--log", "error"];
        let mut process = convoke(folder).args(flags).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "it ended before it listened");
            if let Some(address) = line.trim().strip_prefix("convoke: listening on http://") {
                break address.parse().unwrap();
            }
        };
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        Self { process, address }
    }

    /// Returns the server's metrics of rejected and closed connections.
    fn figures(&self) -> Vec<String> {
        let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        let (mut stream, mut page) = (connect(self.address), String::new());
        stream.get_mut().write_all(request.as_bytes()).unwrap();
        stream.read_to_string(&mut page).unwrap();
        let named = ["slow_connections_closed", "share_rejections", "requests_refused", "call_errors"];
        let tells = |line: &&str| named.iter().any(|name| line.starts_with("convoke_") && line.contains(name));
        page.lines().filter(tells).filter(|line| !line.ends_with(" 0")).map(str::to_owned).collect()
    }

    fn peak_mib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1_024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn convoke(folder: &Path) -> Command {
    let mut command = Command::new(binary());
    command.current_dir(folder).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn token(folder: &Path, subject: &str) -> String {
    let email = format!("{subject}@example.com");
    let output = convoke(folder).args(["token", "--subject", subject, "--email", &email]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn request(path: &str, token: &str, args: &Value) -> Vec<u8> {
    let body = json!({ "args": args }).to_string();
    let length = body.len();
    format!(
        "POST /api/run/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         authorization: Bearer {token}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Sends a request and reads the complete response.
fn call(stream: &mut BufReader<TcpStream>, request: &[u8]) -> Value {
    answer(stream, request).unwrap()
}

fn answer(stream: &mut BufReader<TcpStream>, request: &[u8]) -> io::Result<Value> {
    stream.get_mut().write_all(request)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

fn connect(address: SocketAddr) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    BufReader::new(stream)
}

fn created(address: SocketAddr, token: &str) -> Value {
    let args = json!({ "title": "Measured" });
    let reply = call(&mut connect(address), &request(CREATE, token, &args));
    reply["value"]["meetingId"].clone()
}

/// Creates a meeting with a transcript for the list.
fn transcript(address: SocketAddr, token: &str, chunks: usize) -> Value {
    let meeting = created(address, token);
    let mut stream = connect(address);
    let text = "word ".repeat(CHARACTERS / 5);
    for batch in 0..chunks / 100 {
        let chunk = |number: usize| {
            let at = (batch * 100 + number) * 1_000;
            json!({ "text": text, "confidence": 0.9, "startTime": at, "endTime": at + 900 })
        };
        let args = json!({ "meetingId": meeting, "chunks": (0..100).map(chunk).collect::<Vec<_>>() });
        let reply = call(&mut stream, &request("transcripts/ingestion/ingestTranscriptChunks", token, &args));
        assert_eq!(reply["status"], "success", "{reply}");
    }
    meeting
}

/// Adds entries to the log of a meeting's notes.
fn notes(address: SocketAddr, token: &str, meeting: &Value) {
    let mut stream = connect(address);
    let letter = json!({ "operation": { "type": "insert", "position": 0, "content": "y" } });
    for _ in 0..ENTRIES / 50 {
        let args = json!({ "meetingId": meeting, "operations": vec![letter.clone(); 50] });
        let reply = call(&mut stream, &request("notes/index/batchApplyNoteOperations", token, &args));
        assert_eq!(reply["status"], "success", "{reply}");
    }
}

/// Sequential reads and writes of one user, each on its own connection.
fn measure(address: SocketAddr, token: &str, meeting: &Value, time: Duration) {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let until = Instant::now() + time;
    let read = request(READ, token, &json!({ "meetingId": meeting }));
    let write = request(WRITE, token, &json!({}));
    let run = |request: Vec<u8>| {
        std::thread::spawn(move || {
            let (mut stream, mut taken, mut failed) = (connect(address), Vec::new(), Vec::new());
            while Instant::now() < until {
                let began = Instant::now();
                match answer(&mut stream, &request) {
                    Ok(reply) if reply["status"] == "success" => taken.push(began.elapsed()),
                    Ok(reply) => failed.push(format!("after {:.1?}: {}", began.elapsed(), reply["errorMessage"])),
                    Err(error) => {
                        failed.push(format!("after {:.1?}: {error}", began.elapsed()));
                        stream = connect(address);
                    }
                }
                std::thread::sleep(PAUSE);
            }
            (taken, failed)
        })
    };
    let runs = [("reads", run(read)), ("writes", run(write))];
    for (name, run) in runs {
        let (mut taken, failed) = run.join().unwrap();
        let first = taken[0];
        taken.sort_unstable();
        let at = |part: f64| taken[((taken.len() - 1) as f64 * part) as usize];
        println!(
            "  {name}: {} calls, first {first:.1?}, p50 {:.1?}, p99 {:.1?}, longest {:.1?}; {} failed {}",
            taken.len(),
            at(0.5),
            at(0.99),
            at(1.0),
            failed.len(),
            failed.first().map_or("", String::as_str)
        );
    }
    println!("  load average at its begin: {}", load.trim());
}

/// Connections that repeat one request, on a thread of their own.
struct Flood {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    refused: Arc<Mutex<Vec<Duration>>>,
    thread: std::thread::JoinHandle<()>,
}

impl Flood {
    fn start(address: SocketAddr, request: Vec<u8>, connections: usize) -> Self {
        let request: Arc<[u8]> = request.into();
        let (stop, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let refused = Arc::<Mutex<Vec<Duration>>>::default();
        let all = (stop.clone(), answered.clone(), Arc::clone(&refused));
        let thread = std::thread::spawn(move || {
            let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            executor.block_on(async move {
                let each = |_| {
                    let (request, (stop, answered, refused)) = (request.clone(), all.clone());
                    async move {
                        while !stop.load(Relaxed) {
                            // A closed connection is opened again.
                            let _ = ask_again_and_again(address, &request, &stop, &answered, &refused).await;
                        }
                    }
                };
                futures_util::future::join_all((0..connections).map(each)).await;
            });
        });
        Self { stop, answered, refused, thread }
    }

    fn stop(self) {
        self.stop.store(true, Relaxed);
        let mut refused = std::mem::take(&mut *self.refused.lock().unwrap());
        refused.sort_unstable();
        let p50 = refused.get(refused.len() / 2).copied().unwrap_or_default();
        let answered = self.answered.load(Relaxed);
        println!("  answers for the flood: {answered}, rejected: {}, half of them within {p50:.1?}", refused.len());
        // Pending requests are dropped.
        drop(self.thread);
    }
}

async fn ask_again_and_again(
    address: SocketAddr,
    request: &[u8],
    stop: &AtomicBool,
    answered: &AtomicU64,
    refused: &Mutex<Vec<Duration>>,
) -> io::Result<()> {
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let mut buffer = vec![0; 64 * 1_024];
    while !stop.load(Relaxed) {
        let began = Instant::now();
        // A server that rejects the request responds before it has read all of it, and closes the connection.
        let sent = stream.write_all(request).await;
        let (mut head, mut left) = (Vec::new(), None);
        while left != Some(0) {
            let read = stream.read(&mut buffer).await?;
            if read == 0 {
                return sent;
            }
            match &mut left {
                Some(left) => *left -= read.min(*left),
                None => {
                    head.extend_from_slice(&buffer[..read]);
                    left = body_left(&head);
                }
            }
        }
        match head.starts_with(b"HTTP/1.1 200") {
            true => drop(answered.fetch_add(1, Relaxed)),
            false => refused.lock().unwrap().push(began.elapsed()),
        }
        sent?;
    }
    Ok(())
}

/// Returns the missing number of bytes of the body; `None` while the head is incomplete.
fn body_left(head: &[u8]) -> Option<usize> {
    let end = head.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&head[..end]).to_ascii_lowercase();
    let length: usize = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())?;
    Some(length - (head.len() - end).min(length))
}
