//! The body of a response: complete bytes, or a stream that a producer writes while it is sent.
//!
//! A stream holds at most a few pieces: its producer waits for the client. It ends when its producer finishes, the
//! client disconnects, the server drains, or the caller loses access ([`Body::until`]). A stream that ends before its
//! producer finishes breaks off, so that no client mistakes a part for the whole. An endless stream ([`Ending::Never`])
//! ends normally.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::future::BoxFuture;
use hyper::body::{Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::Interval;

use super::response_progress::ResponseProgress;
use crate::wire::activity::{Activity, CallGuard, EndlessGuard};
use convoke_core::answer::budget::{Budget, Charge};
use convoke_core::answer::pieces::{Piece, Pieces};

/// Largest number of unsent pieces. Above it, the producer waits.
const UNSENT_PIECES_MAX: usize = 16;
/// Interval of the blank lines in an endless stream without data.
const BLANK_LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Interval of the comments in a stream of events without data.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);

/// The way in which a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The stream is complete when its producer calls [`BodySender::finish`], and broken if it ends before.
    Whole,
    /// The stream consists of lines and continues until the client, the server or the caller's access ends it. A blank
    /// line every ten seconds detects a client that has disconnected. Readers ignore blank lines.
    Never,
    /// The stream consists of server-sent events and continues until the client, the server or the caller's access ends
    /// it. A comment every 15 seconds detects a client that has disconnected. At most one piece is unsent, so that the
    /// producer of events does not run ahead of a slow client.
    Events,
}

impl Ending {
    /// True if the stream is endless.
    fn is_endless(self) -> bool {
        self != Ending::Whole
    }

    /// The interval and the bytes of the keep-alive.
    fn keep_alive(self) -> (Duration, &'static [u8]) {
        match self {
            Ending::Whole | Ending::Never => (BLANK_LINE_INTERVAL, b"\n"),
            Ending::Events => (COMMENT_INTERVAL, b":\n\n"),
        }
    }
}

/// The body of a [`Reply`](crate::Reply).
pub struct Body(Kind);

enum Kind {
    Whole(Pieces),
    Stream(Box<Stream>),
}

struct Stream {
    pieces: mpsc::Receiver<Piece>,
    finished: Arc<AtomicBool>,
    ending: Ending,
    /// The last piece of a stream that is cut.
    farewell: Option<Bytes>,
    /// The remaining bytes, if known.
    length: Option<u64>,
    until: Vec<BoxFuture<'static, ()>>,
    is_cut: bool,
    alive: Option<Interval>,
}

/// The producer's side of a stream.
pub struct BodySender {
    pieces: mpsc::Sender<Piece>,
    finished: Arc<AtomicBool>,
}

/// The error of a stream that was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream was cut: its reader has disconnected or has lost access")]
pub struct Gone;

/// The error of a stream that ended before its producer finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the response broke off before its end")]
pub struct Broken;

impl BodySender {
    /// Sends the next piece (about 64 KiB at most). Waits while too many pieces are unsent.
    ///
    /// # Errors
    /// [`Gone`]: the stream is cut, and the producer must stop.
    pub async fn send(&self, piece: impl Into<Bytes>) -> Result<(), Gone> {
        self.send_piece(piece.into().into()).await
    }

    /// Sends like [`BodySender::send`], with the charge of the piece.
    ///
    /// # Errors
    /// [`Gone`].
    pub async fn send_piece(&self, piece: Piece) -> Result<(), Gone> {
        self.pieces.send(piece).await.map_err(|_| Gone)
    }

    /// Sends like [`BodySender::send`], on a thread that may block.
    ///
    /// # Errors
    /// [`Gone`].
    pub fn send_blocking(&self, piece: impl Into<Bytes>) -> Result<(), Gone> {
        self.pieces.blocking_send(piece.into().into()).map_err(|_| Gone)
    }

    /// Sends the piece without waiting. Returns false if too many pieces are unsent.
    ///
    /// # Errors
    /// [`Gone`].
    pub fn try_send(&self, piece: impl Into<Bytes>) -> Result<bool, Gone> {
        match self.pieces.try_send(piece.into().into()) {
            Ok(()) => Ok(true),
            Err(mpsc::error::TrySendError::Full(_)) => Ok(false),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(Gone),
        }
    }

    /// Waits until the stream is cut.
    pub async fn gone(&self) {
        self.pieces.closed().await;
    }

    /// Marks the stream as complete. A finite stream breaks off if the sender is dropped without this call.
    pub fn finish(self) {
        self.finished.store(true, Ordering::Release);
    }
}

impl Body {
    /// Creates a stream and the sender of its pieces.
    pub fn stream(ending: Ending) -> (BodySender, Self) {
        let unsent_max = if ending == Ending::Events { 1 } else { UNSENT_PIECES_MAX };
        let (sender, pieces) = mpsc::channel(unsent_max);
        let finished = Arc::new(AtomicBool::new(false));
        let stream = Stream {
            pieces,
            finished: finished.clone(),
            ending,
            farewell: None,
            length: None,
            until: Vec::new(),
            is_cut: false,
            alive: None,
        };
        (BodySender { pieces: sender, finished }, Self(Kind::Stream(Box::new(stream))))
    }

