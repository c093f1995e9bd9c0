//! The attacked server: a process with a transcript whose page has 2.7 MB.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::binary::binary;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A handle of the process, cheap to clone. The process ends with the last handle.
#[derive(Clone)]
pub(crate) struct Served {
    pub address: SocketAddr,
    token: String,
    /// The token of the other user.
    pub other: String,
    meeting: String,
    process: Arc<Process>,
}

struct Process {
    child: Child,
    _folder: TempDir,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn convoke(folder: &Path) -> Command {
    let mut command = Command::new(binary());
    command.current_dir(folder).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn minted(folder: &Path, name: &str) -> String {
    let args = ["token", "--subject", name, "--email", &format!("{name}@example.com")];
    let output = convoke(folder).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Served {
    pub(crate) async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let (token, other) = (minted(folder.path(), "mallory"), minted(folder.path(), "ada"));
        let flags = ["serve", "--env", "development", "--listen", "127.0.0.1:0", "--log", "error"];
        let mut child = convoke(folder.path()).args(flags).spawn().unwrap();
        let address = listening(&mut child);
        let process = Arc::new(Process { child, _folder: folder });
        let mut served = Self { address, token, other, meeting: String::new(), process };
        let made = served.call("meetings/lifecycle/createMeeting", json!({ "title": "Long" })).await;
        served.meeting = made["value"]["meetingId"].as_str().unwrap().to_owned();
        for part in 0..3 {
            let chunk = |place: i64| {
                let start = (part * 100 + place) * 1_000;
                json!({ "text": "word ".repeat(1_800), "confidence": 1, "startTime": start, "endTime": start + 900 })
            };
            let chunks: Vec<Value> = (0..100).map(chunk).collect();
            let args = json!({ "meetingId": served.meeting, "chunks": chunks });
            let reply = served.call("transcripts/ingestion/ingestTranscriptChunks", args).await;
            assert_eq!(reply["status"], "success", "{reply}");
        }
        let (path, body) = served.page();
        let page = served.exchange(&served.request(&path, &body)).await.unwrap();
        assert!(page.len() > 2_700_000, "{} bytes", page.len());
        served
    }

    /// Returns the path and the body of a call for the page.
    pub(crate) fn page(&self) -> (String, String) {
        let body = json!({ "args": { "meetingId": self.meeting, "limit": 500 } }).to_string();
        ("/api/run/transcripts/queries/listTranscriptChunks".to_owned(), body)
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// Returns a complete request of the attacker.
    pub(crate) fn request(&self, path: &str, body: &str) -> String {
        request(path, &self.token, body)
    }

    /// Returns the path of the address for an upload of the attacker, once the server accepts the call.
    pub(crate) async fn begin_upload(&self) -> String {
        let args = json!({ "meetingId": self.meeting });
        loop {
            let answer = self.call("meetings/attachments/beginUpload", args.clone()).await;
            let path = |url: &str| url.find("/files/").map(|at| url[at..].to_owned());
            match answer["value"]["url"].as_str().and_then(path) {
                Some(path) => return path,
                None => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Returns a metric of the server.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let page = self.page_of_metrics().await;
        page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok()).unwrap()
    }

    async fn call(&self, path: &str, args: Value) -> Value {
        let body = json!({ "args": args }).to_string();
        let answer = self.exchange(&self.request(&format!("/api/run/{path}"), &body)).await;
        answer.map_or(Value::Null, |answer| serde_json::from_slice(&answer).unwrap())
    }

    /// Sends a request on a new connection. Returns the body of the response; `None` if the response is incomplete.
    pub(crate) async fn exchange(&self, request: &str) -> Option<Vec<u8>> {
        let mut stream = TcpStream::connect(self.address).await.ok()?;
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok()?;
        let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
        answer.starts_with(b"HTTP/1.1 200 ").then(|| answer.split_off(head))
    }

    /// Returns a number of `/proc/PID/status`, in MiB.
    pub(crate) fn memory(&self, name: &str) -> usize {
        self.memory_kib(name) / 1024
    }

    /// Returns a number of `/proc/PID/status`, in KiB.
    pub(crate) fn memory_kib(&self, name: &str) -> usize {
        self.status(name).trim_end_matches(" kB").parse().unwrap()
    }

    /// Returns a line of `/proc/PID/status`.
    pub(crate) fn status(&self, name: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.child.id())).unwrap();
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap().trim().to_owned()
    }

    /// Returns the server's metrics of bodies, responses and connections.
    pub(crate) async fn metrics(&self) -> String {
        let of_http = |line: &&str| line.starts_with("convoke_http_") || line.starts_with("convoke_requests_refused");
        self.page_of_metrics().await.lines().filter(of_http).collect::<Vec<_>>().join("\n")
    }

    async fn page_of_metrics(&self) -> String {
        let page = self.exchange("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
        String::from_utf8(page.unwrap()).unwrap()
    }
}

/// Returns a complete request that closes the connection.
pub(crate) fn request(path: &str, token: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Authorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
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
