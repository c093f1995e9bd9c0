//! One connection, from its first byte to its last.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use bytes::BytesMut;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio_rustls::TlsAcceptor;

use super::client_addr::Place;
use super::credentials::Credentials;
use super::detach::Detach;
use super::guarded_io::{GuardedIo, LINGER_BYTES_MAX, Protocol};
use super::handler::Handler;
use super::rejection::Rejection;
use super::routes::Listener;
use super::server::{Phase, Shared};
use super::socket::Tcp;
use super::waiting::{Held, Untaken};
use super::web_socket::{self, BareSocket};
use super::{body, service};
use convoke_core::limits::Limits;

/// The beginning of every HTTP/2 connection (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What a connection came by.
pub(super) enum Socket {
    Tcp(TcpStream),
    /// The control socket's.
    Local(UnixStream),
}

impl Socket {
    /// Where it was connected to.
    pub(super) fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Socket::Tcp(socket) => socket.local_addr().ok(),
            Socket::Local(_) => None,
        }
    }
}

/// What a connection and its calls share. It lives until the last of its calls has ended, and holds the connection's
/// place in the limits as long.
pub(super) struct Connection<H: Handler> {
    pub(super) server: Arc<Shared<H>>,
    pub(super) listener: Listener,
    pub(super) peer: IpAddr,
    /// The address and port that it was made to; none by the control socket.
    pub(super) local: Option<SocketAddr>,
    pub(super) activity: Arc<Activity>,
    /// Accepted while draining: every call is refused.
    pub(super) late: bool,
    /// What gives the socket back when it is no longer HTTP.
    pub(super) bare: OnceLock<BareSocket>,
    number: u64,
    _slot: OwnedSemaphorePermit,
    _place: Option<Place>,
}

impl<H: Handler> Connection<H> {
    /// Enters a connection of `peer` among the open ones.
    pub(super) fn new(
        server: Arc<Shared<H>>,
        listener: Listener,
        (peer, local): (SocketAddr, Option<SocketAddr>),
        slot: OwnedSemaphorePermit,
        place: Option<Place>,
    ) -> Arc<Self> {
        let activity = Arc::new(Activity::new(&server.limits));
        let late = server.phase() != Phase::Serving;
        let number = server.open(peer, Arc::clone(&activity));
        Arc::new(Self {
            server,
            listener,
            peer: peer.ip(),
            local,
            activity,
            late,
            bare: OnceLock::new(),
            number,
            _slot: slot,
            _place: place,
        })
    }

    /// Serves the connection to its end. Nothing that goes wrong with one connection is anybody else's concern.
    pub(super) async fn serve(self: Arc<Self>, socket: Socket) {
        let socket = match socket {
            Socket::Tcp(socket) => {
                let (activity, unread) = (Arc::clone(&self.activity), Arc::clone(&self.server.unread));
                Tcp::new(socket, activity, unread, &self.server.limits)
            }
            // What most connections are not stands on the heap: an idle one costs what it needs itself.
            Socket::Local(socket) => return Box::pin(self.serve_stream(socket)).await,
        };
        let tls = self.server.tls.as_ref().filter(|_| self.listener != Listener::Ops);
        let Some(tls) = tls else { return self.serve_stream(socket).await };
        let handshake = Box::pin(TlsAcceptor::from(tls.config()).accept(socket));
        match tokio::time::timeout(self.server.limits.header_timeout, handshake).await {
            Ok(Ok(stream)) => Box::pin(self.serve_stream(stream)).await,
            Ok(Err(error)) => {
                self.server.traffic.count_handshake_failure();
                tracing::debug!(peer = %self.peer, %error, "TLS handshake failed");
            }
            Err(_elapsed) => self.server.traffic.count_handshake_failure(),
        }
    }

    async fn serve_stream<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(self: Arc<Self>, mut stream: S) {
        let mut stop = pin!(self.server.drain.notified());
        if self.server.phase() != Phase::Serving && !self.late {
            return;
        }
        let first = tokio::select! {
            biased;
            first = read_first(&mut stream, &self.server.limits) => first,
            () = &mut stop, if !self.late => return,
        };
        let Ok(Some((protocol, first))) = first else { return };
        let limits = &self.server.limits;
        let wire = GuardedIo::new(stream, protocol, first, Arc::clone(&self.activity), limits);
        match protocol {
            Protocol::Http1 => {
                let _ = self.bare.set(web_socket::bare::<S>);
                self.serve_http1(wire).await;
            }
            Protocol::Http2 => {
                let wire = TokioIo::new(wire);
                let connection = Arc::clone(&self);
                let service = service_fn(move |request| {
                    let call = service::answer(Arc::clone(&connection), request);
                    Detach::new(call, Arc::clone(&connection.activity))
                });
                let mut connection = Box::pin(self.server.http2.serve_connection(wire, service));
                self.drive(connection.as_mut()).await;
            }
        }
    }

