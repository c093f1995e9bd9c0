//! The socket as hyper sees it: only checked heads come in, and nothing may take forever.
//!
//! hyper reads HTTP/1 from a [`GuardedIo`], which follows where each request begins and ends, holds back a head until it is
//! whole, and checks it (see [`head`](super::head)). In place of a head that breaks a rule, comes too slowly or grows
//! too large, hyper gets [`STAND_IN`], which the service answers with the refusal. So a refusal is an ordinary
//! response: it waits for the answers to the requests before it, has a request id, and closes the connection in good
//! order.
//!
//! A head that comes in one piece, as nearly all do, is checked where hyper wants it and not copied. Deadlines cost a
//! request nothing: each connection has one timer, and how long it has been idle, or has taken nothing of a response,
//! is told by looking now and then, not by asking the clock after every call.

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

/// A request that no client can send, since [`Head`] refuses its target: the service answers it with
/// [`Closing::rejection`](super::closing::Closing::rejection).
const STAND_IN: &[u8] = b"GET * HTTP/1.1\r\nhost: refused\r\n\r\n";

/// How long unread input is awaited after the last response, and the rest of a body whose request was refused: a client
/// that writes all of a body before it reads would lose the answer.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_IN_BODY: Duration = Duration::from_secs(5);

/// How often, within the time a connection may be idle, it is looked at.
const LOOKS: u32 = 8;

/// Pieces of a response up to this many bytes in all are joined: copying them costs less than a vectored write.
const JOINED_BYTES_MAX: usize = 1024;

const HEAD_TOO_SLOW: Rejection =
    Rejection { code: Code::RequestTimeout, message: "The request's head did not arrive in time." };

/// The protocol that the first bytes of a connection tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Followed and checked here.
    Http1,
    /// Passed through: h2 frames and checks for itself.
    Http2,
}

/// A socket, its place in the protocol, and its deadlines.
pub(crate) struct GuardedIo<S> {
    stream: S,
    place: Place,
    /// Input that hyper has not got yet: first what is checked, then the beginning of a head.
    held: BytesMut,
    checked: usize,
    activity: Arc<Activity>,
    limits: GuardedIoLimits,
    timer: Pin<Box<Sleep>>,
    /// Whether the timer is set for the next look, and nothing else.
    timer_is_for_look: bool,
    /// Since when at least the connection has been idle, and how many calls it had begun by then.
    idle_since: Instant,
    calls_seen: u64,
    /// Whether the connection was asked to close for being idle.
    closing: bool,
    /// When the next tick of the responses that are not taken is due, and since when one of them is stalled.
    next_tick: Instant,
    stalled_since: Option<Instant>,
    pace: Pace,
    /// Since when the head that is held has been awaited.
    head_since: Option<Instant>,
    /// Since when the client has not taken what was written.
    blocked_since: Option<Instant>,
    /// After the last response: how much of unread input was thrown away.
    lingering: Option<usize>,
}

#[derive(Clone, Copy)]
struct GuardedIoLimits {
    head: HeadLimits,
    header_timeout: Duration,
    idle_timeout: Duration,
    stall_timeout: Duration,
    /// Bytes that a client must take in that time while responses wait for it.
    taken_min: u64,
}

/// Bytes that a client must take of its responses within the time after which one counts as stalled.
fn taken_min(limits: &Limits) -> u64 {
    let milliseconds = u64::try_from(limits.response_stall_timeout.as_millis()).unwrap_or(u64::MAX);
    limits.response_bytes_per_second_min.saturating_mul(milliseconds) / 1_000
}

/// Where in a request the next byte to come lies.
enum Place {
    Head(Head),
    Body(u64),
    Chunks(Chunked),
    /// Behind a rejected head: nothing more is read.
    Rejected,
    /// Not followed (HTTP/2).
    Through,
}

