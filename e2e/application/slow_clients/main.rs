//! The real binary under clients that do not read their responses or do not complete their requests: its memory stays
//! below 512 MiB, and other clients are served.
//!
//! ```sh
//! cargo test --release -p functions --test slow_clients -- --ignored --nocapture --test-threads 1
//! ```
//!
//! The attacks need `--ignored`. Each runs for `TORTURE_MINUTES`, 0.25 by default. A client that the server disconnects
//! reconnects immediately. `CONVOKE_BIN` names the binary to test; the default is the one that cargo built.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../../runtime/http/tests/it/frames.rs"]
#[allow(dead_code, reason = "the listener's own tests need more of it")]
mod frames;
#[path = "../faults/binary.rs"]
mod binary;
mod other;
mod served;

use std::time::Duration;

use frames::{DATA, END_STREAM, Frames, INITIAL_WINDOW_SIZE};
use other::Other;
use served::Served;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

const PEAK_MIB_MAX: usize = 512;
/// The same for 900 slow uploads, which take 130 to 160 MiB.
const UPLOADS_PEAK_MIB_MAX: usize = 192;

fn lasts() -> Duration {
    let minutes = std::env::var("TORTURE_MINUTES").ok().and_then(|minutes| minutes.parse::<f64>().ok());
    Duration::from_secs_f64(minutes.unwrap_or(0.25) * 60.0)
}

/// Runs the attackers beside another user, and prints the results of both.
async fn attacked<F>(name: &str, attackers: usize, attack: impl Fn(Served) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let served = Served::start().await;
    let before = served.memory("VmRSS");
    let mut attacking = JoinSet::new();
    for _ in 0..attackers {
        attacking.spawn(attack(served.clone()));
    }
    let other = Other::works(&served, lasts()).await;
    attacking.shutdown().await;
    let (peak, after) = (served.memory("VmHWM"), served.memory("VmRSS"));
    eprintln!("{name}: {before} MiB before, {peak} MiB at its peak, {after} MiB after; {other}");
    eprintln!("{}", served.metrics().await);
    assert!(peak <= PEAK_MIB_MAX, "{peak} MiB");
    assert_eq!(other.failed, 0, "others are served");
}

/// A huge page is returned to the system only when no connection needs a part of it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn memory_returns_to_the_system_in_small_pages() {
    let served = Served::start().await;
    assert_eq!(served.status("THP_enabled"), "0");
}

#[tokio::test]
#[ignore = "half a minute of load; see the head of this file"]
async fn unread_responses_over_http_2() {
    attacked("20 connections of HTTP/2 with 250 calls of a page each and shut windows", 20, async |served: Served| {
        loop {
            let mut frames = Frames::with(served.address, &[(INITIAL_WINDOW_SIZE, 0)]).await;
            let (path, body) = served.page();
            for call in 0..250 {
                let stream = 2 * call + 1;
                let sent = frames.begin(stream, &path, &[("authorization", &served.bearer())]).await
                    && frames.send(DATA, END_STREAM, stream, body.as_bytes()).await;
                if !sent {
                    break;
                }
            }
            frames.answer_pings().await;
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "half a minute of load; see the head of this file"]
async fn unread_responses_over_http_1() {
    attacked("900 connections of HTTP/1.1 that do not read their page", 900, async |served: Served| {
        loop {
            let socket = TcpSocket::new_v4().unwrap();
            // Socket buffers of the system are not the server's memory and would hide it.
            socket.set_recv_buffer_size(4096).unwrap();
            let Ok(mut stream) = socket.connect(served.address).await else { continue };
            let (path, body) = served.page();
            if stream.write_all(served.request(&path, &body).as_bytes()).await.is_err() {
                continue;
            }
            // The client reads nothing until the server disconnects it. After that it cannot request the rest.
            while stream.write_all(b"\r\n").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "half a minute of load; see the head of this file"]
async fn endless_bodies() {
    attacked("900 connections of HTTP/1.1 that send all but the end of 1 MiB", 900, async |served: Served| {
        loop {
            let Ok(mut stream) = TcpStream::connect(served.address).await else { continue };
            let (path, _) = served.page();
            let mut request = served.request(&path, &" ".repeat(1024 * 1024));
            request.truncate(request.len() - 50 * 1024);
            let (mut reading, mut writing) = stream.split();
            let writing = async {
                let _ = writing.write_all(request.as_bytes()).await;
                std::future::pending::<()>().await;
            };
            let mut answer = Vec::new();
            // A rejected client retries after one second.
            tokio::select! {
                () = writing => {}
                _ = reading.read_to_end(&mut answer) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    })
    .await;
}

/// Chunks of a body, each with its length before it.
fn chunk(bytes: usize) -> Vec<u8> {
    [format!("{bytes:x}\r\n").as_bytes(), &vec![b'a'; bytes], b"\r\n"].concat()
}

#[tokio::test]
#[ignore = "half a minute of load; see the head of this file"]
async fn slow_uploads() {
    const UPLOADS: usize = 900;
    let served = Served::start().await;
    let mut paths = Vec::new();
    for _ in 0..UPLOADS {
        paths.push(served.begin_upload().await);
    }
    let before = served.memory_kib("VmRSS");
    let mut uploads = JoinSet::new();
    for path in paths {
        let address = served.address;
        uploads.spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            // A fast beginning makes every buffer as large as it becomes. Later pieces have all sizes.
            stream.write_all(&chunk(1024 * 1024)).await.unwrap();
            for step in 0.. {
                tokio::time::sleep(Duration::from_millis(500)).await;
                if stream.write_all(&chunk(700 + step * 997 % 40_000)).await.is_err() {
                    break;
                }
            }
        });
    }
    while served.metric("convoke_file_uploads_open").await < UPLOADS as f64 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let other = Other::works(&served, lasts()).await;
    assert_eq!(served.metric("convoke_file_uploads_open").await, UPLOADS as f64, "all uploads continue");
    let (during, peak) = (served.memory_kib("VmRSS"), served.memory("VmHWM"));
    let each = during.saturating_sub(before) / UPLOADS;
    eprintln!(
        "{UPLOADS} slow uploads: {before} KiB before, {during} KiB during, {each} KiB each, {peak} MiB peak; {other}"
    );
    uploads.shutdown().await;
    assert!(peak <= UPLOADS_PEAK_MIB_MAX, "{peak} MiB");
    assert_eq!(other.failed, 0, "others are served");
}