    /// Has hyper serve the socket. While it is idle, hyper and its buffers, of 16 KiB and more, are not there.
    async fn serve_http1<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(self: &Arc<Self>, mut wire: GuardedIo<S>) {
        loop {
            let connection = Arc::clone(self);
            // On the heap, where it is only while it runs: hyper keeps the place of the last one.
            let service = service_fn(move |request| Box::pin(service::answer(Arc::clone(&connection), request)));
            let served = self.server.http1.serve_connection(TokioIo::new(wire), service);
            let mut served = Box::new(served.with_upgrades());
            if self.drive(Pin::new(&mut *served)).await == Driven::ToItsEnd {
                return;
            }
            let idle = {
                // It ends with this block, its box and even the empty piece of what it read into: each would hold memory
                // for as long as the connection is idle.
                let served = served;
                // Where something is left that hyper had read, what comes next is no beginning of a request.
                served.into_parts().filter(|parts| parts.read_buf.is_empty()).map(|parts| parts.io)
            };
            let Some(idle) = idle else { return };
            wire = idle.into_inner();
            let goes_on = tokio::select! {
                biased;
                () = self.server.draining() => false,
                () = self.activity.given_up() => false,
                comes = wire.next_request() => comes,
            };
            if !goes_on {
                let _ = wire.shutdown().await;
                return;
            }
        }
    }

    /// Polls a connection of hyper's to its end or until it is idle, tells it to finish when the server drains or it was
    /// idle too long, and drops it when the drain's time is over.
    async fn drive<C: Graceful>(&self, mut connection: Pin<&mut C>) -> Driven {
        let mut drain = pin!(self.server.drain.notified());
        let mut cut = pin!(self.server.cut.notified());
        let mut given_up = pin!(self.activity.given_up.notified());
        let (mut listening, mut told) = (false, false);
        let driven = std::future::poll_fn(|cx| {
            if !listening {
                // One poll leaves this task's waker with all of them; after that a look at what they tell is enough.
                listening = drain.as_mut().poll(cx).is_pending()
                    & cut.as_mut().poll(cx).is_pending()
                    & given_up.as_mut().poll(cx).is_pending();
            }
            if self.activity.is_given_up() {
                tracing::debug!(peer = %self.peer, "a connection ended: it held too much for too long");
                return Poll::Ready(Driven::ToItsEnd);
            }
            loop {
                // Polled before it is told to finish, so that a request which has come is answered, if only by a
                // refusal.
                if let Poll::Ready(ended) = connection.as_mut().poll(cx) {
                    if let Err(error) = ended {
                        tracing::debug!(peer = %self.peer, %error, "a connection ended early");
                    }
                    return Poll::Ready(Driven::ToItsEnd);
                }
                let finish = match self.server.phase() {
                    Phase::Serving => self.activity.is_asked_to_close(),
                    Phase::Draining => !self.late || self.activity.is_asked_to_close(),
                    Phase::Cut => return Poll::Ready(Driven::ToItsEnd),
                };
                if self.activity.take_idle() && !finish && self.activity.is_quiet() {
                    return Poll::Ready(Driven::UntilIdle);
                }
                if told || !finish {
                    return Poll::Pending;
                }
                told = true;
                connection.as_mut().graceful_shutdown();
            }
        })
        .await;
        if self.activity.is_stalled() {
            self.server.traffic.count_stalled();
        }
        driven
    }
}

impl<H: Handler> Drop for Connection<H> {
    fn drop(&mut self) {
        self.server.close(self.number);
    }
}

