//! Reads a request's whole body, within its size, its time, and the memory that all bodies may take.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::wire::rejection::Rejection;
use convoke_core::error::Code;
use convoke_core::limits::Limits;

const TOO_LARGE: Rejection =
    Rejection { code: Code::PayloadTooLarge, message: "The request's body is larger than the limit." };
const TOO_SLOW: Rejection =
    Rejection { code: Code::RequestTimeout, message: "The request's body did not arrive in time." };
const BROKEN: Rejection =
    Rejection { code: Code::BadRequest, message: "The request's body ended early or is malformed." };
const NO_ROOM: Rejection =
    Rejection { code: Code::Overloaded, message: "Too many request bodies are under way; try again in a second." };

/// A body of so many bytes that came with the head, which is nearly every call's, costs no room: its bytes are in the
/// connection's own buffer. Others of that size have room of their own, so that large ones do not keep them waiting.
const SMALL_BYTES_MAX: usize = 16 * 1024;
/// The share of the room that is the small ones'.
const SMALL_SHARE: usize = 8;

/// How much is read of a body that nobody wants.
pub(crate) const PASSED_OVER_BYTES_MAX: usize = 64 * 1024;

/// The room for the bodies of all connections. One that is being read has room for all that it declares, or for as much
/// as one may have, before any of it is read; then, until its call is over, for what it is.
pub(crate) struct Room {
    for_small: Arc<Semaphore>,
    for_all: Arc<Semaphore>,
    bytes_max: usize,
    for_all_max: usize,
    patience: Duration,
    /// Bytes that bodies wait for.
    awaited: AtomicUsize,
    waits: AtomicU64,
}

impl Room {
    pub(crate) fn new(limits: &Limits) -> Self {
        let bytes_max = limits.request_bytes_total_max.min(Semaphore::MAX_PERMITS).min(u32::MAX as usize);
        let for_small = bytes_max / SMALL_SHARE;
        Self {
            for_small: Arc::new(Semaphore::new(for_small)),
            for_all: Arc::new(Semaphore::new(bytes_max - for_small)),
            bytes_max,
            for_all_max: bytes_max - for_small,
            patience: limits.request_room_timeout,
            awaited: AtomicUsize::new(0),
            waits: AtomicU64::new(0),
        }
    }

    /// Bytes that are taken.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes_max - self.for_small.available_permits() - self.for_all.available_permits()
    }

    /// Bodies that had to wait.
    pub(crate) fn waits(&self) -> u64 {
        self.waits.load(Relaxed)
    }

    /// Room for so many bytes, at once or after others are done. No more wait than there is room for.
    async fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Rejection> {
        // What could never be had is had by the one who is alone.
        let bytes = bytes.min(self.for_all_max);
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        if bytes <= SMALL_BYTES_MAX
            && let Ok(room) = Arc::clone(&self.for_small).try_acquire_many_owned(permits)
        {
            return Ok(room);
        }
        if let Ok(room) = Arc::clone(&self.for_all).try_acquire_many_owned(permits) {
            return Ok(room);
        }
        let _place = Place::take(&self.awaited, bytes, self.for_all_max)?;
        self.waits.fetch_add(1, Relaxed);
        let room = tokio::time::timeout(self.patience, Arc::clone(&self.for_all).acquire_many_owned(permits)).await;
        room.map_err(|_elapsed| NO_ROOM)?.map_err(|_closed| NO_ROOM)
    }
}

/// A place among those who wait for room; given back when the waiting ends, also by a caller that went away.
struct Place<'a>(&'a AtomicUsize, usize);

impl<'a> Place<'a> {
    fn take(awaited: &'a AtomicUsize, bytes: usize, bytes_max: usize) -> Result<Self, Rejection> {
        let place = Self(awaited, bytes);
        if awaited.fetch_add(bytes, Relaxed) + bytes <= bytes_max { Ok(place) } else { Err(NO_ROOM) }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Relaxed);
    }
}

