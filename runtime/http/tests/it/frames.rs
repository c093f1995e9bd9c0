//! A client of HTTP/2 that keeps no rules: it writes frames as it likes and takes answers as slowly as it likes.
//!
//! It needs nothing of this crate, so that longer tests elsewhere can drive a server with it too.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// The setting of a stream's window at its start.
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;

/// One frame (RFC 9113 §4.1).
#[derive(Debug)]
pub(crate) struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    /// The error code of a reset, or of the connection's end.
    pub(crate) fn error(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().unwrap())
    }
}

/// A text's length: what the first byte has no room for follows in parts of seven bits (RFC 7541 §5.1).
fn length(bytes: usize, block: &mut Vec<u8>) {
    let mut left = match bytes.checked_sub(127) {
        None => return block.push(bytes.try_into().unwrap()),
        Some(left) => left,
    };
    block.push(127);
    while left >= 128 {
        block.push(u8::try_from(left % 128).unwrap() | 128);
        left /= 128;
    }
    block.push(left.try_into().unwrap());
}

pub(crate) struct Frames(TcpStream);

impl Frames {
    /// A connection with the default settings.
    pub(crate) async fn to(addr: SocketAddr) -> Self {
        Self::with(addr, &[]).await
    }

    /// A connection with these settings.
    pub(crate) async fn with(addr: SocketAddr, settings: &[(u16, u32)]) -> Self {
        let mut frames = Self(TcpStream::connect(addr).await.unwrap());
        frames.0.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        let mut payload = Vec::new();
        for (name, value) in settings {
            payload.extend(name.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        assert!(frames.send(SETTINGS, 0, 0, &payload).await);
        frames
    }

    /// Writes a frame; `false` once the server has closed.
    pub(crate) async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame).await.is_ok()
    }

    /// Writes a whole block of fields, each as a literal that is not indexed (RFC 7541 §6.2.2).
    pub(crate) async fn headers(&mut self, stream: u32, flags: u8, fields: &[(&str, &str)]) -> bool {
        let mut block = Vec::new();
        for (name, value) in fields {
            block.push(0);
            for text in [name, value] {
                length(text.len(), &mut block);
                block.extend(text.as_bytes());
            }
        }
        self.send(HEADERS, flags | END_HEADERS, stream, &block).await
    }

    /// Begins a call, with further fields; its body is still to come.
    pub(crate) async fn begin(&mut self, stream: u32, path: &str, fields: &[(&str, &str)]) -> bool {
        self.request(stream, 0, path, fields).await
    }

    /// Calls a function without a body.
    pub(crate) async fn call(&mut self, stream: u32, path: &str) -> bool {
        self.request(stream, END_STREAM, path, &[]).await
    }

    async fn request(&mut self, stream: u32, flags: u8, path: &str, fields: &[(&str, &str)]) -> bool {
        let mut all = vec![(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "test")];
        all.push(("content-type", "application/json"));
        all.extend(fields);
        self.headers(stream, flags, &all).await
    }

    /// Sends more than 64 KiB of a body that does not end, which is more than is awaited of one that nobody wants.
    pub(crate) async fn send_more_than_is_awaited(&mut self, stream: u32) {
        for _ in 0..4 {
            assert!(self.send(DATA, 0, stream, &[b' '; 10_000]).await);
        }
        while self.next_of(WINDOW_UPDATE).await.expect("room for more").stream != stream {}
        for _ in 0..3 {
            assert!(self.send(DATA, 0, stream, &[b' '; 10_000]).await);
        }
    }

    /// The next frame; `None` at the end, which a reset of the connection is too.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        self.next_within(Duration::from_secs(10)).await
    }

    async fn next_within(&mut self, time: Duration) -> Option<Frame> {
        let mut head = [0; 9];
        timeout(time, self.0.read_exact(&mut head)).await.expect("a frame").ok()?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        self.0.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// The next frame of this kind; those before it are passed over.
    pub(crate) async fn next_of(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = self.next().await?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// Waits until the server has read everything so far: it answers a ping behind it. What it sends meanwhile.
    pub(crate) async fn until_read(&mut self) -> Vec<Frame> {
        assert!(self.send(PING, 0, 0, b"until ok").await);
        let mut before = Vec::new();
        loop {
            let frame = self.next().await.expect("the answer to a ping");
            if frame.kind == PING && frame.flags == ACK {
                return before;
            }
            before.push(frame);
        }
    }

    /// Whether the server has taken everything that was sent so far; otherwise the connection has ended. `told` becomes
    /// true when the server says that it ends it.
    pub(crate) async fn are_taken(&mut self, told: &mut bool) -> bool {
        self.send(PING, 0, 0, &[0; 8]).await;
        while let Some(frame) = self.next().await {
            *told |= frame.kind == GOAWAY;
            match (frame.kind, frame.flags) {
                (PING, ACK) => return true,
                (PING, _) => drop(self.send(PING, ACK, 0, &frame.payload).await),
                _ => {}
            }
        }
        false
    }

    /// Reads and answers pings until the server closes, and takes nothing of any answer: it never opens a window.
    /// Whether the server said that it would close.
    pub(crate) async fn answer_pings(mut self) -> bool {
        let mut told = false;
        // Pings are the only thing that comes, and have half of the time that a connection may be idle between them.
        while let Some(frame) = self.next_within(Duration::from_secs(60)).await {
            told |= frame.kind == GOAWAY;
            if frame.kind == PING && frame.flags != ACK {
                self.send(PING, ACK, 0, &frame.payload).await;
            }
        }
        told
    }
}
