//! What a response consists of: whole bytes, or a stream that somebody produces while it is sent.
//!
//! A stream holds a few pieces at most: who produces it waits for the client. It ends when its producer is done, when
//! the client goes away, when the server drains, and when the caller may no longer have it ([`Body::until`]). A
//! stream that ends before its producer was done breaks off, so that nobody takes a part for the whole; one that has no
//! end of its own ([`Ending::Never`]) is simply over.

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

/// Pieces that wait to be sent; a producer that is ahead of them waits.
const PIECES_WAITING_MAX: usize = 16;
/// Between two signs of life of a stream that may have nothing to say for long.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// The same of one of events.
const COMMENT: Duration = Duration::from_secs(15);

/// Whether a stream has an end of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is whole when its producer says so ([`BodySender::finish`]), and broken if it ends before.
    Whole,
    /// It goes on until somebody has enough, in lines. A blank line every ten seconds tells a client that has gone away
    /// from one that only waits; readers pass over it.
    Never,
    /// It goes on until somebody has enough, in server-sent events. Comments every 15 seconds tell a client that has gone
    /// away from one that only waits. One piece waits at most: who makes events makes none ahead of a slow client.
    Events,
}

impl Ending {
    /// Whether it has none.
    fn is_open(self) -> bool {
        self != Ending::Whole
    }

    /// How often it says that it is alive, and how.
    fn sign_of_life(self) -> (Duration, &'static [u8]) {
        match self {
            Ending::Whole | Ending::Never => (SIGN_OF_LIFE, b"\n"),
            Ending::Events => (COMMENT, b":\n\n"),
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
    /// What is sent when it is cut.
    farewell: Option<Bytes>,
    /// Bytes that are still to come, where that is known.
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

/// Nobody takes the stream any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream was cut: its reader is gone, or may no longer have it")]
pub struct Gone;

/// The stream ended before its producer was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the response broke off before its end")]
pub struct Broken;

impl BodySender {
    /// Sends the next piece (some 64 KiB at most), when there is room for it.
    ///
    /// # Errors
    /// [`Gone`]: produce no more.
    pub async fn send(&self, piece: impl Into<Bytes>) -> Result<(), Gone> {
        self.send_piece(piece.into().into()).await
    }

    /// As [`BodySender::send`], with what it is charged to.
    ///
    /// # Errors
    /// [`Gone`].
    pub async fn send_piece(&self, piece: Piece) -> Result<(), Gone> {
        self.pieces.send(piece).await.map_err(|_| Gone)
    }

    /// As [`BodySender::send`], on a thread that may block.
    ///
    /// # Errors
    /// [`Gone`].
    pub fn send_blocking(&self, piece: impl Into<Bytes>) -> Result<(), Gone> {
        self.pieces.blocking_send(piece.into().into()).map_err(|_| Gone)
    }

    /// Sends the piece if there is room for it now; `false` if there is none.
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

    /// Waits until nobody takes the stream any more.
    pub async fn gone(&self) {
        self.pieces.closed().await;
    }

    /// The stream is whole. Dropped without this, one with an end breaks off.
    pub fn finish(self) {
        self.finished.store(true, Ordering::Release);
    }
}

impl Body {
    /// A stream, and what produces it.
    pub fn stream(ending: Ending) -> (BodySender, Self) {
        let waiting_max = if ending == Ending::Events { 1 } else { PIECES_WAITING_MAX };
        let (sender, pieces) = mpsc::channel(waiting_max);
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

    /// A stream of so many bytes, which the client is told before.
    #[must_use]
    pub fn with_length(mut self, bytes: u64) -> Self {
        if let Kind::Stream(stream) = &mut self.0 {
            stream.length = Some(bytes);
        }
        self
    }

    /// What is sent at the end of a stream that is cut.
    #[must_use]
    pub fn with_farewell(mut self, last: impl Into<Bytes>) -> Self {
        if let Kind::Stream(stream) = &mut self.0 {
            stream.farewell = Some(last.into());
        }
        self
    }

    /// Cuts a stream when `end` is over; whole bytes are sent at once anyway.
    #[must_use]
    pub fn until(mut self, end: impl Future<Output = ()> + Send + 'static) -> Self {
        if let Kind::Stream(stream) = &mut self.0 {
            stream.until.push(Box::pin(end));
        }
        self
    }

    /// Whether it is produced while it is sent.
    pub fn is_stream(&self) -> bool {
        matches!(self.0, Kind::Stream(_))
    }

    /// Whether it goes on until somebody has enough.
    fn is_endless(&self) -> bool {
        matches!(&self.0, Kind::Stream(stream) if stream.ending.is_open())
    }

    /// The bytes in one, unless it is a stream.
    pub fn whole(&self) -> Option<Cow<'_, [u8]>> {
        match &self.0 {
            Kind::Whole(pieces) => Some(pieces.joined()),
            Kind::Stream(_) => None,
        }
    }

    /// Charges whole bytes that their maker did not. A stream holds few at a time.
    pub(crate) fn charge(&mut self, budget: &Arc<Budget>) {
        if let Kind::Whole(pieces) = &mut self.0 {
            pieces.charge(budget);
        }
    }

    /// How many of its bytes are charged.
    fn charged(&self) -> usize {
        match &self.0 {
            Kind::Whole(pieces) => pieces.charged(),
            Kind::Stream(_) => 0,
        }
    }

    /// Its length, where that is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.0 {
            Kind::Whole(pieces) => Some(pieces.len() as u64),
            Kind::Stream(stream) => stream.length,
        }
    }

    /// The next piece, for readers in this process; `None` at its end.
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
            // The producer learns of it at its next piece; those that wait are still sent.
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
                let is_whole = finished || self.ending.is_open() && self.is_cut;
                Poll::Ready(if is_whole { None } else { Some(Err(Broken)) })
            }
            Poll::Pending if self.ending.is_open() => {
                let (interval, sign) = self.ending.sign_of_life();
                let alive = self
                    .alive
                    .get_or_insert_with(|| tokio::time::interval_at(tokio::time::Instant::now() + interval, interval));
                alive.poll_tick(cx).map(|_| Some(Ok(Bytes::from_static(sign).into())))
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

/// Whole bytes, or bytes that were made piece by piece.
impl<P: Into<Pieces>> From<P> for Body {
    fn from(pieces: P) -> Self {
        Self(Kind::Whole(pieces.into()))
    }
}

/// Whole bytes by their text, a stream only as such.
impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Kind::Whole(pieces) => write!(f, "{:?}", Bytes::from(pieces.joined().into_owned())),
            Kind::Stream(_) => f.write_str("stream"),
        }
    }
}

