//! The load: connections that send one request after the other and read each answer to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bank::{ACCOUNTS, LISTED};
use crate::contenders::Server;
use crate::report::Turn;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// One account by its id.
    Get,
    /// The same, with a token.
    GetWithToken,
    /// Fifty accounts.
    List,
    /// Money from one account to another.
    Transfer,
}

/// One turn of one contender.
pub(crate) struct Load<'a> {
    pub server: &'a Server,
    pub work: Work,
    pub connections: usize,
    pub time: Duration,
}

impl Load<'_> {
    pub(crate) async fn run(&self) -> Turn {
        let done = Arc::new(AtomicBool::new(false));
        let requests = Arc::new(AtomicU64::new(0));
        let tasks: Vec<_> = (0..self.connections)
            .map(|i| {
                let (done, requests) = (done.clone(), requests.clone());
                let (address, bodies) = (self.server.address, self.bodies(i));
                tokio::spawn(async move {
                    let mut stream = TcpStream::connect(address).await.unwrap();
                    stream.set_nodelay(true).unwrap();
                    let mut buffer = Vec::with_capacity(64 * 1024);
                    for body in bodies.iter().cycle() {
                        if done.load(Ordering::Relaxed) {
                            break;
                        }
                        stream.write_all(body).await.unwrap();
                        read_response(&mut stream, &mut buffer).await;
                        requests.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        // Connections are made and statements prepared before the time runs.
        tokio::time::sleep(self.time / 10).await;
        let (start, cpu, before) = (Instant::now(), self.server.cpu(), requests.load(Ordering::Relaxed));
        tokio::time::sleep(self.time).await;
        let (elapsed, cpu_end, after) = (start.elapsed(), self.server.cpu(), requests.load(Ordering::Relaxed));
        done.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await.unwrap();
        }
        let count = (after - before) as f64;
        let cpu = (cpu_end - cpu).as_secs_f64();
        Turn { rate: count / elapsed.as_secs_f64(), cpu_us: cpu * 1e6 / count }
    }

    /// The requests of one connection, ready to be sent over and over.
    fn bodies(&self, connection: usize) -> Vec<Vec<u8>> {
        let connection = i64::try_from(connection).unwrap();
        (0..97)
            .map(|i| {
                // Different accounts each time, the same ones in every run.
                let at = (connection * 97 + i) * 7_919;
                let (path, args) = match self.work {
                    Work::Get | Work::GetWithToken => {
                        let ids = &self.server.ids;
                        let id = &ids[usize::try_from(at).unwrap() % ids.len()];
                        ("getAccount", format!("{{\"id\":\"{id}\"}}"))
                    }
                    Work::List => ("listAccounts", format!("{{\"owner\":\"owner-{}\"}}", at % (ACCOUNTS / LISTED))),
                    Work::Transfer => {
                        let (from, to) = (at % ACCOUNTS, (at + 1 + i) % ACCOUNTS);
                        ("transfer", format!("{{\"from\":{from},\"to\":{to},\"amount\":1}}"))
                    }
                };
                let body = format!("{{\"args\":{args}}}");
                let token = match self.work {
                    Work::GetWithToken => format!("authorization: Bearer {}\r\n", self.server.token),
                    Work::Get | Work::List | Work::Transfer => String::new(),
                };
                format!(
                    "POST /api/run/bank/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                     {token}content-length: {}\r\n\r\n{body}",
                    body.len()
                )
                .into_bytes()
            })
            .collect()
    }
}

/// Reads one response to its end; anything but a success stops the run.
async fn read_response(stream: &mut TcpStream, buffer: &mut Vec<u8>) {
    buffer.clear();
    let mut expected = None;
    loop {
        if expected.is_none()
            && let Some(head) = memchr::memmem::find(buffer, b"\r\n\r\n")
        {
            assert!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(buffer));
            let text = std::str::from_utf8(&buffer[..head]).unwrap();
            let length = text.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
            });
            expected = Some(head + 4 + length.unwrap());
        }
        if expected.is_some_and(|expected| buffer.len() >= expected) {
            let failed = memchr::memmem::find(buffer, b"\"status\":\"error\"").is_some();
            assert!(!failed, "{}", String::from_utf8_lossy(buffer));
            return;
        }
        assert_ne!(stream.read_buf(buffer).await.unwrap(), 0, "the server hung up");
    }
}
