//! The socket that hyper reads: it passes only checked heads and limits the time of every step.
//!
//! hyper reads HTTP/1 from a [`GuardedIo`], which tracks where each request begins and ends. It holds back a head until
//! the head is complete, and checks it (see [`head`](super::head)). In place of a head that breaks a rule, is too slow
//! or too large, hyper gets [`STAND_IN`], to which the service responds with the rejection. So a rejection is an
//! ordinary response: it follows the responses to earlier requests, has a request id, and closes the connection in
//! order.
//!
//! A head that arrives in one piece, as nearly all do, is checked in hyper's buffer and not copied. Each connection has
//! one timer and checks its idle and stall timeouts periodically, so that a call does not read the clock.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::activity::Activity;
use super::backlog::{Pace, STALL_TICKS};
use super::chunked::Chunked;
use super::head::{Framing, Head, HeadLimits};
use super::rejection::Rejection;
use convoke_core::error::Code;
use convoke_core::limits::Limits;

/// A request that no client can send, because [`Head`] rejects its target. The service responds to it with
/// [`Closing::rejection`](super::closing::Closing::rejection).
const STAND_IN: &[u8] = b"GET * HTTP/1.1\r\nhost: refused\r\n\r\n";

/// Time to wait for unread input after the last response. It is longer within a body, because a client that writes the
/// whole body before it reads would lose the response.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_IN_BODY: Duration = Duration::from_secs(5);

const CHECKS_PER_IDLE_TIMEOUT: u32 = 8;

/// Pieces of a response are joined up to this total size: a copy costs less than a vectored write.
const JOINED_BYTES_MAX: usize = 1024;

const HEAD_TOO_SLOW: Rejection =
    Rejection { code: Code::RequestTimeout, message: "The request's head did not arrive in time." };

/// The protocol of a connection, detected from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1, tracked and checked here.
    Http1,
    /// HTTP/2, passed through: h2 does its own framing and checks.
    Http2,
}

/// A socket with its position in the protocol and its deadlines.
pub(crate) struct GuardedIo<S> {
    stream: S,
    position: Position,
    /// Input that hyper has not read: first checked bytes, then the beginning of a head.
    held: BytesMut,
    checked: usize,
    activity: Arc<Activity>,
    limits: GuardedIoLimits,
    timer: Pin<Box<Sleep>>,
    /// True if the timer is set for the next timeout check only.
    timer_is_for_check: bool,
    /// The time since which the connection has been idle, at the latest, and the calls that it had begun by then.
    idle_since: Instant,
    calls_seen: u64,
    /// True if the connection was asked to close because it is idle.
    closing: bool,
    /// The time of the next tick of the pending responses, and the time since which one of them is stalled.
    next_tick: Instant,
    stalled_since: Option<Instant>,
    pace: Pace,
    /// The time since which the rest of the held head is awaited.
    head_since: Option<Instant>,
    /// The time since which writes to the client block.
    blocked_since: Option<Instant>,
    /// The bytes of unread input that were discarded after the last response.
    lingering: Option<usize>,
}

#[derive(Clone, Copy)]
struct GuardedIoLimits {
    head: HeadLimits,
    header_timeout: Duration,
    idle_timeout: Duration,
    stall_timeout: Duration,
    /// Bytes that a client must read in that time while responses are pending.
    read_bytes_min: u64,
}

/// Bytes that a client must read of its responses within the stall timeout.
fn read_bytes_min(limits: &Limits) -> u64 {
    let milliseconds = u64::try_from(limits.response_stall_timeout.as_millis()).unwrap_or(u64::MAX);
    limits.response_bytes_per_second_min.saturating_mul(milliseconds) / 1_000
}

/// The position of the next input byte in a request.
enum Position {
    Head(Head),
    Body(u64),
    Chunks(Chunked),
    /// After a rejected head: nothing more is read.
    Rejected,
    /// Not tracked (HTTP/2).
    Through,
}

