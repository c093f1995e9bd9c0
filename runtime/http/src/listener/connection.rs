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

use super::census::Place;
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

/// What a connection came by.
pub(crate) enum Socket {
    Tcp(TcpStream),
    /// The control socket's.
    Local(UnixStream),
}

impl Socket {
    /// Where it was connected to.
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
    /// Adds a connection of `peer` to the open ones. Its `slot` and `place` in the limits are free once it has ended.
    pub(crate) fn new(
        listener: Arc<ListenerState<H>>,
        kind: Listener,
        (peer, local): (SocketAddr, Option<SocketAddr>),
        slot: OwnedSemaphorePermit,
        place: Option<Place>,
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
            Connection { server, facts, activity, bare: OnceLock::new(), _place: Box::new((open, slot, place)) };
        Self { listener, connection: Arc::new(connection) }
    }

    /// Serves the connection to its end. What fails on one connection affects no other.
    pub(crate) async fn serve(self, socket: Socket) {
        let socket = match socket {
            Socket::Tcp(socket) => {
                let activity = Arc::clone(&self.connection.activity);
                Tcp::new(socket, activity, Arc::clone(&self.listener.unread), self.limits())
            }
            // What most connections are not stands on the heap: an idle one costs what it needs itself.
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

    /// Has hyper serve the socket. While it is idle, hyper and its buffers, of 16 KiB and more, are not there.
    async fn serve_http1<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(&self, mut wire: GuardedIo<S>) {
        loop {
            let connection = Arc::clone(&self.connection);
            // On the heap, where it is only while it runs: hyper keeps the place of the last one.
            let service = service_fn(move |request| Box::pin(service::answer(Arc::clone(&connection), request)));
            let served = self.listener.http1.serve_connection(TokioIo::new(wire), service);
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
                () = self.connection.server.drain.draining() => false,
                () = self.connection.activity.closing.given_up() => false,
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
        let Connection { server, activity, facts, .. } = &*self.connection;
        let mut drain = pin!(server.drain.draining_notified());
        let mut cut = pin!(server.drain.cut_notified());
        let mut given_up = pin!(activity.closing.notified());
        let (mut listening, mut told) = (false, false);
        let driven = std::future::poll_fn(|cx| {
            if !listening {
                // One poll leaves this task's waker with all of them; after that a look at what they tell is enough.
                listening = drain.as_mut().poll(cx).is_pending()
                    & cut.as_mut().poll(cx).is_pending()
                    & given_up.as_mut().poll(cx).is_pending();
            }
            if activity.closing.is_given_up() {
                tracing::debug!(peer = %self.connection.facts.peer, "a connection ended: it held too much for too long");
                return Poll::Ready(Driven::ToItsEnd);
            }
            loop {
                // Polled before it is told to finish, so that a request which has come is answered, if only by a
                // refusal.
                if let Poll::Ready(ended) = connection.as_mut().poll(cx) {
                    if let Err(error) = ended {
                        tracing::debug!(peer = %self.connection.facts.peer, %error, "a connection ended early");
                    }
                    return Poll::Ready(Driven::ToItsEnd);
                }
                let finish = match server.drain.phase() {
                    Phase::Serving => activity.closing.is_requested(),
                    Phase::Draining => !facts.is_late || activity.closing.is_requested(),
                    Phase::Cut => return Poll::Ready(Driven::ToItsEnd),
                };
                if activity.closing.take_idle() && !finish && activity.is_quiet() {
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
        if activity.closing.is_stalled() {
            server.traffic.stalled.fetch_add(1, Ordering::Relaxed);
        }
        driven
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
