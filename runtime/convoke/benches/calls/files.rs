//! Files: a download beside nginx, and an upload beside the same writes and hashes in one thread.

use std::fs::File;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::contenders::{Server, cpu_of};
use crate::load::call;
use crate::report::Turn;

const BYTES: usize = 100_000_000;
/// Concurrent downloads.
const DOWNLOADS: usize = 4;
/// Bytes that a client reads, or the peer of an upload writes, at a time.
const PIECE_BYTES: usize = 64 * 1024;
const MB: f64 = 1e6;

/// Returns a content that does not compress.
fn content() -> Vec<u8> {
    let mut content = vec![0; BYTES];
    SmallRng::seed_from_u64(7).fill(&mut content[..]);
    content
}

/// Convoke with a stored file.
pub(crate) struct Files {
    server: Server,
    content: Vec<u8>,
    /// The path of a link to the file.
    link: String,
    folder: TempDir,
}

impl Files {
    pub(crate) fn new(executor: &Runtime, server: Server) -> Self {
        let mut files = Self { server, content: content(), link: String::new(), folder: TempDir::new().unwrap() };
        files.link = executor.block_on(async {
            let storage_id = files.send(&files.begin().await).await["storageId"].take();
            let stored = call(&files.server, "storeDocument", format!("{{\"upload\":{storage_id}}}")).await;
            path_of(stored["value"].as_str().unwrap())
        });
        files
    }

    /// Returns the path of an address for an upload.
    async fn begin(&self) -> String {
        path_of(call(&self.server, "beginUpload", "{}".to_owned()).await["value"]["url"].as_str().unwrap())
    }

    async fn send(&self, path: &str) -> Value {
        let mut stream = TcpStream::connect(self.server.address).await.unwrap();
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {BYTES}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&self.content).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// One upload, from its first byte to the response.
    pub(crate) async fn upload(&self) -> Turn {
        let path = self.begin().await;
        let (start, cpu) = (Instant::now(), self.server.cpu());
        self.send(&path).await;
        turn(BYTES as u64, start.elapsed(), self.server.cpu() - cpu)
    }

    /// The work of an upload without its transfer: the bytes are written, hashed and synced.
    pub(crate) fn write_and_hash(&self) -> Turn {
        let (start, cpu) = (Instant::now(), cpu_of(std::process::id()));
        let path = self.folder.path().join("content");
        let (mut file, mut digest) = (File::create(&path).unwrap(), Sha256::new());
        for piece in self.content.chunks(PIECE_BYTES) {
            file.write_all(piece).unwrap();
            digest.update(piece);
        }
        file.sync_all().unwrap();
        assert_ne!(digest.finalize().as_slice(), [0; 32]);
        turn(BYTES as u64, start.elapsed(), cpu_of(std::process::id()) - cpu)
    }

    pub(crate) async fn download(&self, time: Duration) -> Turn {
        download(self.server.address, &self.link, time, || self.server.cpu()).await
    }
}

fn path_of(url: &str) -> String {
    url[url.find("/files/").unwrap()..].to_owned()
}

fn turn(bytes: u64, elapsed: Duration, cpu: Duration) -> Turn {
    let mb = bytes as f64 / MB;
    Turn { rate: mb / elapsed.as_secs_f64(), cpu_us: cpu.as_secs_f64() * 1e6 / mb }
}

/// nginx with the same content, in one process.
pub(crate) struct Nginx {
    process: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Nginx {
    /// Starts it; none without the program.
    pub(crate) fn start() -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let root = folder.path().display();
        std::fs::write(folder.path().join("content"), content()).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let settings = format!(
            "daemon off; master_process off; pid {root}/pid; error_log {root}/log; events {{}}
             http {{ access_log off; sendfile on; tcp_nopush on; client_body_temp_path {root}/a; proxy_temp_path {root}/b;
             fastcgi_temp_path {root}/c; uwsgi_temp_path {root}/d; scgi_temp_path {root}/e;
             server {{ listen {address}; root {root}; }} }}"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, settings).unwrap();
        let process = Command::new("nginx").arg("-c").arg(&file).stderr(Stdio::null()).spawn().ok()?;
        while std::net::TcpStream::connect(address).is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Self { process, address, _folder: folder })
    }

    pub(crate) async fn download(&self, time: Duration) -> Turn {
        download(self.address, "/content", time, || cpu_of(self.process.id())).await
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Downloads for a time, again and again on each connection.
async fn download(address: SocketAddr, path: &str, time: Duration, cpu: impl Fn() -> Duration) -> Turn {
    let (done, received) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut tasks = Vec::new();
    for _ in 0..DOWNLOADS {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let (done, received) = (done.clone(), received.clone());
        tasks.push(tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let mut buffer = vec![0; PIECE_BYTES];
            while !done.load(Ordering::Relaxed) {
                stream.write_all(request.as_bytes()).await.unwrap();
                let read = stream.read(&mut buffer).await.unwrap();
                let head = memchr::memmem::find(&buffer[..read], b"\r\n\r\n").unwrap() + 4;
                assert!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..head]));
                let mut missing = BYTES - (read - head);
                while missing > 0 && !done.load(Ordering::Relaxed) {
                    let read = stream.read(&mut buffer).await.unwrap();
                    assert_ne!(read, 0, "the server hung up");
                    missing -= read;
                    received.fetch_add(read as u64, Ordering::Relaxed);
                }
            }
        }));
    }
    tokio::time::sleep(time / 5).await;
    let (start, cpu_before, before) = (Instant::now(), cpu(), received.load(Ordering::Relaxed));
    tokio::time::sleep(time).await;
    let turn = turn(received.load(Ordering::Relaxed) - before, start.elapsed(), cpu() - cpu_before);
    done.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    turn
}
