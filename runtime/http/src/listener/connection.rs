//! One connection, from its first byte to its last.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use bytes::BytesMut;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsAcceptor;

use super::census::AddressSlot;
use super::detach::Detach;
use super::socket::Tcp;
use super::state::ListenerState;
use crate::exchange::connection::Connection;
use crate::exchange::connection_facts::ConnectionFacts;
use crate::exchange::drain::Phase;
use crate::exchange::handler::Handler;
use crate::exchange::routes::Listener;
use crate::exchange::{service, web_socket};
use crate::wire::activity::Activity;
use crate::wire::guarded_io::{GuardedIo, Protocol};
use convoke_core::limits::Limits;

/// The beginning of every HTTP/2 connection (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The socket of a connection.
pub(crate) enum Socket {
    Tcp(TcpStream),
    /// A connection to the control socket.
    Local(UnixStream),
}

impl Socket {
    /// The local address; `None` for the control socket.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Socket::Tcp(socket) => socket.local_addr().ok(),
            Socket::Local(_) => None,
        }
    }
}

/// Serves a connection.
pub(crate) struct Driver<H: Handler> {
    listener: Arc<ListenerState<H>>,
    connection: Arc<Connection<H>>,
}

impl<H: Handler> Clone for Driver<H> {
    fn clone(&self) -> Self {
        Self { listener: Arc::clone(&self.listener), connection: Arc::clone(&self.connection) }
    }
}

impl<H: Handler> Driver<H> {
    /// Adds a connection of `peer` to the open connections. It holds `slot` and `address_slot` until it has ended.
    pub(crate) fn new(
        listener: Arc<ListenerState<H>>,
        kind: Listener,
        (peer, local): (SocketAddr, Option<SocketAddr>),
        slot: OwnedSemaphorePermit,
        address_slot: Option<AddressSlot>,
    ) -> Self {
        let server = Arc::clone(&listener.server);
        let activity = Arc::new(Activity::new(&server.limits));
        let facts = ConnectionFacts {
            listener: kind,
            peer: peer.ip(),
            local,
            is_encrypted: listener.tls.is_some() && kind != Listener::Ops,
            is_of_proxy: server.proxies.trust(peer.ip()),
            is_late: server.drain.phase() != Phase::Serving,
        };
        let open = listener.open.add(peer, Arc::clone(&activity));
        let connection =
            Connection { server, facts, activity, bare: OnceLock::new(), _slots: Box::new((open, slot, address_slot)) };
        Self { listener, connection: Arc::new(connection) }
    }

    /// Serves the connection to its end. An error on one connection affects no other.
    pub(crate) async fn serve(self, socket: Socket) {
        let socket = match socket {
            Socket::Tcp(socket) => {
                let activity = Arc::clone(&self.connection.activity);
                Tcp::new(socket, activity, Arc::clone(&self.listener.unread), self.limits())
            }
            // The rare kinds of connections are on the heap, so that an idle TCP connection stays small.
            Socket::Local(socket) => return Box::pin(self.serve_stream(socket)).await,
        };
        let tls = self.listener.tls.as_ref().filter(|_| self.connection.facts.is_encrypted);
        let Some(tls) = tls else { return self.serve_stream(socket).await };
        let handshake = Box::pin(TlsAcceptor::from(tls.config()).accept(socket));
        match tokio::time::timeout(self.limits().header_timeout, handshake).await {
            Ok(Ok(stream)) => Box::pin(self.serve_stream(stream)).await,
            Ok(Err(error)) => {
                self.count_handshake_failure();
                tracing::debug!(peer = %self.connection.facts.peer, %error, "TLS handshake failed");
            }
            Err(_elapsed) => self.count_handshake_failure(),
        }
    }

    fn limits(&self) -> &Limits {
        &self.connection.server.limits
    }

    fn count_handshake_failure(&self) {
        self.connection.server.traffic.handshake_failures.fetch_add(1, Ordering::Relaxed);
    }

    async fn serve_stream<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(self, mut stream: S) {
        let drain = &self.connection.server.drain;
        let mut stop = pin!(drain.draining_notified());
        let is_late = self.connection.facts.is_late;
        if drain.phase() != Phase::Serving && !is_late {
            return;
        }
        let first = tokio::select! {
            biased;
            first = read_first(&mut stream, self.limits()) => first,
            () = &mut stop, if !is_late => return,
        };
        let Ok(Some((protocol, first))) = first else { return };
        let wire = GuardedIo::new(stream, protocol, first, Arc::clone(&self.connection.activity), self.limits());
        match protocol {
            Protocol::Http1 => {
                let _ = self.connection.bare.set(web_socket::bare::<S>);
                self.serve_http1(wire).await;
            }
            Protocol::Http2 => {
                let wire = TokioIo::new(wire);
                let connection = Arc::clone(&self.connection);
                let service = service_fn(move |request| {
                    let call = service::answer(Arc::clone(&connection), request);
                    Detach::new(call, Arc::clone(&connection.activity))
                });
                let mut connection = Box::pin(self.listener.http2.serve_connection(wire, service));
                self.drive(connection.as_mut()).await;
            }
        }
    }