/// A body with the room that it takes.
struct Roomed {
    bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Roomed {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The whole body. A small one that came with the head is neither copied nor timed. Before any other is read,
/// `may_call` is asked whether its call would be taken. It is read until `given_up` ends.
///
/// # Errors
/// `PAYLOAD_TOO_LARGE` from the declared length or as soon as more than may be has come, `OVERLOADED` where there is no
/// room, `REQUEST_TIMEOUT`, `BAD_REQUEST` for a body that breaks off; those of `may_call` and `given_up`.
pub(crate) async fn read(
    body: &mut hyper::body::Incoming,
    room: &Room,
    limits: &Limits,
    may_call: impl FnOnce() -> Result<(), Rejection>,
    given_up: impl Future<Output = Rejection>,
) -> Result<Bytes, Rejection> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let bytes_max = limits.request_body_bytes_max;
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(TOO_LARGE);
    }
    let declared = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    let mut first = Bytes::new();
    if declared.is_some_and(|bytes| bytes <= SMALL_BYTES_MAX)
        && let Poll::Ready(piece) = next_at_once(body).await
    {
        first = piece?;
        if body.is_end_stream() {
            return Ok(first);
        }
    }
    may_call()?;
    // On the heap, for those few: every request's future would be as large.
    Box::pin(async {
        tokio::select! {
            biased;
            whole = read_roomed(body, first, declared, room, limits) => whole,
            rejection = given_up => Err(rejection),
        }
    })
    .await
}

/// The rest of a body behind its `first` piece, when there is room for it.
async fn read_roomed(
    body: &mut hyper::body::Incoming,
    first: Bytes,
    declared: Option<usize>,
    room: &Room,
    limits: &Limits,
) -> Result<Bytes, Rejection> {
    let bytes_max = limits.request_body_bytes_max;
    let until = Instant::now() + limits.body_timeout;
    let mut room = room.take(declared.unwrap_or(bytes_max)).await?;
    let gathering = gather(body, first, declared, bytes_max);
    let bytes = timeout_at(until, gathering).await.map_err(|_elapsed| TOO_SLOW)??;
    let surplus = room.num_permits().saturating_sub(bytes.len());
    drop(room.split(surplus));
    Ok(Bytes::from_owner(Roomed { bytes, _room: room }))
}

/// The next piece, if it is there.
async fn next_at_once(body: &mut hyper::body::Incoming) -> Poll<Result<Bytes, Rejection>> {
    let mut next = pin!(next(body));
    poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx))).await
}

/// The next piece; an empty one at the end, and in place of what is no data.
async fn next(body: &mut hyper::body::Incoming) -> Result<Bytes, Rejection> {
    let Some(frame) = body.frame().await else { return Ok(Bytes::new()) };
    Ok(frame.map_err(|_| BROKEN)?.into_data().unwrap_or_default())
}

/// What is set aside at once for a body that declares no length.
const FIRST_BUFFER_BYTES: usize = 16 * 1024;

async fn gather(
    body: &mut hyper::body::Incoming,
    first: Bytes,
    declared: Option<usize>,
    bytes_max: usize,
) -> Result<Bytes, Rejection> {
    let mut whole = BytesMut::with_capacity(declared.unwrap_or(FIRST_BUFFER_BYTES));
    whole.extend_from_slice(&first);
    drop(first);
    while !body.is_end_stream() {
        let Some(frame) = body.frame().await else { break };
        let Ok(data) = frame.map_err(|_| BROKEN)?.into_data() else { continue };
        if whole.len() + data.len() > bytes_max {
            return Err(TOO_LARGE);
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

/// Reads a body that nobody wants to its end, but no more than 64 KiB of it, and no longer than `timeout`.
pub(crate) async fn pass_over(body: &mut hyper::body::Incoming, timeout: Duration) {
    let mut passing = pin!(async move {
        let mut bytes = 0;
        while bytes <= PASSED_OVER_BYTES_MAX
            && let Some(Ok(frame)) = body.frame().await
        {
            bytes += frame.data_ref().map_or(0, Bytes::len);
        }
    });
    if poll_fn(|cx| Poll::Ready(passing.as_mut().poll(cx))).await.is_pending() {
        // Whoever sends no end has had the time of a body.
        let _ = tokio::time::timeout(timeout, passing).await;
    }
}