impl<S> GuardedIo<S> {
    /// Wraps a socket of which `first`, at least one byte, was read already.
    pub(crate) fn new(
        stream: S,
        protocol: Protocol,
        first: BytesMut,
        activity: Arc<Activity>,
        limits: &Limits,
    ) -> Self {
        let (position, checked) = match protocol {
            Protocol::Http1 => (Position::Head(Head::default()), 0),
            Protocol::Http2 => (Position::Through, first.len()),
        };
        let limits = GuardedIoLimits {
            head: HeadLimits { bytes_max: limits.header_bytes_max, fields_max: limits.header_fields_max },
            header_timeout: limits.header_timeout,
            idle_timeout: limits.idle_timeout,
            stall_timeout: limits.response_stall_timeout,
            read_bytes_min: read_bytes_min(limits),
        };
        let now = Instant::now();
        let mut wire = Self {
            stream,
            position,
            held: first,
            checked,
            activity,
            limits,
            timer: Box::pin(tokio::time::sleep(limits.header_timeout)),
            timer_is_for_check: false,
            idle_since: now,
            calls_seen: 0,
            closing: false,
            next_tick: now + limits.stall_timeout / STALL_TICKS,
            stalled_since: None,
            pace: Pace::default(),
            head_since: None,
            blocked_since: None,
            lingering: None,
        };
        if protocol == Protocol::Http1 {
            wire.check_held();
        }
        wire
    }

    /// Returns the socket and the unread input.
    pub(crate) fn into_parts(self) -> (S, BytesMut) {
        (self.stream, self.held)
    }

    /// Tracks the next input bytes and returns how many of them hyper may read.
    ///
    /// # Errors
    /// The same count, and the rejection of what follows.
    fn follow(&mut self, bytes: &[u8]) -> Result<usize, (usize, Rejection)> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.position {
                Position::Head(head) => {
                    let whole = head.advance(rest, self.limits.head).map_err(|rejection| (at, rejection))?;
                    let Some((end, framing)) = whole else { break };
                    at += end;
                    self.position = Position::after(framing, self.limits.head);
                }
                Position::Body(left) => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    at += here;
                    *left -= here as u64;
                    if *left == 0 {
                        self.position = Position::Head(Head::default());
                    }
                }
                Position::Chunks(chunks) => {
                    // The end of the body is unknown, so no later byte may pass as a request. hyper accepts some bodies
                    // that are rejected here, and reaches the end of the input within the body instead.
                    let Ok(here) = chunks.advance(rest) else {
                        self.position = Position::Rejected;
                        return Ok(at);
                    };
                    at += here;
                    if chunks.is_done() {
                        self.position = Position::Head(Head::default());
                    }
                }
                Position::Rejected | Position::Through => return Ok(bytes.len()),
            }
        }
        Ok(at)
    }

    /// Tracks the held input, none of which was checked before.
    fn check_held(&mut self) {
        let held = std::mem::take(&mut self.held);
        let followed = self.follow(&held);
        self.held = held;
        match followed {
            Ok(checked) => {
                self.checked = checked;
                if checked > 0 {
                    self.head_since = None;
                }
                self.discard_blank_lines();
            }
            Err((checked, rejection)) => {
                self.checked = checked;
                self.reject(rejection);
            }
        }
    }

    /// Discards blank lines between requests. They do not begin a request and start no deadline.
    fn discard_blank_lines(&mut self) {
        if let Position::Head(head) = &mut self.position
            && head.is_blank()
        {
            *head = Head::default();
            self.held.truncate(self.checked);
        }
    }

    /// Ends the input with the stand-in after the checked bytes, and discards the rest of the held input.
    fn reject(&mut self, rejection: Rejection) {
        self.activity.closing.reject(rejection);
        self.position = Position::Rejected;
        self.held.truncate(self.checked);
        self.held.extend_from_slice(STAND_IN);
        self.checked = self.held.len();
    }
}

impl Position {
    fn after(framing: Framing, limits: HeadLimits) -> Self {
        match framing {
            Framing::Length(0) => Position::Head(Head::default()),
            Framing::Length(bytes) => Position::Body(bytes),
            Framing::Chunked => Position::Chunks(Chunked::new(limits.bytes_max)),
        }
    }
}

