//! Checks that no two readers of one connection disagree on where a request ends.
//!
//! The strict reader determines which bytes hyper gets. For any bytes, in any pieces:
//!
//! - hyper reads the requests that the reader accepts, with the same bodies, and no others;
//! - a reader by the rules of llhttp, such as a proxy in front, ends each of them at the same byte or rejects it.

#![no_main]

mod llhttp_rules;

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use convoke_http::fuzzing::{Framed, framed, guarded};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The target of the request that replaces a rejected one.
const STAND_IN: &str = "*";

/// A socket whose peer has sent all its bytes and reads everything.
struct Sent<'a> {
    left: &'a [u8],
    /// Largest number of bytes per read.
    piece: usize,
}

impl AsyncRead for Sent<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let length = self.left.len().min(self.piece).min(buf.remaining());
        let (now, left) = self.left.split_at(length);
        buf.put_slice(now);
        self.left = left;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Sent<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

thread_local! {
    static RUNTIME: tokio::runtime::Runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
}

/// Returns the target and the complete body of each request that hyper reads.
fn seen_by_hyper(bytes: &[u8], piece: usize) -> Vec<(String, Bytes)> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let service = service_fn(|request: Request<Incoming>| {
        let seen = Rc::clone(&seen);
        async move {
            let target = request.uri().to_string();
            if let Ok(body) = request.into_body().collect().await {
                seen.borrow_mut().push((target, body.to_bytes()));
            }
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let (first, left) = bytes.split_at(piece.min(bytes.len()));
    let mut http1 = hyper::server::conn::http1::Builder::new();
    http1.half_close(true).header_read_timeout(None);
    RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let stream = TokioIo::new(guarded(Sent { left, piece }, first));
            // A rejected request ends the connection with an error, which is not compared.
            drop(http1.serve_connection(stream, service).await);
        });
    });
    seen.take()
}

/// Returns the body without the framing of its chunks.
fn decoded(bytes: &[u8], request: &Framed) -> Vec<u8> {
    let mut left = &bytes[request.body.clone()];
    if !request.is_chunked {
        return left.to_vec();
    }
    let mut body = Vec::new();
    while let Some(line) = left.windows(2).position(|pair| pair == b"\r\n") {
        let digits = left[..line].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let size = std::str::from_utf8(&left[..digits]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some(size) = size.filter(|size| *size > 0) else { break };
        body.extend_from_slice(&left[line + 2..line + 2 + size]);
        left = &left[line + 2 + size + 2..];
    }
    body
}

fuzz_target!(|input: &[u8]| {
    let Some((piece, bytes)) = input.split_first() else { return };
    let piece = usize::from(*piece).max(1);
    if bytes.is_empty() {
        return;
    }
    let accepted = framed(bytes);
    let elsewhere = llhttp_rules::ends(bytes);
    for (request, end) in accepted.iter().zip(&elsewhere) {
        assert_eq!(request.body.end, *end, "a reader by llhttp's rules ends this request elsewhere");
    }
    let seen = seen_by_hyper(bytes, piece);
    let seen: Vec<_> = seen.iter().filter(|(target, _)| target != STAND_IN).collect();
    assert!(seen.len() <= accepted.len(), "hyper reads a request that was not accepted: {seen:?}");
    for ((_, body), request) in seen.iter().zip(&accepted) {
        assert_eq!(body[..], decoded(bytes, request)[..], "hyper reads a different body");
    }
});
