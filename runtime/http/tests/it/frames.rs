//! An HTTP/2 client that may break the protocol: it writes any frames and reads responses as slowly as a test needs.
//!
//! It does not depend on this crate, so that longer tests of other crates can include it.

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

/// The setting for the initial window of a stream.
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;

/// A frame (RFC 9113 §4.1).
#[derive(Debug)]
pub(crate) struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    /// The error code of a reset or of a GOAWAY.
    pub(crate) fn error(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().unwrap())
    }
}

/// Writes the length of a text: a prefix of seven bits, and the rest in groups of seven bits (RFC 7541 §5.1).
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
    /// Connects with the default settings.
    pub(crate) async fn to(addr: SocketAddr) -> Self {
        Self::with(addr, &[]).await
    }

    /// Connects with these settings.
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

    /// Writes a frame. Returns false once the server has closed the connection.
    pub(crate) async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame).await.is_ok()
    }

    /// Writes a complete block of fields, each as a literal without indexing (RFC 7541 §6.2.2).
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

    /// Begins a call with further fields. The body follows.
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

    /// Sends more than 64 KiB of an endless body, which is more than the server reads of an unused body.
    pub(crate) async fn send_more_than_is_discarded(&mut self, stream: u32) {
        for _ in 0..4 {
            assert!(self.send(DATA, 0, stream, &[b' '; 10_000]).await);
        }
        while self.next_of(WINDOW_UPDATE).await.expect("an open window").stream != stream {}
        for _ in 0..3 {
            assert!(self.send(DATA, 0, stream, &[b' '; 10_000]).await);
        }
    }

    /// Reads the next frame. Returns `None` at the end or after a reset of the connection.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        timeout(Duration::from_secs(60), self.0.read_exact(&mut head)).await.expect("a frame").ok()?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        self.0.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// Reads the next frame of this kind and skips those before it.
    pub(crate) async fn next_of(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = self.next().await?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// Waits until the server has read everything so far, by a ping. Returns the frames that it sends meanwhile.
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

    /// Returns true once the server has read everything so far, or false if the connection has ended. Sets `has_goaway`
    /// if the server sends a GOAWAY.
    pub(crate) async fn are_read(&mut self, has_goaway: &mut bool) -> bool {
        self.send(PING, 0, 0, &[0; 8]).await;
        while let Some(frame) = self.next().await {
            *has_goaway |= frame.kind == GOAWAY;
            match (frame.kind, frame.flags) {
                (PING, ACK) => return true,
                (PING, _) => drop(self.send(PING, ACK, 0, &frame.payload).await),
                _ => {}
            }
        }
        false
    }

    /// Responds to pings until the server closes the connection, and never opens a window to read a response. Returns
    /// true if the server sent a GOAWAY.
    pub(crate) async fn answer_pings(mut self) -> bool {
        let mut has_goaway = false;
        while let Some(frame) = self.next().await {
            has_goaway |= frame.kind == GOAWAY;
            if frame.kind == PING && frame.flags != ACK {
                self.send(PING, ACK, 0, &frame.payload).await;
            }
        }
        has_goaway
    }
}
