//! The listeners: they accept, count, serve and drain connections.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::bind_error::BindError;
use super::census::Census;
use super::connection::{Driver, Socket};
use super::control::Control;
use super::files;
use super::open_connections::{OpenConnections, Remaining};
use super::options::HttpOptions;
use super::state::ListenerState;
use super::tls::Tls;
use super::unread::Unread;
use super::unread_review::UnreadReview;
use crate::exchange::body::BodyMemory;
use crate::exchange::client_addr::{self, Proxies};
use crate::exchange::connection::ServerState;
use crate::exchange::cors::Cors;
use crate::exchange::drain::{Drain, Phase};
use crate::exchange::handler::Handler;
use crate::exchange::rate::Rate;
use crate::exchange::routes::Listener;
use crate::exchange::traffic::Traffic;
use convoke_core::answer::budget::{Budget, Relief};
use convoke_core::limits::Limits;

/// Connections that the system queues before the server accepts them.
const BACKLOG: u32 = 1024;
/// Largest number of connections of the ops listener. They are counted separately, so that a flood of calls does not
/// block the metrics.
const OPS_CONNECTIONS_MAX: usize = 64;
/// Largest number of connections of the control socket.
const CONTROL_CONNECTIONS_MAX: usize = 64;
/// Bytes that a connection reads ahead, unless a header block may be larger. No budget counts them. A body that the
/// handler reads in pieces has up to three of them: the handler's, the next one, and the one that arrives.
const READ_AHEAD_BYTES_MAX: usize = 16 * 1024;
/// Request bytes that an HTTP/2 client may send before the server reads them, per stream and per connection. No budget
/// counts them either, so the window is as small as possible.
const HTTP2_WINDOW_BYTES: u32 = 64 * 1024;
/// Bytes of a response that HTTP/2 buffers before they can be sent.
const HTTP2_SEND_BYTES_MAX: usize = 64 * 1024;
/// Time that a drain waits for connections without activity.
const QUIET_MAX: Duration = Duration::from_millis(500);
/// Interval at which a drain checks the connections.
const DRAIN_TICK: Duration = Duration::from_millis(10);
/// Pause before the next accept when the process has no free file.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The result of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainOutcome {
    /// The number of calls that were still running after the drain timeout.
    pub cut: usize,
}

/// Addresses on which a process listens before it has a server. Servers that share them run one after the other, and
/// the system queues the connections in between.
pub struct Listening {
    calls: std::net::TcpListener,
    ops: Option<std::net::TcpListener>,
    is_inherited: bool,
}

impl Listening {
    /// Listens on the addresses of these options.
    ///
    /// # Errors
    /// [`BindError::Listen`].
    pub fn open(options: &HttpOptions) -> Result<Self, BindError> {
        let ops = options.ops_listen.map(listen).transpose()?;
        Ok(Self { calls: listen(options.listen)?, ops, is_inherited: false })
    }

    /// Takes the sockets of another process, in the order of [`Listening::sockets`]. That process continues to listen, so
    /// a server on them accepts no connection once it drains: the system queues connections for the next server.
    pub fn inherited(calls: OwnedFd, ops: Option<OwnedFd>) -> Self {
        Self { calls: calls.into(), ops: ops.map(Into::into), is_inherited: true }
    }

    /// Makes inherited sockets those of this process alone: the process that passed them has ended.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { is_inherited: false, ..self }
    }

    /// Returns the socket for calls, and then the one of the ops listener if there is one, to pass them to another
    /// process.
    pub fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        [Some(&self.calls), self.ops.as_ref()].into_iter().flatten().map(AsFd::as_fd).collect()
    }

    /// Returns the same addresses for another server.
    ///
    /// # Errors
    /// [`BindError::Listen`].
    pub fn share(&self) -> Result<Self, BindError> {
        let share = |listener: &std::net::TcpListener| {
            let address = bound(listener)?;
            listener.try_clone().map_err(|source| BindError::Listen { address, source })
        };
        let ops = self.ops.as_ref().map(share).transpose()?;
        Ok(Self { calls: share(&self.calls)?, ops, is_inherited: self.is_inherited })
    }
}

fn bound(listener: &std::net::TcpListener) -> Result<SocketAddr, BindError> {
    let unknown = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    listener.local_addr().map_err(|source| BindError::Listen { address: unknown, source })
}

/// A bound server that is ready to [run](Server::run).
///
/// ```no_run
/// # async fn f(handler: impl convoke_http::Handler) -> Result<(), Box<dyn std::error::Error>> {
/// use convoke_http::{HttpOptions, Server};
///
/// let server = Server::bind(HttpOptions::new("127.0.0.1:3210".parse()?), handler).await?;
/// let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
/// let outcome = server.run(stop).await;
/// assert_eq!(outcome.cut, 0);
/// # Ok(())
/// # }
/// ```
pub struct Server<H: Handler> {
    state: Arc<ListenerState<H>>,
    listener: TcpListener,
    ops: Option<TcpListener>,
    control: Option<Control>,
    local_addr: SocketAddr,
    ops_addr: Option<SocketAddr>,
    /// True if another process listens on the same sockets.
    is_inherited: bool,
}