    /// Sets the length of a stream, for `Content-Length`.
    #[must_use]
    pub fn with_length(mut self, bytes: u64) -> Self {
        if let Kind::Stream(stream) = &mut self.0 {
            stream.length = Some(bytes);
        }
        self
    }

    /// Sets the last piece of a stream that is cut.
    #[must_use]
    pub fn with_farewell(mut self, last: impl Into<Bytes>) -> Self {
        if let Kind::Stream(stream) = &mut self.0 {
            stream.farewell = Some(last.into());
        }
        self
    }

    /// Cuts a stream when `end` completes. Does nothing for complete bytes.
    #[must_use]
    pub fn until(mut self, end: impl Future<Output = ()> + Send + 'static) -> Self {
        if let Kind::Stream(stream) = &mut self.0 {
            stream.until.push(Box::pin(end));
        }
        self
    }

    /// True if the body is a stream.
    pub fn is_stream(&self) -> bool {
        matches!(self.0, Kind::Stream(_))
    }

    /// True if the body is an endless stream.
    fn is_endless(&self) -> bool {
        matches!(&self.0, Kind::Stream(stream) if stream.ending.is_endless())
    }

    /// Returns all bytes, or `None` for a stream.
    pub fn whole(&self) -> Option<Cow<'_, [u8]>> {
        match &self.0 {
            Kind::Whole(pieces) => Some(pieces.joined()),
            Kind::Stream(_) => None,
        }
    }

    /// Returns all bytes, shared if they are one piece, or `None` for a stream.
    pub(crate) fn shared(&self) -> Option<Bytes> {
        match &self.0 {
            Kind::Whole(pieces) => Some(pieces.shared()),
            Kind::Stream(_) => None,
        }
    }

    /// Charges complete bytes that are not charged yet. A stream holds few bytes at a time.
    pub(crate) fn charge(&mut self, budget: &Arc<Budget>) {
        if let Kind::Whole(pieces) = &mut self.0 {
            pieces.charge(budget);
        }
    }

    /// The number of charged bytes.
    fn charged(&self) -> usize {
        match &self.0 {
            Kind::Whole(pieces) => pieces.charged(),
            Kind::Stream(_) => 0,
        }
    }

    pub(crate) fn length(&self) -> Option<u64> {
        match &self.0 {
            Kind::Whole(pieces) => Some(pieces.len() as u64),
            Kind::Stream(stream) => stream.length,
        }
    }

    /// Returns the next piece, for readers in this process; `None` at the end.
    ///
    /// # Errors
    /// [`Broken`].
    pub async fn next(&mut self) -> Option<Result<Bytes, Broken>> {
        let next = std::future::poll_fn(|cx| self.poll_next(cx)).await;
        next.map(|piece| piece.map(|piece| piece.bytes))
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Piece, Broken>>> {
        match &mut self.0 {
            Kind::Whole(pieces) => Poll::Ready(pieces.pop().map(Ok)),
            Kind::Stream(stream) => stream.poll_next(cx),
        }
    }
}

impl Stream {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Piece, Broken>>> {
        if !self.is_cut && self.until.iter_mut().any(|end| end.as_mut().poll(cx).is_ready()) {
            self.is_cut = true;
            self.until.clear();
            // The producer gets the error at its next piece. Pieces that are already queued are still sent.
            self.pieces.close();
        }
        match self.pieces.poll_recv(cx) {
            Poll::Ready(Some(piece)) => {
                self.length = self.length.map(|left| left.saturating_sub(piece.bytes.len() as u64));
                Poll::Ready(Some(Ok(piece)))
            }
            Poll::Ready(None) if self.is_cut && self.farewell.is_some() => {
                Poll::Ready(self.farewell.take().map(|last| Ok(last.into())))
            }
            Poll::Ready(None) => {
                let finished = self.finished.load(Ordering::Acquire);
                let is_whole = finished || self.ending.is_endless() && self.is_cut;
                Poll::Ready(if is_whole { None } else { Some(Err(Broken)) })
            }
            Poll::Pending if self.ending.is_endless() => {
                let (interval, bytes) = self.ending.keep_alive();
                let alive = self
                    .alive
                    .get_or_insert_with(|| tokio::time::interval_at(tokio::time::Instant::now() + interval, interval));
                alive.poll_tick(cx).map(|_| Some(Ok(Bytes::from_static(bytes).into())))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Default for Body {
    fn default() -> Self {
        Self(Kind::Whole(Pieces::default()))
    }
}

/// Converts complete bytes, in one or more pieces.
impl<P: Into<Pieces>> From<P> for Body {
    fn from(pieces: P) -> Self {
        Self(Kind::Whole(pieces.into()))
    }
}

/// Shows complete bytes as text, and a stream as `stream`.
impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Kind::Whole(pieces) => write!(f, "{:?}", Bytes::from(pieces.joined().into_owned())),
            Kind::Stream(_) => f.write_str("stream"),
        }
    }
}

/// A body that is being sent. A stream counts as a call until it ends, so the drain and the idle timeout wait for it.
pub(crate) struct ResponseBody {
    body: Body,
    connection: Arc<Activity>,
    /// The progress of the response, while pieces of it are unread.
    response: Weak<ResponseProgress>,
    _call: Option<CallGuard>,
    _endless: Option<EndlessGuard>,
}

impl ResponseBody {
    pub(crate) fn new(body: Body, call: CallGuard, connection: Arc<Activity>) -> Self {
        connection.backlog.held.add(body.charged());
        let call = body.is_stream().then_some(call);
        let endless = body.is_endless().then(|| connection.begin_endless());
        Self { body, connection, response: Weak::new(), _call: call, _endless: endless }
    }
}

/// Releases the bytes that were not sent.
impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.connection.backlog.held.release(self.body.charged());
    }
}

