//! One connection, from its first byte to its last.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use bytes::BytesMut;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsAcceptor;

use super::census::AddressSlot;
use super::detach::Detach;
use super::drive::drive;
use super::http1;
use super::socket::Tcp;
use super::state::ListenerState;
use crate::exchange::connection::Connection;
use crate::exchange::connection_facts::ConnectionFacts;
use crate::exchange::drain::Phase;
use crate::exchange::handler::Handler;
use crate::exchange::routes::Listener;
use crate::exchange::service;
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
            Protocol::Http1 => http1::serve(&self.listener.http1, &self.connection, wire).await,
            Protocol::Http2 => {
                let connection = Arc::clone(&self.connection);
                let service = service_fn(move |request| {
                    let call = service::answer(Arc::clone(&connection), request);
                    Detach::new(call, Arc::clone(&connection.activity))
                });
                let mut served = Box::pin(self.listener.http2.serve_connection(TokioIo::new(wire), service));
                drive(&self.connection, served.as_mut(), |served| served.graceful_shutdown()).await;
            }
        }
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