impl<S> GuardedIo<S> {
    /// A socket whose first bytes, of which there is at least one, were read already.
    pub(crate) fn new(
        stream: S,
        protocol: Protocol,
        first: BytesMut,
        activity: Arc<Activity>,
        limits: &Limits,
    ) -> Self {
        let (place, checked) = match protocol {
            Protocol::Http1 => (Place::Head(Head::default()), 0),
            Protocol::Http2 => (Place::Through, first.len()),
        };
        let limits = GuardedIoLimits {
            head: HeadLimits { bytes_max: limits.header_bytes_max, fields_max: limits.header_fields_max },
            header_timeout: limits.header_timeout,
            idle_timeout: limits.idle_timeout,
            stall_timeout: limits.response_stall_timeout,
            taken_min: taken_min(limits),
        };
        let now = Instant::now();
        let mut wire = Self {
            stream,
            place,
            held: first,
            checked,
            activity,
            limits,
            timer: Box::pin(tokio::time::sleep(limits.header_timeout)),
            timer_is_for_look: false,
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

    /// The socket, and input that nobody has got yet.
    pub(crate) fn into_parts(self) -> (S, BytesMut) {
        (self.stream, self.held)
    }

    /// Follows `bytes`, the next of the input, and returns how many of them hyper may have.
    ///
    /// # Errors
    /// The count, and why what comes behind it is refused.
    fn follow(&mut self, bytes: &[u8]) -> Result<usize, (usize, Rejection)> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.place {
                Place::Head(head) => {
                    let whole = head.advance(rest, self.limits.head).map_err(|refused| (at, refused))?;
                    let Some((end, framing)) = whole else { break };
                    at += end;
                    self.place = Place::behind(framing, self.limits.head);
                }
                Place::Body(left) => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    at += here;
                    *left -= here as u64;
                    if *left == 0 {
                        self.place = Place::Head(Head::default());
                    }
                }
                Place::Chunks(chunks) => {
                    // What follows cannot be told from the body any more, so nothing of it may pass as a request: hyper,
                    // which takes some of what is refused here, meets the end of the input within the body instead.
                    let Ok(here) = chunks.advance(rest) else {
                        self.place = Place::Rejected;
                        return Ok(at);
                    };
                    at += here;
                    if chunks.is_done() {
                        self.place = Place::Head(Head::default());
                    }
                }
                Place::Rejected | Place::Through => return Ok(bytes.len()),
            }
        }
        Ok(at)
    }

    /// Follows what is held; nothing of it was checked before.
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
                self.forget_blank_lines();
            }
            Err((checked, refused)) => {
                self.checked = checked;
                self.refuse(refused);
            }
        }
    }

    /// Blank lines between requests are no beginning of one: they start no deadline and are not kept.
    fn forget_blank_lines(&mut self) {
        if let Place::Head(head) = &mut self.place
            && head.is_blank()
        {
            *head = Head::default();
            self.held.truncate(self.checked);
        }
    }

    /// Ends the input with the stand-in, behind what is checked; what is held beyond that is forgotten.
    fn refuse(&mut self, refused: Rejection) {
        self.activity.closing.reject(refused);
        self.place = Place::Rejected;
        self.held.truncate(self.checked);
        self.held.extend_from_slice(STAND_IN);
        self.checked = self.held.len();
    }
}

impl Place {
    fn behind(framing: Framing, limits: HeadLimits) -> Self {
        match framing {
            Framing::Length(0) => Place::Head(Head::default()),
            Framing::Length(bytes) => Place::Body(bytes),
            Framing::Chunked => Place::Chunks(Chunked::new(limits.bytes_max)),
        }
    }
}