impl<S: AsyncRead + Unpin> GuardedIo<S> {
    /// Reads once from the socket and tracks the input. Returns true at the end of the input.
    fn poll_more(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<bool>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        if buf.filled().len() == before {
            return Poll::Ready(Ok(true));
        }
        if !self.held.is_empty() {
            self.held.extend_from_slice(&buf.filled()[before..]);
            buf.set_filled(before);
            self.check_held();
            return Poll::Ready(Ok(false));
        }
        match self.follow(&buf.filled()[before..]) {
            Ok(checked) => {
                self.held.extend_from_slice(&buf.filled()[before + checked..]);
                buf.set_filled(before + checked);
                self.discard_blank_lines();
            }
            Err((checked, rejection)) => {
                buf.set_filled(before + checked);
                self.reject(rejection);
            }
        }
        Poll::Ready(Ok(false))
    }

    /// Waits for input until a deadline passes, and then acts on the deadline.
    ///
    /// # Errors
    /// The client reads nothing of a response (an HTTP/2 window that stays closed), or the connection is still open one
    /// idle timeout after it was asked to close.
    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.position {
            Position::Head(_) if !self.held.is_empty() => {
                let since = *self.head_since.get_or_insert_with(Instant::now);
                ready!(self.poll_deadline(cx, since + self.limits.header_timeout));
                self.head_since = None;
                self.reject(HEAD_TOO_SLOW);
            }
            Position::Head(_) | Position::Through
                if self.activity.calls.running() == 0 || self.activity.backlog.is_any() =>
            {
                return self.poll_timeouts(cx).map(Err);
            }
            // A running call has no deadline here, and the reader of a body has its own timeout.
            Position::Head(_) | Position::Through | Position::Body(_) | Position::Chunks(_) | Position::Rejected => {
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> GuardedIo<S> {
    /// Waits for the beginning of a request while hyper does not read, and holds it. Returns false if the client has
    /// disconnected or the connection was idle for too long.
    pub(crate) async fn next_request(&mut self) -> bool {
        let comes = std::future::poll_fn(|cx| self.poll_next_request(cx)).await;
        self.activity.closing.take_idle();
        comes
    }

    fn poll_next_request(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        while self.held.is_empty() {
            match self.poll_byte(cx) {
                Poll::Ready(Ok(true)) => {}
                Poll::Ready(Ok(false) | Err(_)) => return Poll::Ready(false),
                Poll::Pending if self.poll_timeouts(cx).is_ready() || self.closing => return Poll::Ready(false),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(true)
    }

    /// Reads one byte of the next request, which is enough to know that a request comes. Returns false at the end of
    /// the input.
    fn poll_byte(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut byte = [0];
        let mut buf = ReadBuf::new(&mut byte);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buf))?;
        if buf.filled().is_empty() {
            return Poll::Ready(Ok(false));
        }
        self.held.extend_from_slice(buf.filled());
        self.check_held();
        Poll::Ready(Ok(true))
    }

    /// Fails if the client of a response of unlimited length has disconnected. hyper does not read during a response,
    /// so it would notice only at the second failed write, which may come much later.
    fn check_disconnect(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let is_after_request = matches!(self.position, Position::Head(_)) && self.held.is_empty();
        if !is_after_request || !self.activity.calls.has_endless() {
            return Ok(());
        }
        match self.poll_byte(cx)? {
            Poll::Ready(false) => Err(io::ErrorKind::BrokenPipe.into()),
            Poll::Ready(true) | Poll::Pending => Ok(()),
        }
    }
}

impl<S> GuardedIo<S> {
    /// Checks periodically whether the connection is idle or its client reads too little of a response, and asks it to
    /// close. Ready once the connection must end immediately.
    fn poll_timeouts(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        // The timer was polled before, so it wakes this connection at the next check.
        if self.timer_is_for_check && !self.timer.is_elapsed() {
            return Poll::Pending;
        }
        loop {
            let now = Instant::now();
            if self.check_idle(now) || self.check_stalled(now) {
                return Poll::Ready(stuck());
            }
            let mut next =
                (self.idle_since + self.idle_timeout()).min(now + self.idle_timeout() / CHECKS_PER_IDLE_TIMEOUT);
            if self.activity.backlog.is_any() {
                next = next.min(self.next_tick);
            }
            if let Some(since) = self.stalled_since {
                next = next.min(since + LINGER);
            }
            self.timer.as_mut().reset(next);
            self.timer_is_for_check = true;
            ready!(self.timer.as_mut().poll(cx));
        }
    }

    /// The idle timeout. Before its first request, a connection has the timeout of a head.
    fn idle_timeout(&self) -> Duration {
        if self.activity.calls.started() == 0 { self.limits.header_timeout } else { self.limits.idle_timeout }
    }

    /// Asks the connection to close after the idle timeout. Input that begins no call, such as blank lines or HTTP/2
    /// pings, does not count as activity. Returns true one more idle timeout later.
    fn check_idle(&mut self, now: Instant) -> bool {
        let started = self.activity.calls.started();
        if self.calls_seen != started || self.activity.calls.running() > 0 || self.activity.backlog.is_any() {
            self.calls_seen = started;
            self.idle_since = now;
        } else if started > 0 && matches!(self.position, Position::Head(_)) && self.held.is_empty() {
            self.activity.closing.set_idle();
        }
        if now < self.idle_since + self.idle_timeout() {
            return false;
        }
        let was_asked = std::mem::replace(&mut self.closing, true);
        self.activity.closing.request();
        self.idle_since = now;
        was_asked
    }

    /// Asks the connection to close if the client read nothing of a response for the stall timeout, or reads below the
    /// minimum rate. Returns true soon after, because only a client that reads its responses can close in order.
    fn check_stalled(&mut self, now: Instant) -> bool {
        if now >= self.next_tick {
            self.next_tick = now + self.limits.stall_timeout / STALL_TICKS;
            let is_slow = if self.activity.backlog.is_any() {
                self.pace.tick(self.activity.backlog.held.read_bytes(), self.limits.read_bytes_min)
            } else {
                self.pace.reset();
                false
            };
            if (self.activity.backlog.pending.tick() || is_slow) && self.stalled_since.is_none() {
                self.stalled_since = Some(now);
                self.activity.closing.set_stalled();
                self.activity.closing.request();
            }
        }
        self.stalled_since.is_some_and(|since| now >= since + LINGER)
    }

    /// Ready once `deadline` has passed.
    fn poll_deadline(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        self.timer_is_for_check = false;
        if self.timer.deadline() != deadline {
            self.timer.as_mut().reset(deadline);
        }
        self.timer.as_mut().poll(cx)
    }

    /// Applies the stall timeout while a write blocks, and reports the blocked write to the drain.
    fn watch_write<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.blocked_since.take().is_some() {
                self.activity.backlog.set_write_blocked(false);
            }
            return written;
        }
        let since = *self.blocked_since.get_or_insert_with(|| {
            self.activity.backlog.set_write_blocked(true);
            Instant::now()
        });
        ready!(self.poll_deadline(cx, since + self.limits.stall_timeout));
        self.activity.closing.set_stalled();
        Poll::Ready(Err(stuck()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for GuardedIo<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let wire = &mut *self;
        let before = buf.filled().len();
        loop {
            if wire.checked > 0 {
                let here = wire.checked.min(buf.remaining());
                buf.put_slice(&wire.held[..here]);
                wire.held.advance(here);
                wire.checked -= here;
                if wire.held.is_empty() {
                    wire.held = BytesMut::new();
                }
                return Poll::Ready(Ok(()));
            }
            if matches!(wire.position, Position::Rejected) {
                return Poll::Ready(Ok(()));
            }
            match wire.poll_more(cx, buf) {
                Poll::Ready(ended) => {
                    if ended? || buf.filled().len() > before {
                        return Poll::Ready(Ok(()));
                    }
                }
                Poll::Pending => {
                    ready!(wire.poll_wait(cx))?;
                    // The driver of an idle connection was asked to close it. A late head has a stand-in, which the
                    // loop passes on.
                    if wire.checked == 0 {
                        return Poll::Pending;
                    }
                }
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for GuardedIo<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let stream = Pin::new(&mut self.stream);
        let mut joined = [0; JOINED_BYTES_MAX];
        let written = match join(bytes, &mut joined) {
            Some(length) => stream.poll_write(cx, &joined[..length]),
            None => stream.poll_write_vectored(cx, bytes),
        };
        self.watch_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_disconnect(cx)?;
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch_write(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = &mut *self;
        if wire.lingering.is_none() {
            let shut = Pin::new(&mut wire.stream).poll_shutdown(cx);
            ready!(wire.watch_write(cx, shut))?;
            if matches!(wire.position, Position::Head(_) | Position::Through) && wire.held.is_empty() {
                return Poll::Ready(Ok(()));
            }
            wire.lingering = Some(0);
            let is_in_body = matches!(wire.position, Position::Body(_) | Position::Chunks(_));
            wire.timer.as_mut().reset(Instant::now() + if is_in_body { LINGER_IN_BODY } else { LINGER });
        }
        wire.poll_linger(cx).map(Ok)
    }
}

impl<S: AsyncRead + Unpin> GuardedIo<S> {
    /// Reads and discards input until the client closes its side, or until a limit.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut scrap = [0; 16 * 1024];
        while let Some(discarded) = &mut self.lingering {
            let mut buf = ReadBuf::new(&mut scrap);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    *discarded += buf.filled().len();
                    if *discarded > self.activity.closing.linger_bytes() {
                        return Poll::Ready(());
                    }
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.timer.as_mut().poll(cx),
            }
        }
        Poll::Ready(())
    }
}

fn stuck() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the client does not take the response")
}

/// Copies `pieces` into `joined`. Returns the length, or `None` if they do not fit.
fn join(pieces: &[IoSlice<'_>], joined: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    for piece in pieces {
        joined.get_mut(length..length + piece.len())?.copy_from_slice(piece);
        length += piece.len();
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// The server's and the client's side of a connection during the response to its first request.
    async fn responding() -> (GuardedIo<tokio::io::DuplexStream>, tokio::io::DuplexStream, Arc<Activity>) {
        let (client, server) = tokio::io::duplex(1024);
        let limits = Limits::default();
        let activity = Arc::new(Activity::new(&limits));
        let first = BytesMut::from("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
        let mut wire = GuardedIo::new(server, Protocol::Http1, first, Arc::clone(&activity), &limits);
        assert!(wire.read_u8().await.is_ok());
        while wire.checked > 0 {
            wire.read_u8().await.unwrap();
        }
        (wire, client, activity)
    }

    #[tokio::test]
    async fn disconnect_during_an_endless_response_is_detected_without_a_write() {
        let (mut wire, client, activity) = responding().await;
        let _endless = activity.begin_endless();
        assert!(wire.flush().await.is_ok());
        drop(client);
        assert_eq!(wire.flush().await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn half_closed_client_still_gets_a_finite_response() {
        let (mut wire, mut client, activity) = responding().await;
        client.shutdown().await.unwrap();
        assert!(wire.flush().await.is_ok());
        drop(activity.begin_endless());
        assert!(wire.flush().await.is_ok());
    }

    #[tokio::test]
    async fn request_after_an_endless_response_is_held() {
        let (mut wire, mut client, activity) = responding().await;
        let endless = activity.begin_endless();
        client.write_all(b"GET /next HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        assert!(wire.flush().await.is_ok());
        assert!(wire.flush().await.is_ok());
        drop(endless);
        let mut next = [0; 9];
        wire.read_exact(&mut next).await.unwrap();
        assert_eq!(&next, b"GET /next");
    }
}