/// Waits for the first byte of a connection, and for as many as tell its protocol. `None` if the client closes before.
async fn read_first<S: AsyncRead + Unpin>(stream: &mut S, limits: &Limits) -> io::Result<Option<(Protocol, BytesMut)>> {
    let mut first = BytesMut::with_capacity(2048);
    if tokio::time::timeout(limits.first_byte_timeout, stream.read_buf(&mut first)).await?? == 0 {
        return Ok(None);
    }
    tokio::time::timeout(limits.header_timeout, async {
        loop {
            if first.starts_with(PREFACE) {
                return Ok(Some((Protocol::Http2, first)));
            }
            if !PREFACE.starts_with(&first) || stream.read_buf(&mut first).await? == 0 {
                return Ok(Some((Protocol::Http1, first)));
            }
        }
    })
    .await?
}

/// How far a connection of hyper's was polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driven {
    ToItsEnd,
    /// Nothing is under way, and nothing was for a while.
    UntilIdle,
}

/// What hyper's two kinds of connection have in common.
trait Graceful: Future<Output = hyper::Result<()>> {
    /// Finishes what has begun and closes.
    fn graceful_shutdown(self: Pin<&mut Self>);
}

impl<I, B, S> Graceful for hyper::server::conn::http1::UpgradeableConnection<I, S>
where
    Self: Future<Output = hyper::Result<()>>,
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    S: hyper::service::HttpService<hyper::body::Incoming, ResBody = B>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: hyper::body::Body + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn graceful_shutdown(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<I, B, S> Graceful for hyper::server::conn::http2::Connection<I, S, TokioExecutor>
where
    Self: Future<Output = hyper::Result<()>>,
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    S: hyper::service::HttpService<hyper::body::Incoming, ResBody = B>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: hyper::body::Body + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    TokioExecutor: hyper::rt::bounds::Http2ServerConnExec<S::Future, B>,
{
    fn graceful_shutdown(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// What a connection's wire, its calls and the drain know of each other.
pub(super) struct Activity {
    /// The deploy keys that the wire took out of heads, for the calls.
    pub(super) credentials: Credentials,
    calls: AtomicUsize,
    /// Responses under way that have no end.
    endless: AtomicUsize,
    started: AtomicU64,
    strikes: AtomicU64,
    calls_max: usize,
    /// Bytes of responses that the client has not taken, and how long it has taken none.
    pub(super) held: Held,
    pub(super) untaken: Untaken,
    held_max: usize,
    write_blocked: AtomicBool,
    write_unblocked: Notify,
    asked_to_close: AtomicBool,
    /// Between two looks at it no call was begun.
    is_idle: AtomicBool,
    /// The client takes nothing of a response.
    is_stalled: AtomicBool,
    /// The connection ends at once: others need the memory that it holds.
    is_given_up: AtomicBool,
    given_up: Notify,
    /// How much of unread input is awaited after the last response.
    lingers_for: AtomicUsize,
    rejection: Mutex<Option<Rejection>>,
}

impl Activity {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            credentials: Credentials::default(),
            calls: AtomicUsize::new(0),
            endless: AtomicUsize::new(0),
            started: AtomicU64::new(0),
            strikes: AtomicU64::new(0),
            calls_max: limits.http2_streams_max as usize,
            held: Held::new(),
            untaken: Untaken::default(),
            held_max: limits.response_bytes_max,
            write_blocked: AtomicBool::new(false),
            write_unblocked: Notify::new(),
            asked_to_close: AtomicBool::new(false),
            is_idle: AtomicBool::new(false),
            is_stalled: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
            given_up: Notify::new(),
            lingers_for: AtomicUsize::new(LINGER_BYTES_MAX.max(limits.request_body_bytes_max.saturating_mul(2))),
            rejection: Mutex::new(None),
        }
    }

    /// Counts a call until the returned guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> CallGuard {
        self.started.fetch_add(1, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
        CallGuard(Arc::clone(self))
    }

    /// Calls under way.
    pub(super) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Counts a response without an end until the returned guard is dropped.
    pub(super) fn begin_endless(self: &Arc<Self>) -> EndlessGuard {
        self.endless.fetch_add(1, Ordering::Relaxed);
        EndlessGuard(Arc::clone(self))
    }

    /// Whether a response without an end is under way.
    pub(super) fn answers_without_end(&self) -> bool {
        self.endless.load(Ordering::Relaxed) > 0
    }

    /// Calls ever begun.
    pub(super) fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    /// Whether more is under way than a connection may have: more calls than streams, because abandoned ones still run,
    /// or more of finished responses than one may be large, because the client keeps its windows shut.
    pub(super) fn is_overrun(&self) -> bool {
        self.calls() > self.calls_max || self.held.bytes() > self.held_max
    }

    /// True if bytes of a response wait for the client to take them.
    pub(super) fn has_untaken(&self) -> bool {
        self.held.bytes() > 0 || self.untaken.is_any()
    }

    /// Holds so many bytes of a response until the client takes them.
    pub(super) fn hold(&self, bytes: usize) {
        self.held.add(bytes);
    }

    /// They are taken, or nobody will take them any more.
    pub(super) fn release(&self, bytes: usize) {
        self.held.release(bytes);
    }

    /// Ends the connection at once, whatever it holds.
    pub(super) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
        self.given_up.notify_one();
    }

    /// Whether it was told to end at once.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// Waits until it is told to end at once.
    pub(super) async fn given_up(&self) {
        while !self.is_given_up() {
            self.given_up.notified().await;
        }
    }

    /// The client takes nothing of a response any more.
    pub(super) fn set_stalled(&self) {
        self.is_stalled.store(true, Ordering::Relaxed);
    }

    /// True if the client took too little of a response for too long.
    pub(super) fn is_stalled(&self) -> bool {
        self.is_stalled.load(Ordering::Relaxed)
    }

    /// Whoever sends a request that finds no room is not listened to for long.
    pub(super) fn linger_briefly(&self) {
        self.lingers_for.store(body::PASSED_OVER_BYTES_MAX, Ordering::Relaxed);
    }

    /// How much of unread input is awaited after the last response, so that the client gets to read it: a socket closed
    /// over unread input resets the connection and may take the response with it.
    pub(super) fn lingers_for(&self) -> usize {
        self.lingers_for.load(Ordering::Relaxed)
    }

    /// Whether nothing is under way, neither a call nor a response.
    pub(super) fn is_quiet(&self) -> bool {
        self.calls() == 0 && !self.write_blocked.load(Ordering::Relaxed)
    }

    /// A stream was reset while its call ran, or opened while such calls fill the connection's share. A client whose
    /// streams do so more than every fourth time, past a generous start, makes work for nothing (rapid reset,
    /// CVE-2023-44487): its connection ends.
    pub(super) fn strike(&self) {
        let strikes = self.strikes.fetch_add(1, Ordering::Relaxed) + 1;
        if strikes > self.calls_max as u64 + self.started() / 4 {
            self.ask_to_close();
        }
    }

    /// Has the connection finish what it has begun and close.
    pub(super) fn ask_to_close(&self) {
        self.asked_to_close.store(true, Ordering::Relaxed);
    }

    fn is_asked_to_close(&self) -> bool {
        self.asked_to_close.load(Ordering::Relaxed)
    }

    /// It has been idle for a while.
    pub(super) fn set_idle(&self) {
        self.is_idle.store(true, Ordering::Relaxed);
    }

    /// Whether it has been idle for a while, told once.
    pub(super) fn take_idle(&self) -> bool {
        // It is asked at every poll, and written by the same task alone.
        let is_idle = self.is_idle.load(Ordering::Relaxed);
        if is_idle {
            self.is_idle.store(false, Ordering::Relaxed);
        }
        is_idle
    }

    pub(super) fn set_write_blocked(&self, blocked: bool) {
        self.write_blocked.store(blocked, Ordering::Relaxed);
        if !blocked {
            self.write_unblocked.notify_waiters();
        }
    }

    /// Waits until the client takes what was written.
    pub(super) async fn writable(&self) {
        while self.write_blocked.load(Ordering::Relaxed) {
            self.write_unblocked.notified().await;
        }
    }

    /// Leaves the answer to the wire's stand-in.
    pub(super) fn refuse(&self, refused: Rejection) {
        *self.rejection.lock() = Some(refused);
    }

    /// The answer to the wire's stand-in.
    pub(super) fn rejection(&self) -> Option<Rejection> {
        *self.rejection.lock()
    }
}

/// A call under way.
pub(super) struct CallGuard(Arc<Activity>);

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A response without an end under way.
pub(super) struct EndlessGuard(Arc<Activity>);

impl Drop for EndlessGuard {
    fn drop(&mut self) {
        self.0.endless.fetch_sub(1, Ordering::Relaxed);
    }
}