    /// Serves the socket with hyper. An idle connection frees hyper and its buffers of at least 16 KiB.
    async fn serve_http1<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(&self, mut wire: GuardedIo<S>) {
        loop {
            let connection = Arc::clone(&self.connection);
            // The call is on the heap and freed when it ends: hyper keeps the memory of the last future inline.
            let service = service_fn(move |request| Box::pin(service::answer(Arc::clone(&connection), request)));
            let served = self.listener.http1.serve_connection(TokioIo::new(wire), service);
            let mut served = Box::new(served.with_upgrades());
            if self.drive(Pin::new(&mut *served)).await == DriveEnd::Closed {
                return;
            }
            let idle = {
                // This block drops the connection of hyper, its box and its read buffer. Each would hold memory while
                // the connection is idle.
                let served = served;
                // If hyper has read further bytes, the next input is not the beginning of a request.
                served.into_parts().filter(|parts| parts.read_buf.is_empty()).map(|parts| parts.io)
            };
            let Some(idle) = idle else { return };
            wire = idle.into_inner();
            let has_request = tokio::select! {
                biased;
                () = self.connection.server.drain.draining() => false,
                () = self.connection.activity.closing.given_up() => false,
                has_request = wire.next_request() => has_request,
            };
            if !has_request {
                let _ = wire.shutdown().await;
                return;
            }
        }
    }

    /// Polls a connection of hyper to its end or until it is idle. Shuts it down gracefully when the server drains or
    /// it was idle for too long, and drops it when the drain timeout is over.
    async fn drive<C: Graceful>(&self, mut connection: Pin<&mut C>) -> DriveEnd {
        let Connection { server, activity, facts, .. } = &*self.connection;
        let mut drain = pin!(server.drain.draining_notified());
        let mut cut = pin!(server.drain.cut_notified());
        let mut given_up = pin!(activity.closing.notified());
        let (mut is_registered, mut is_shutting_down) = (false, false);
        let driven = std::future::poll_fn(|cx| {
            if !is_registered {
                // One poll registers this task's waker with all notifications. After that the flags are enough.
                is_registered = drain.as_mut().poll(cx).is_pending()
                    & cut.as_mut().poll(cx).is_pending()
                    & given_up.as_mut().poll(cx).is_pending();
            }
            if activity.closing.is_given_up() {
                tracing::debug!(peer = %self.connection.facts.peer, "a connection was closed to free its memory");
                return Poll::Ready(DriveEnd::Closed);
            }
            loop {
                // The poll comes before the shutdown, so that a received request gets a response, even if it is a
                // rejection.
                if let Poll::Ready(ended) = connection.as_mut().poll(cx) {
                    if let Err(error) = ended {
                        tracing::debug!(peer = %self.connection.facts.peer, %error, "a connection ended early");
                    }
                    return Poll::Ready(DriveEnd::Closed);
                }
                let finish = match server.drain.phase() {
                    Phase::Serving => activity.closing.is_requested(),
                    Phase::Draining => !facts.is_late || activity.closing.is_requested(),
                    Phase::Cut => return Poll::Ready(DriveEnd::Closed),
                };
                if activity.closing.take_idle() && !finish && activity.is_quiet() {
                    return Poll::Ready(DriveEnd::Idle);
                }
                if is_shutting_down || !finish {
                    return Poll::Pending;
                }
                is_shutting_down = true;
                connection.as_mut().graceful_shutdown();
            }
        })
        .await;
        if activity.closing.is_stalled() {
            server.traffic.stalled.fetch_add(1, Ordering::Relaxed);
        }
        driven
    }
}

/// Reads the first bytes of a connection, as many as its protocol needs to be detected. Returns `None` if the client
/// closes before.
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

/// The state in which the driver stopped to poll a connection of hyper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DriveEnd {
    /// The connection has ended.
    Closed,
    /// The connection has been idle for a while.
    Idle,
}

/// The common interface of hyper's two connection types.
trait Graceful: Future<Output = hyper::Result<()>> {
    /// Finishes the running calls and closes.
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