impl<H: Handler> Server<H> {
    /// Listens, reads the certificate, checks the options, and raises the process's limit of open files if the limit of
    /// connections needs it. Accepts no connection before [`Server::run`].
    ///
    /// # Errors
    /// [`BindError`], which says what to change.
    pub async fn bind(options: HttpOptions, handler: H) -> Result<Self, BindError> {
        let listening = Listening::open(&options)?;
        Self::on(listening, options, handler).await
    }

    /// Creates a server like [`Server::bind`], on addresses that are already bound.
    ///
    /// # Errors
    /// [`BindError`].
    pub async fn on(listening: Listening, options: HttpOptions, handler: H) -> Result<Self, BindError> {
        let tls = options.tls.clone().map(Tls::open).transpose()?;
        let cors = Cors::new(&options.cors_origins, options.dev).map_err(BindError::Origin)?;
        let is_inherited = listening.is_inherited;
        let (listener, local_addr) = accepting(listening.calls)?;
        files::raise_limit(options.limits.connections_max);
        let (ops, ops_addr) = listening.ops.map(accepting).transpose()?.unzip();
        let control = options.control.as_deref().and_then(Control::open);
        let answers = handler.answers().unwrap_or_else(|| Budget::new(options.limits.response_bytes_total_max));
        let traffic = Arc::<Traffic>::default();
        let body_memory = Arc::new(BodyMemory::new(&options.limits));
        let _ = traffic.body_memory.set(Arc::clone(&body_memory));
        let open = Arc::new(OpenConnections::new(Arc::clone(&traffic)));
        let relief: Weak<dyn Relief> = Arc::<OpenConnections>::downgrade(&open);
        answers.relieved_by(relief);
        handler.bound(&traffic);
        let state = Arc::new(ListenerState {
            tls,
            http1: http1_builder(&options.limits),
            http2: http2_builder(&options.limits),
            unread: Arc::new(Unread::new(&options.limits, Arc::clone(&answers), Arc::clone(&traffic))),
            census: Arc::<Census>::default(),
            open,
            server: Arc::new(ServerState {
                handler,
                cors,
                proxies: Proxies(options.trusted_proxies),
                rate: Rate::new(options.limits.calls_per_address_per_second),
                limits: options.limits,
                body_memory,
                answers,
                compression: options.compression,
                drain: Drain::default(),
                traffic,
            }),
        });
        Ok(Self { state, listener, ops, control, local_addr, ops_addr, is_inherited })
    }

    /// The address for calls.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The address of the ops listener, if there is one.
    pub fn ops_addr(&self) -> Option<SocketAddr> {
        self.ops_addr
    }

    /// The counts of the listeners.
    pub fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.state.server.traffic)
    }

    /// The handler.
    pub fn handler(&self) -> &H {
        &self.state.server.handler
    }

    /// Serves until `shutdown` completes, and then drains. During the drain, idle connections close, running calls
    /// finish, new calls are rejected with `NOT_READY`, and `/readyz` returns 503; on inherited sockets, new connections
    /// wait for the next server instead. The drain ends when all calls have
    /// ended or `drain_timeout` has passed. Calls that still run are dropped and counted in the outcome.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> DrainOutcome {
        let state = self.state;
        // A drop of this future ends the server immediately: the set aborts its tasks, and the guard drops the
        // connections.
        let _end = CutOnDrop(Arc::clone(&state.server));
        let mut tasks = JoinSet::new();
        let ports =
            [Some(self.local_addr), self.ops_addr].into_iter().flatten().map(|address| address.port()).collect();
        tasks.spawn(watch_unread(Arc::clone(&state), ports));
        let calls = if self.ops.is_some() { Listener::CallsOnly } else { Listener::Calls };
        let connections_max = state.server.limits.connections_max;
        let mut accepting = vec![tasks.spawn(accept(Arc::clone(&state), self.listener, calls, connections_max))];
        if let Some(ops) = self.ops {
            accepting.push(tasks.spawn(accept(Arc::clone(&state), ops, Listener::Ops, OPS_CONNECTIONS_MAX)));
        }
        if let Some(control) = self.control {
            tasks.spawn(accept(Arc::clone(&state), control, Listener::Control, CONTROL_CONNECTIONS_MAX));
        }
        if state.tls.is_some() {
            let state = Arc::clone(&state);
            tasks.spawn(async move {
                if let Some(tls) = &state.tls {
                    tls.follow().await;
                }
            });
        }
        shutdown.await;
        if self.is_inherited {
            accepting.iter().for_each(AbortHandle::abort);
        }
        let outcome = drain(&state.server, &state.open).await;
        // The control socket is removed before this returns, because the caller may then start the next server.
        tasks.shutdown().await;
        outcome
    }
}