/// The error of a stream that breaks off resets the connection (HTTP/1) or the stream (HTTP/2).
impl hyper::body::Body for ResponseBody {
    type Data = OutgoingPiece;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<OutgoingPiece>, Broken>>> {
        let this = &mut *self;
        let is_stream = this.body.is_stream();
        this.body.poll_next(cx).map(|piece| {
            piece.map(|piece| {
                // Complete bytes are held since the response began.
                if is_stream && let Ok(Piece { charge: Some(charge), .. }) = &piece {
                    this.connection.backlog.held.add(charge.bytes());
                }
                let response = this.response.upgrade().unwrap_or_else(|| {
                    let response = Arc::new(ResponseProgress::new(Arc::clone(&this.connection)));
                    this.response = Arc::downgrade(&response);
                    response
                });
                piece.map(|piece| Frame::data(OutgoingPiece { piece, response }))
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.length() == Some(0) && !self.body.is_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.length().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// A piece of a response that hyper is sending. hyper advances it as the socket accepts its bytes.
pub(crate) struct OutgoingPiece {
    piece: Piece,
    response: Arc<ResponseProgress>,
}

impl Buf for OutgoingPiece {
    fn remaining(&self) -> usize {
        self.piece.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.piece.bytes
    }

    fn advance(&mut self, bytes: usize) {
        self.piece.bytes.advance(bytes);
        if bytes > 0 {
            self.response.record_read(bytes);
        }
    }
}

impl Drop for OutgoingPiece {
    fn drop(&mut self) {
        self.response.connection().backlog.held.release(self.piece.charge.as_ref().map_or(0, Charge::bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(mut body: Body) -> (Vec<u8>, bool) {
        let mut bytes = Vec::new();
        loop {
            match body.next().await {
                None => return (bytes, true),
                Some(Err(Broken)) => return (bytes, false),
                Some(Ok(piece)) => bytes.extend_from_slice(&piece),
            }
        }
    }

    #[tokio::test]
    async fn stream_is_complete_when_its_producer_finishes() {
        let (sender, body) = Body::stream(Ending::Whole);
        tokio::spawn(async move {
            for number in 0..100u8 {
                sender.send(vec![number]).await.unwrap();
            }
            sender.finish();
        });
        let (bytes, whole) = all(body).await;
        assert_eq!((bytes.len(), whole), (100, true));
    }

    #[tokio::test]
    async fn dropped_producer_breaks_the_stream() {
        let (sender, body) = Body::stream(Ending::Whole);
        assert!(sender.try_send("half").unwrap());
        drop(sender);
        assert_eq!(all(body).await, (b"half".to_vec(), false));
    }

    #[tokio::test]
    async fn producer_waits_for_its_reader_and_sees_its_disconnect() {
        let (sender, body) = Body::stream(Ending::Never);
        while sender.try_send("x").unwrap() {}
        drop(body);
        sender.gone().await;
        assert_eq!(sender.send("x").await, Err(Gone));
    }

    #[tokio::test(start_paused = true)]
    async fn endless_stream_sends_keep_alives_and_ends_normally_when_it_is_cut() {
        let (sender, body) = Body::stream(Ending::Never);
        let body = body.until(tokio::time::sleep(Duration::from_secs(25)));
        sender.send("a\n").await.unwrap();
        assert_eq!(all(body).await, (b"a\n\n\n".to_vec(), true));
        assert_eq!(sender.send("b\n").await, Err(Gone));
    }

    #[tokio::test(start_paused = true)]
    async fn stream_of_events_queues_one_event_and_ends_with_its_last_piece() {
        let (sender, body) = Body::stream(Ending::Events);
        let body = body.until(tokio::time::sleep(Duration::from_secs(40))).with_farewell("event: end\n\n");
        assert!(sender.try_send("a\n\n").unwrap());
        assert!(!sender.try_send("b\n\n").unwrap());
        assert_eq!(all(body).await, (b"a\n\n:\n\n:\n\nevent: end\n\n".to_vec(), true));
    }

    #[tokio::test(start_paused = true)]
    async fn finite_stream_breaks_when_it_is_cut() {
        let (sender, body) = Body::stream(Ending::Whole);
        let body = body.until(tokio::time::sleep(Duration::from_secs(25)));
        sender.send("a").await.unwrap();
        assert_eq!(all(body).await, (b"a".to_vec(), false));
    }
}