/// A body on its way out. A stream counts as a call until it ends: the drain and the idle time wait for it.
pub(crate) struct ResponseBody {
    body: Body,
    connection: Arc<Activity>,
    /// What is on its way now, as long as anything is.
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

/// What was not sent is not held any more.
impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.connection.backlog.held.release(self.body.charged());
    }
}

/// A stream that breaks off has the connection (HTTP/1) or the stream (HTTP/2) reset, by this error.
impl hyper::body::Body for ResponseBody {
    type Data = Departing;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Departing>, Broken>>> {
        let this = &mut *self;
        let is_stream = this.body.is_stream();
        this.body.poll_next(cx).map(|piece| {
            piece.map(|piece| {
                // What was whole is held since the answer began.
                if is_stream && let Ok(Piece { charge: Some(charge), .. }) = &piece {
                    this.connection.backlog.held.add(charge.bytes());
                }
                let response = this.response.upgrade().unwrap_or_else(|| {
                    let response = Arc::new(ResponseProgress::new(Arc::clone(&this.connection)));
                    this.response = Arc::downgrade(&response);
                    response
                });
                piece.map(|piece| Frame::data(Departing { piece, response }))
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

/// A piece of a response in the hands of hyper, which advances it as the client takes it.
pub(crate) struct Departing {
    piece: Piece,
    response: Arc<ResponseProgress>,
}

impl Buf for Departing {
    fn remaining(&self) -> usize {
        self.piece.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.piece.bytes
    }

    fn advance(&mut self, bytes: usize) {
        self.piece.bytes.advance(bytes);
        if bytes > 0 {
            self.response.elapsed(bytes);
        }
    }
}

impl Drop for Departing {
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
    async fn a_stream_is_whole_when_its_producer_says_so() {
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
    async fn a_producer_that_breaks_off_leaves_no_whole_stream() {
        let (sender, body) = Body::stream(Ending::Whole);
        assert!(sender.try_send("half").unwrap());
        drop(sender);
        assert_eq!(all(body).await, (b"half".to_vec(), false));
    }

    #[tokio::test]
    async fn a_producer_that_is_ahead_waits_and_learns_that_its_reader_is_gone() {
        let (sender, body) = Body::stream(Ending::Never);
        while sender.try_send("x").unwrap() {}
        drop(body);
        sender.gone().await;
        assert_eq!(sender.send("x").await, Err(Gone));
    }

    #[tokio::test(start_paused = true)]
    async fn an_endless_stream_gives_signs_of_life_and_ends_well_when_it_is_cut() {
        let (sender, body) = Body::stream(Ending::Never);
        let body = body.until(tokio::time::sleep(Duration::from_secs(25)));
        sender.send("a\n").await.unwrap();
        assert_eq!(all(body).await, (b"a\n\n\n".to_vec(), true));
        assert_eq!(sender.send("b\n").await, Err(Gone));
    }

    #[tokio::test(start_paused = true)]
    async fn events_wait_one_at_a_time_and_say_why_they_end() {
        let (sender, body) = Body::stream(Ending::Events);
        let body = body.until(tokio::time::sleep(Duration::from_secs(40))).with_farewell("event: end\n\n");
        assert!(sender.try_send("a\n\n").unwrap());
        assert!(!sender.try_send("b\n\n").unwrap());
        assert_eq!(all(body).await, (b"a\n\n:\n\n:\n\nevent: end\n\n".to_vec(), true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_with_an_end_breaks_when_it_is_cut() {
        let (sender, body) = Body::stream(Ending::Whole);
        let body = body.until(tokio::time::sleep(Duration::from_secs(25)));
        sender.send("a").await.unwrap();
        assert_eq!(all(body).await, (b"a".to_vec(), false));
    }
}