fn accepting(listener: std::net::TcpListener) -> Result<(TcpListener, SocketAddr), BindError> {
    let address = bound(&listener)?;
    let listener = TcpListener::from_std(listener).map_err(|source| BindError::Listen { address, source })?;
    Ok((listener, address))
}

fn listen(address: SocketAddr) -> Result<std::net::TcpListener, BindError> {
    let bind = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // A restart must not wait for the connections of the previous server.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)?.into_std()
    };
    bind().map_err(|source| BindError::Listen { address, source })
}

fn http1_builder(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // The wire has its own timeouts. A client may close its side after its request and still get the response.
    builder.header_read_timeout(None).half_close(true);
    builder.max_buf_size(READ_AHEAD_BYTES_MAX.max(limits.header_bytes_max));
    if limits.header_fields_max > 100 {
        builder.max_headers(limits.header_fields_max);
    }
    builder
}

fn http2_builder(limits: &Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.http2_streams_max)
        .max_header_list_size(u32::try_from(limits.header_bytes_max).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(Some(32))
        .max_local_error_reset_streams(Some(256))
        .initial_stream_window_size(Some(HTTP2_WINDOW_BYTES))
        .initial_connection_window_size(Some(HTTP2_WINDOW_BYTES))
        .max_send_buf_size(HTTP2_SEND_BYTES_MAX)
        .keep_alive_interval(Some(limits.idle_timeout / 2))
        .keep_alive_timeout(limits.header_timeout);
    builder
}

/// Waits for the running calls of a server, and drops them after the drain timeout.
async fn drain<H>(server: &ServerState<H>, open: &OpenConnections) -> DrainOutcome {
    server.drain.enter(Phase::Draining);
    // The drain does not wait for later connections, because they could keep it from ending.
    let until = open.next();
    let start = Instant::now();
    let mut quiet_since = None;
    while start.elapsed() < server.limits.drain_timeout {
        match open.remaining(until) {
            Remaining::Closed => return DrainOutcome { cut: 0 },
            Remaining::Quiet if quiet_since.get_or_insert_with(Instant::now).elapsed() >= QUIET_MAX => break,
            Remaining::Quiet => {}
            Remaining::Busy => quiet_since = None,
        }
        tokio::time::sleep(DRAIN_TICK).await;
    }
    let cut = open.calls();
    server.drain.enter(Phase::Cut);
    DrainOutcome { cut }
}

/// Enforces the limits of unread bytes per address and in total.
async fn watch_unread<H: Handler>(state: Arc<ListenerState<H>>, ports: Vec<u16>) {
    let server = Arc::clone(&state.server);
    let traffic = Arc::clone(&server.traffic);
    let mut unread = UnreadReview::new(&state.server.limits, move |address| server.proxies.trust(address), traffic);
    state.unread.watch(ports, |queues, now| state.open.review(|open| unread.review(open, queues, now))).await;
}

struct CutOnDrop<H>(Arc<ServerState<H>>);

impl<H> Drop for CutOnDrop<H> {
    fn drop(&mut self) {
        self.0.drain.enter(Phase::Cut);
    }
}

/// A source of connections.
trait Accept {
    /// Accepts a connection and returns the address of its peer.
    async fn next(&self) -> io::Result<(Socket, SocketAddr)>;
}

impl Accept for TcpListener {
    async fn next(&self) -> io::Result<(Socket, SocketAddr)> {
        let (socket, peer) = self.accept().await?;
        Ok((Socket::Tcp(socket), client_addr::canonical(peer)))
    }
}

/// Clients of the control socket are on this machine.
impl Accept for Control {
    async fn next(&self) -> io::Result<(Socket, SocketAddr)> {
        Ok((Socket::Local(self.accept().await?), SocketAddr::from((Ipv4Addr::LOCALHOST, 0))))
    }
}

/// Accepts connections forever. At the limit, waits until a connection closes; the system queues new connections
/// meanwhile.
async fn accept<H: Handler>(
    state: Arc<ListenerState<H>>,
    listener: impl Accept,
    kind: Listener,
    connections_max: usize,
) {
    let slots = Arc::new(Semaphore::new(connections_max.min(Semaphore::MAX_PERMITS)));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let (socket, peer) = match listener.next().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // A connection that closed before it was accepted is not an error. Other errors, such as no free file,
                // last: an immediate retry would only spin.
                if error.kind() != io::ErrorKind::ConnectionAborted {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
                continue;
            }
        };
        // A proxy connects for many clients. Their calls count under their own addresses.
        let address = peer.ip();
        let server = &state.server;
        let connections_max = server.limits.connections_per_address_max;
        let address_slot = if kind == Listener::Control || server.proxies.trust(address) {
            None
        } else if !state.unread.is_over(address)
            && let Some(slot) = state.census.enter(address, connections_max)
        {
            Some(slot)
        } else {
            server.traffic.turned_away.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let local = socket.local_addr();
        tokio::spawn(Driver::new(Arc::clone(&state), kind, (peer, local), slot, address_slot).serve(socket));
    }
}
