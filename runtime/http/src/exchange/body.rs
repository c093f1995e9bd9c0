//! Reads the whole body of a request, within the limits of its size, its time and the memory of all bodies.

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
const NO_MEMORY: Rejection =
    Rejection { code: Code::Overloaded, message: "Too many request bodies are being received; try again in a second." };

/// Largest small body. A small body that arrives with its head, as nearly all do, costs no body memory, because its
/// bytes are in the connection's buffer. Other small bodies have a share of the memory, so that they do not wait for
/// large ones.
const SMALL_BYTES_MAX: usize = 16 * 1024;
/// One part in this many of the memory is reserved for small bodies.
const SMALL_SHARE: usize = 8;

/// Bytes that are read and discarded of an unused body.
pub(crate) const DISCARDED_BYTES_MAX: usize = 64 * 1024;

/// The memory for the request bodies of all connections. A body reserves its declared length, or the largest length,
/// before it is read. After that it holds its actual length until its call ends.
pub(crate) struct BodyMemory {
    for_small: Arc<Semaphore>,
    for_all: Arc<Semaphore>,
    bytes_max: usize,
    for_all_max: usize,
    timeout: Duration,
    /// Bytes that waiting bodies need.
    awaited: AtomicUsize,
    waits: AtomicU64,
}

impl BodyMemory {
    pub(crate) fn new(limits: &Limits) -> Self {
        let bytes_max = limits.request_bytes_total_max.min(Semaphore::MAX_PERMITS).min(u32::MAX as usize);
        let for_small = bytes_max / SMALL_SHARE;
        Self {
            for_small: Arc::new(Semaphore::new(for_small)),
            for_all: Arc::new(Semaphore::new(bytes_max - for_small)),
            bytes_max,
            for_all_max: bytes_max - for_small,
            timeout: limits.request_room_timeout,
            awaited: AtomicUsize::new(0),
            waits: AtomicU64::new(0),
        }
    }

    /// Bytes that are reserved or in use.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes_max - self.for_small.available_permits() - self.for_all.available_permits()
    }

    /// The number of bodies that had to wait.
    pub(crate) fn waits(&self) -> u64 {
        self.waits.load(Relaxed)
    }

    /// Reserves so many bytes, immediately or when other bodies release theirs. The bodies that wait need at most the
    /// whole memory; more are rejected.
    async fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Rejection> {
        // A body larger than the memory takes all of it.
        let bytes = bytes.min(self.for_all_max);
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        if bytes <= SMALL_BYTES_MAX
            && let Ok(permit) = Arc::clone(&self.for_small).try_acquire_many_owned(permits)
        {
            return Ok(permit);
        }
        if let Ok(permit) = Arc::clone(&self.for_all).try_acquire_many_owned(permits) {
            return Ok(permit);
        }
        let _awaited = Awaited::add(&self.awaited, bytes, self.for_all_max)?;
        self.waits.fetch_add(1, Relaxed);
        let permit = tokio::time::timeout(self.timeout, Arc::clone(&self.for_all).acquire_many_owned(permits)).await;
        permit.map_err(|_elapsed| NO_MEMORY)?.map_err(|_closed| NO_MEMORY)
    }
}

/// Bytes that a body waits for. They are subtracted when the wait ends, also if the wait is cancelled.
struct Awaited<'a>(&'a AtomicUsize, usize);

impl<'a> Awaited<'a> {
    fn add(awaited: &'a AtomicUsize, bytes: usize, bytes_max: usize) -> Result<Self, Rejection> {
        let added = Self(awaited, bytes);
        if awaited.fetch_add(bytes, Relaxed) + bytes <= bytes_max { Ok(added) } else { Err(NO_MEMORY) }
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Relaxed);
    }
}

/// A body with the memory that it holds.
struct HeldBody {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for HeldBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits {
    bytes_max: usize,
    timeout: Duration,
}

impl BodyLimits {
    pub(crate) fn of(limits: &Limits) -> Self {
        Self { bytes_max: limits.request_body_bytes_max, timeout: limits.body_timeout }
    }

