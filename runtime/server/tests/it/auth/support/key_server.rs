//! A key server: serves GET by path, and counts, delays or fails requests as configured.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::Signer;

/// Ends with the value.
pub(crate) struct KeyServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    replies: HashMap<String, Reply>,
    hits: HashMap<String, usize>,
    delay: Duration,
}

/// Response of a path.
#[derive(Clone)]
pub(crate) struct Reply {
    pub status: u16,
    pub headers: String,
    pub body: String,
}

impl Reply {
    pub(crate) fn json(body: &Value) -> Self {
        Self { status: 200, headers: String::new(), body: body.to_string() }
    }

    pub(crate) fn status(status: u16) -> Self {
        Self { status, headers: String::new(), body: String::new() }
    }
}

impl KeyServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let task = tokio::spawn(serve(listener, Arc::clone(&state)));
        Self { address, state, task }
    }

    /// A server that lists these keys at `/jwks`.
    pub(crate) async fn listing(signers: &[&Signer]) -> Self {
        let server = Self::start().await;
        server.list(signers);
        server
    }

    /// Lists these keys at `/jwks` from now on.
    pub(crate) fn list(&self, signers: &[&Signer]) {
        let keys: Vec<&Value> = signers.iter().map(|signer| &signer.jwk).collect();
        self.reply("/jwks", Reply::json(&json!({ "keys": keys })));
    }

    pub(crate) fn reply(&self, path: &str, reply: Reply) {
        self.state.lock().unwrap().replies.insert(path.to_owned(), reply);
    }

    /// Answers that much later from now on.
    pub(crate) fn delay(&self, delay: Duration) {
        self.state.lock().unwrap().delay = delay;
    }

    /// Returns the number of requests of a path.
    pub(crate) fn hits(&self, path: &str) -> usize {
        self.state.lock().unwrap().hits.get(path).copied().unwrap_or(0)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for KeyServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream, Arc::clone(&state)));
    }
}

async fn answer(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    let path = String::from_utf8(request).unwrap().split(' ').nth(1).unwrap().to_owned();
    let (reply, delay) = {
        let mut state = state.lock().unwrap();
        *state.hits.entry(path.clone()).or_default() += 1;
        (state.replies.get(&path).cloned().unwrap_or(Reply::status(404)), state.delay)
    };
    tokio::time::sleep(delay).await;
    let Reply { status, headers, body } = reply;
    let length = body.len();
    let head = format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n");
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
    let _ = stream.shutdown().await;
}