impl<S: AsyncRead + Unpin> GuardedIo<S> {
    /// Reads once from the socket and follows what came. `true` at the end of the input.
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
                self.forget_blank_lines();
            }
            Err((checked, refused)) => {
                buf.set_filled(before + checked);
                self.refuse(refused);
            }
        }
        Poll::Ready(Ok(false))
    }

    /// What to do while no input comes: nothing yet, or what its deadline demands.
    ///
    /// # Errors
    /// When the client takes nothing of a response (an HTTP/2 window that stays shut), or the connection was asked to
    /// close a whole idle time ago and is still there.
    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.place {
            Place::Head(_) if !self.held.is_empty() => {
                let since = *self.head_since.get_or_insert_with(Instant::now);
                ready!(self.poll_deadline(cx, since + self.limits.header_timeout));
                self.head_since = None;
                self.refuse(HEAD_TOO_SLOW);
            }
            Place::Head(_) | Place::Through if self.activity.calls.running() == 0 || self.activity.backlog.is_any() => {
                return self.poll_looks(cx).map(Err);
            }
            // While a call runs there is nothing to wait for, and within a body its reader keeps the time.
            Place::Head(_) | Place::Through | Place::Body(_) | Place::Chunks(_) | Place::Rejected => {
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> GuardedIo<S> {
    /// Waits for the beginning of a request while nobody reads, and keeps it. `false` if none comes: the client has left,
    /// or the connection was idle for too long.
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
                Poll::Pending if self.poll_looks(cx).is_ready() || self.closing => return Poll::Ready(false),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(true)
    }

    /// Reads one byte of a next request, which says as much as all of it. `false` at the end of the input.
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

    /// Fails once the client of a response without an end has gone. hyper reads nothing while it answers, so that it would
    /// learn of it by the second piece that it writes for nobody, and such a response may have nothing to say for long.
    fn notice_departure(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let nobody_reads = matches!(self.place, Place::Head(_)) && self.held.is_empty();
        if !nobody_reads || !self.activity.calls.has_endless() {
            return Ok(());
        }
        match self.poll_byte(cx)? {
            Poll::Ready(false) => Err(io::ErrorKind::BrokenPipe.into()),
            Poll::Ready(true) | Poll::Pending => Ok(()),
        }
    }
}

impl<S> GuardedIo<S> {
    /// Looks now and then whether the connection is idle or its client takes nothing of a response, and has it close
    /// then. Ready once it must end at once.
    fn poll_looks(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        // Set and polled before: it wakes this connection when it is time to look.
        if self.timer_is_for_look && !self.timer.is_elapsed() {
            return Poll::Pending;
        }
        loop {
            let now = Instant::now();
            if self.looks_idle(now) || self.looks_stalled(now) {
                return Poll::Ready(stuck());
            }
            let mut next = (self.idle_since + self.idle_timeout()).min(now + self.idle_timeout() / LOOKS);
            if self.activity.backlog.is_any() {
                next = next.min(self.next_tick);
            }
            if let Some(since) = self.stalled_since {
                next = next.min(since + LINGER);
            }
            self.timer.as_mut().reset(next);
            self.timer_is_for_look = true;
            ready!(self.timer.as_mut().poll(cx));
        }
    }

    /// A connection that has never asked for anything is held to the time for a first head.
    fn idle_timeout(&self) -> Duration {
        if self.activity.calls.started() == 0 { self.limits.header_timeout } else { self.limits.idle_timeout }
    }

    /// Asks the connection to close once it has been idle for its time. Input that begins no call, such as blank lines
    /// or HTTP/2 pings, does not end a pause. `true` once it was asked that long ago.
    fn looks_idle(&mut self, now: Instant) -> bool {
        let started = self.activity.calls.started();
        if self.calls_seen != started || self.activity.calls.running() > 0 || self.activity.backlog.is_any() {
            self.calls_seen = started;
            self.idle_since = now;
        } else if started > 0 && matches!(self.place, Place::Head(_)) && self.held.is_empty() {
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

    /// Asks the connection to close once nothing of a response was taken for its time, or less of all of them than the
    /// least rate. `true` soon after: only a client that takes them could end it in good order.
    fn looks_stalled(&mut self, now: Instant) -> bool {
        if now >= self.next_tick {
            self.next_tick = now + self.limits.stall_timeout / STALL_TICKS;
            let is_slow = if self.activity.backlog.is_any() {
                self.pace.tick(self.activity.backlog.held.taken(), self.limits.taken_min)
            } else {
                self.pace.reset();
                false
            };
            if (self.activity.backlog.untaken.tick() || is_slow) && self.stalled_since.is_none() {
                self.stalled_since = Some(now);
                self.activity.closing.set_stalled();
                self.activity.closing.request();
            }
        }
        self.stalled_since.is_some_and(|since| now >= since + LINGER)
    }

    /// Ready once `deadline` has passed.
    fn poll_deadline(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        self.timer_is_for_look = false;
        if self.timer.deadline() != deadline {
            self.timer.as_mut().reset(deadline);
        }
        self.timer.as_mut().poll(cx)
    }

    /// Keeps the time while the client does not take what was written, and tells the drain that it does not.
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
            if matches!(wire.place, Place::Rejected) {
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
                    // An idle connection is closed by its driver, which was asked to; a late head goes on above.
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
        self.notice_departure(cx)?;
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch_write(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = &mut *self;
        if wire.lingering.is_none() {
            let shut = Pin::new(&mut wire.stream).poll_shutdown(cx);
            ready!(wire.watch_write(cx, shut))?;
            if matches!(wire.place, Place::Head(_) | Place::Through) && wire.held.is_empty() {
                return Poll::Ready(Ok(()));
            }
            wire.lingering = Some(0);
            let is_in_body = matches!(wire.place, Place::Body(_) | Place::Chunks(_));
            wire.timer.as_mut().reset(Instant::now() + if is_in_body { LINGER_IN_BODY } else { LINGER });
        }
        wire.poll_linger(cx).map(Ok)
    }
}

impl<S: AsyncRead + Unpin> GuardedIo<S> {
    /// Reads on and throws away, until the client closes too or it has been enough.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut scrap = [0; 16 * 1024];
        while let Some(thrown_away) = &mut self.lingering {
            let mut buf = ReadBuf::new(&mut scrap);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    *thrown_away += buf.filled().len();
                    if *thrown_away > self.activity.closing.linger_bytes() {
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

/// Copies `pieces` into `joined`; the length, or `None` if they do not fit.
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

    /// The server's side of a connection whose first request is being answered, and the client's.
    async fn answering() -> (GuardedIo<tokio::io::DuplexStream>, tokio::io::DuplexStream, Arc<Activity>) {
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
    async fn whoever_leaves_a_response_without_an_end_is_noticed_though_nothing_is_written() {
        let (mut wire, client, activity) = answering().await;
        let _endless = activity.begin_endless();
        assert!(wire.flush().await.is_ok());
        drop(client);
        assert_eq!(wire.flush().await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn whoever_closes_their_side_still_gets_a_response_that_has_an_end() {
        let (mut wire, mut client, activity) = answering().await;
        client.shutdown().await.unwrap();
        assert!(wire.flush().await.is_ok());
        drop(activity.begin_endless());
        assert!(wire.flush().await.is_ok());
    }

    #[tokio::test]
    async fn a_request_behind_a_response_without_an_end_is_kept() {
        let (mut wire, mut client, activity) = answering().await;
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