    /// Returns the limits of a route that has its own.
    pub(crate) fn widened(self, bytes_max: Option<usize>, time_min: Option<Duration>) -> Self {
        Self {
            bytes_max: bytes_max.unwrap_or(self.bytes_max),
            timeout: time_min.map_or(self.timeout, |time| time.max(self.timeout)),
        }
    }
}

/// Reads the whole body. A small body that arrived with its head is neither copied nor timed. For any other body,
/// `may_call` first checks whether the call would be accepted. The read stops when `given_up` ends.
///
/// # Errors
/// `PAYLOAD_TOO_LARGE` if the declared or the received length is above the limit, `OVERLOADED` without free memory,
/// `REQUEST_TIMEOUT`, `BAD_REQUEST` for an incomplete body; the rejections of `may_call` and `given_up`.
pub(crate) async fn read(
    body: &mut hyper::body::Incoming,
    memory: &BodyMemory,
    limits: BodyLimits,
    may_call: impl FnOnce() -> Result<(), Rejection>,
    given_up: impl Future<Output = Rejection>,
) -> Result<Bytes, Rejection> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let bytes_max = limits.bytes_max;
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(TOO_LARGE);
    }
    let declared = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    let mut first = Bytes::new();
    if declared.is_some_and(|bytes| bytes <= SMALL_BYTES_MAX)
        && let Poll::Ready(piece) = next_if_ready(body).await
    {
        first = piece?;
        if body.is_end_stream() {
            return Ok(first);
        }
    }
    may_call()?;
    // These few are on the heap, so that the futures of other requests stay small.
    Box::pin(async {
        tokio::select! {
            biased;
            whole = read_with_memory(body, first, declared, memory, limits) => whole,
            rejection = given_up => Err(rejection),
        }
    })
    .await
}

/// Reads the rest of a body after its `first` piece, once there is memory for it.
async fn read_with_memory(
    body: &mut hyper::body::Incoming,
    first: Bytes,
    declared: Option<usize>,
    memory: &BodyMemory,
    limits: BodyLimits,
) -> Result<Bytes, Rejection> {
    let bytes_max = limits.bytes_max;
    let until = Instant::now() + limits.timeout;
    let mut permit = memory.reserve(declared.unwrap_or(bytes_max)).await?;
    let gathering = gather(body, first, declared, bytes_max);
    let bytes = timeout_at(until, gathering).await.map_err(|_elapsed| TOO_SLOW)??;
    let surplus = permit.num_permits().saturating_sub(bytes.len());
    drop(permit.split(surplus));
    Ok(Bytes::from_owner(HeldBody { bytes, _permit: permit }))
}

/// The next piece, if it has arrived.
async fn next_if_ready(body: &mut hyper::body::Incoming) -> Poll<Result<Bytes, Rejection>> {
    let mut next = pin!(next(body));
    poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx))).await
}

/// The next piece. It is empty at the end and in place of a frame without data.
async fn next(body: &mut hyper::body::Incoming) -> Result<Bytes, Rejection> {
    let Some(frame) = body.frame().await else { return Ok(Bytes::new()) };
    Ok(frame.map_err(|_| BROKEN)?.into_data().unwrap_or_default())
}

/// First capacity for a body without a declared length.
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

/// Reads and discards an unused body, up to 64 KiB and for at most `timeout`.
pub(crate) async fn discard(body: &mut hyper::body::Incoming, timeout: Duration) {
    let mut discarding = pin!(async move {
        let mut bytes = 0;
        while bytes <= DISCARDED_BYTES_MAX
            && let Some(Ok(frame)) = body.frame().await
        {
            bytes += frame.data_ref().map_or(0, Bytes::len);
        }
    });
    if poll_fn(|cx| Poll::Ready(discarding.as_mut().poll(cx))).await.is_pending() {
        // After the timeout the rest stays unread.
        let _ = tokio::time::timeout(timeout, discarding).await;
    }
}
