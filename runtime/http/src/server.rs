//! The listeners: accept, count, serve, drain.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::body::Room;
use super::client_addr::{self, Census, Proxies};
use super::connection::{Activity, Connection, Socket};
use super::control::Control;
use super::cors::Cors;
use super::files;
use super::handler::Handler;
use super::options::HttpOptions;
use super::rate::Rate;
use super::routes::Listener;
use super::tls::{Tls, TlsError};
use super::unread::{self, SendQueues, Unread};
use convoke_core::answer::budget::{Budget, Relief};
use convoke_core::limits::Limits;

/// Connections that the system holds while none is accepted.
const BACKLOG: u32 = 1024;
/// Connections of the ops listener, apart from the others, so that a flood of calls does not hide the metrics.
const OPS_CONNECTIONS_MAX: usize = 64;
/// Connections of the control socket.
const CONTROL_CONNECTIONS_MAX: usize = 64;
/// Bytes that one connection reads ahead of what it serves, unless a header block may be larger. No budget has them.
const READ_AHEAD_BYTES_MAX: usize = 32 * 1024;
/// Bytes of requests that HTTP/2 lets a client send before anybody asks for them: on each stream, and on all of them.
/// No budget has these either, so they are the least that a connection may be held to.
const HTTP2_WINDOW_BYTES: u32 = 64 * 1024;
/// Bytes of one response that HTTP/2 takes over before they can be sent.
const HTTP2_SEND_BYTES_MAX: usize = 64 * 1024;
/// How long a drain still waits for connections on which nothing happens any more.
const QUIET_MAX: Duration = Duration::from_millis(500);
/// How often a drain looks.
const DRAIN_TICK: Duration = Duration::from_millis(10);
/// How long accepting pauses when the system has no more files to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why a server cannot start.
#[derive(Debug, Error)]
pub enum BindError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Not an origin as browsers send it.
    #[error("`{0}` is not an origin: write scheme, host and port only, such as https://app.example.com, or *")]
    Origin(String),
}

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainOutcome {
    /// Calls that were still running when the time was over.
    pub cut: usize,
}

/// Counts of what the listeners see, for the metrics. All but the connections and bytes of now only ever grow.
#[derive(Default)]
pub struct Traffic {
    open: AtomicU64,
    accepted: AtomicU64,
    turned_away: AtomicU64,
    handshake_failures: AtomicU64,
    refusals: AtomicU64,
    stalled: AtomicU64,
    given_up: AtomicU64,
    unread_closed: AtomicU64,
    room: OnceLock<Arc<Room>>,
    unread: OnceLock<Arc<Unread>>,
}

impl Traffic {
    /// Connections open now, counting those whose calls have outlived them.
    pub fn connections_open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Connections accepted.
    pub fn connections_accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Connections closed at once because their address had too many, or too many unread bytes.
    pub fn connections_turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// TLS handshakes that failed or took too long.
    pub fn handshake_failures(&self) -> u64 {
        self.handshake_failures.load(Ordering::Relaxed)
    }

    /// Requests that the listener answered with an error, so that the handler never heard of them.
    pub fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Connections that were closed because their client took nothing of a response.
    pub fn connections_stalled(&self) -> u64 {
        self.stalled.load(Ordering::Relaxed)
    }

    /// Connections that were closed because they were the slowest when memory for answers ran out.
    pub fn connections_given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Connections that were closed because their address, or all addresses together, had too many unread bytes.
    pub fn connections_closed_unread(&self) -> u64 {
        self.unread_closed.load(Ordering::Relaxed)
    }

    /// Bytes of responses that the system held for clients at the last look.
    pub fn unread_system_bytes(&self) -> usize {
        self.unread.get().map_or(0, |unread| unread.found())
    }

    /// Bytes that request bodies take now, or are about to.
    pub fn request_bytes(&self) -> usize {
        self.room.get().map_or(0, |room| room.bytes())
    }

    /// Request bodies that had to wait for room.
    pub fn request_waits(&self) -> u64 {
        self.room.get().map_or(0, |room| room.waits())
    }

    pub(super) fn count_stalled(&self) {
        self.stalled.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_handshake_failure(&self) {
        self.handshake_failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_refusal(&self) {
        self.refusals.fetch_add(1, Ordering::Relaxed);
    }
}

/// Addresses on which a process listens before it has a server for them. Servers that share them serve one after the other,
/// and the system holds the connections that come in between.
pub struct Listening {
    calls: std::net::TcpListener,
    ops: Option<std::net::TcpListener>,
}

impl Listening {
    /// Listens on the addresses of these options.
    ///
    /// # Errors
    /// [`BindError::Listen`].
    pub fn open(options: &HttpOptions) -> Result<Self, BindError> {
        Ok(Self { calls: listen(options.listen)?, ops: options.ops_listen.map(listen).transpose()? })
    }

    /// The same addresses for another server.
    ///
    /// # Errors
    /// [`BindError::Listen`].
    pub fn share(&self) -> Result<Self, BindError> {
        let share = |listener: &std::net::TcpListener| {
            let address = bound(listener)?;
            listener.try_clone().map_err(|source| BindError::Listen { address, source })
        };
        Ok(Self { calls: share(&self.calls)?, ops: self.ops.as_ref().map(share).transpose()? })
    }
}

fn bound(listener: &std::net::TcpListener) -> Result<SocketAddr, BindError> {
    let unknown = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    listener.local_addr().map_err(|source| BindError::Listen { address: unknown, source })
}

/// A bound server, ready to [run](Server::run).
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
    shared: Arc<Shared<H>>,
    listener: TcpListener,
    ops: Option<TcpListener>,
    control: Option<Control>,
    local_addr: SocketAddr,
    ops_addr: Option<SocketAddr>,
}

impl<H: Handler> Server<H> {
    /// Listens, reads the certificate, checks the options, and raises the process's limit of open files if there are to
    /// be more connections. Nothing is accepted before [`Server::run`].
    ///
    /// # Errors
    /// [`BindError`], which says what to change.
    pub async fn bind(options: HttpOptions, handler: H) -> Result<Self, BindError> {
        let listening = Listening::open(&options)?;
        Self::on(listening, options, handler).await
    }

    /// As [`Server::bind`], on addresses that are listened on already.
    ///
    /// # Errors
    /// [`BindError`].
    pub async fn on(listening: Listening, options: HttpOptions, handler: H) -> Result<Self, BindError> {
        let tls = options.tls.clone().map(Tls::open).transpose()?;
        let cors = Cors::new(&options.cors_origins, options.dev).map_err(BindError::Origin)?;
        let (listener, local_addr) = accepting(listening.calls)?;
        files::make_room(options.limits.connections_max);
        let (ops, ops_addr) = listening.ops.map(accepting).transpose()?.unzip();
        let control = options.control.as_deref().and_then(Control::open);
        let answers = handler.answers().unwrap_or_else(|| Budget::new(options.limits.response_bytes_total_max));
        let shared = Arc::new(Shared {
            handler,
            unread: Arc::new(Unread::new(&options.limits, Arc::clone(&answers))),
            answers,
            room: Arc::new(Room::new(&options.limits)),
            tls,
            cors,
            proxies: Proxies(options.trusted_proxies),
            rate: Rate::new(options.limits.calls_per_address_per_second),
            http1: http1_builder(&options.limits),
            http2: http2_builder(&options.limits),
            census: Arc::default(),
            limits: options.limits,
            phase: AtomicU8::new(Phase::Serving as u8),
            drain: Notify::new(),
            cut: Notify::new(),
            open: Mutex::default(),
            next: AtomicU64::new(0),
            traffic: Arc::default(),
        });
        let _ = shared.traffic.room.set(Arc::clone(&shared.room));
        let _ = shared.traffic.unread.set(Arc::clone(&shared.unread));
        let relief: Weak<dyn Relief> = Arc::<Shared<H>>::downgrade(&shared);
        shared.answers.relieved_by(relief);
        shared.handler.bound(&shared.traffic);
        Ok(Self { shared, listener, ops, control, local_addr, ops_addr })
    }

    /// Where calls are served.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Where `/metrics` is served, if it has a listener of its own.
    pub fn ops_addr(&self) -> Option<SocketAddr> {
        self.ops_addr
    }

    /// Counts of what the listeners see.
    pub fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.shared.traffic)
    }

    /// What answers.
    pub fn handler(&self) -> &H {
        &self.shared.handler
    }

    /// Serves until `shutdown` ends, then drains: idle connections close, running calls finish, new ones are answered
    /// `NOT_READY`, `/readyz` turns red, until nothing runs any more or `drain_timeout` has passed. What still runs
    /// then is dropped, and counted in the outcome.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> DrainOutcome {
        let shared = self.shared;
        // Dropping this future ends the server at once: the set aborts its tasks, the guard drops the connections.
        let _end = CutOnDrop(Arc::clone(&shared));
        let mut tasks = JoinSet::new();
        let ports =
            [Some(self.local_addr), self.ops_addr].into_iter().flatten().map(|address| address.port()).collect();
        tasks.spawn(watch_unread(Arc::clone(&shared), ports));
        let calls = if self.ops.is_some() { Listener::CallsOnly } else { Listener::Calls };
        tasks.spawn(accept(Arc::clone(&shared), self.listener, calls, shared.limits.connections_max));
        if let Some(ops) = self.ops {
            tasks.spawn(accept(Arc::clone(&shared), ops, Listener::Ops, OPS_CONNECTIONS_MAX));
        }
        if let Some(control) = self.control {
            tasks.spawn(accept(Arc::clone(&shared), control, Listener::Control, CONTROL_CONNECTIONS_MAX));
        }
        if shared.tls.is_some() {
            let shared = Arc::clone(&shared);
            tasks.spawn(async move {
                if let Some(tls) = &shared.tls {
                    tls.follow().await;
                }
            });
        }
        shutdown.await;
        let outcome = shared.drain().await;
        // The control socket goes before the one who waits for this may start the next server.
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
        // A restart must not wait for the connections of the server before it.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)?.into_std()
    };
    bind().map_err(|source| BindError::Listen { address, source })
}

fn http1_builder(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // The wire keeps the time, and a client that has sent its request may close its side and still gets its answer.
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

/// Where the server is between start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    Serving,
    Draining,
    Cut,
}

/// What every connection of a server shares.
pub(super) struct Shared<H> {
    pub(super) handler: H,
    pub(super) limits: Limits,
    pub(super) tls: Option<Tls>,
    pub(super) cors: Cors,
    pub(super) proxies: Proxies,
    pub(super) rate: Option<Rate>,
    pub(super) http1: http1::Builder,
    pub(super) http2: http2::Builder<TokioExecutor>,
    pub(super) drain: Notify,
    pub(super) cut: Notify,
    pub(super) traffic: Arc<Traffic>,
    /// What the bytes of answers are charged to, and what those of requests are.
    pub(super) answers: Arc<Budget>,
    pub(super) room: Arc<Room>,
    pub(super) unread: Arc<Unread>,
    census: Arc<Census>,
    phase: AtomicU8,
    open: Mutex<HashMap<u64, (SocketAddr, Arc<Activity>)>>,
    next: AtomicU64,
}

impl<H> Shared<H> {
    pub(super) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Serving,
            1 => Phase::Draining,
            _ => Phase::Cut,
        }
    }

    /// Waits until the server drains.
    pub(super) async fn draining(&self) {
        let mut drain = std::pin::pin!(self.drain.notified());
        drain.as_mut().enable();
        if self.phase() == Phase::Serving {
            drain.await;
        }
    }

    /// Enters a connection of `peer` among the open ones; the number is for [`Shared::close`].
    pub(super) fn open(&self, peer: SocketAddr, activity: Arc<Activity>) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.lock().insert(number, (peer, activity));
        self.traffic.open.fetch_add(1, Ordering::Relaxed);
        self.traffic.accepted.fetch_add(1, Ordering::Relaxed);
        number
    }

    /// The connection and all its calls have ended.
    pub(super) fn close(&self, number: u64) {
        self.open.lock().remove(&number);
        self.traffic.open.fetch_sub(1, Ordering::Relaxed);
    }

    fn enter(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::AcqRel);
        match phase {
            Phase::Serving => {}
            Phase::Draining => self.drain.notify_waiters(),
            Phase::Cut => self.cut.notify_waiters(),
        }
    }

    async fn drain(&self) -> DrainOutcome {
        self.enter(Phase::Draining);
        // Later connections are answered but not waited for, or they could hold the drain open.
        let until = self.next.load(Ordering::Relaxed);
        let start = Instant::now();
        let mut quiet_since = None;
        while start.elapsed() < self.limits.drain_timeout {
            match self.rest(until) {
                Rest::Gone => return DrainOutcome { cut: 0 },
                Rest::Quiet if quiet_since.get_or_insert_with(Instant::now).elapsed() >= QUIET_MAX => break,
                Rest::Quiet => {}
                Rest::Busy => quiet_since = None,
            }
            tokio::time::sleep(DRAIN_TICK).await;
        }
        let cut = self.open.lock().values().map(|(_, activity)| activity.calls()).sum();
        self.enter(Phase::Cut);
        DrainOutcome { cut }
    }

    fn rest(&self, until: u64) -> Rest {
        let open = self.open.lock();
        let mut rest = open.iter().filter(|(number, _)| **number < until).peekable();
        if rest.peek().is_none() {
            return Rest::Gone;
        }
        if rest.all(|(_, (_, activity))| activity.is_quiet()) { Rest::Quiet } else { Rest::Busy }
    }
}

impl<H: Handler> Relief for Shared<H> {
    fn relieve(&self, bytes: usize) -> usize {
        let open = self.open.lock();
        let holding = open.values().map(|(_, activity)| (activity, activity.held.bytes()));
        close_slowest(holding.filter(|(_, bytes)| *bytes > 0).collect(), bytes, &self.traffic.given_up)
    }
}

/// Closes the slowest of these connections until `bytes` of what they hold are on their way out. How many are, those
/// included that were before.
fn close_slowest(holding: Vec<(&Arc<Activity>, usize)>, bytes: usize, closed: &AtomicU64) -> usize {
    let (given_up, mut holding): (Vec<_>, Vec<_>) =
        holding.into_iter().partition(|(activity, _)| activity.is_given_up());
    let held = |holding: &[(&Arc<Activity>, usize)]| holding.iter().map(|(_, bytes)| bytes).sum::<usize>();
    let mut leaving = held(&given_up);
    // Where clients hold less than that, answers are made faster than the server sends them: nobody is slow.
    if leaving < bytes && leaving + held(&holding) >= bytes {
        let now = Instant::now();
        holding.sort_by_cached_key(|(activity, bytes)| std::cmp::Reverse(activity.held.needs(*bytes, now)));
        for (activity, held) in holding {
            leaving += held;
            activity.give_up();
            closed.fetch_add(1, Ordering::Relaxed);
            if leaving >= bytes {
                break;
            }
        }
    }
    leaving
}

/// Holds addresses, and all of them together, to their bounds of unread bytes.
async fn watch_unread<H: Handler>(shared: Arc<Shared<H>>, ports: Vec<u16>) {
    let mut over_since = OverSince::default();
    shared.unread.watch(ports, |queues, now| shared.review(queues, &mut over_since, now)).await;
}

/// Since when addresses, and all of them together, have been above their bounds of unread bytes.
#[derive(Default)]
struct OverSince {
    addresses: HashMap<IpAddr, Over>,
    all: Option<Instant>,
}

/// An address above its bound.
struct Over {
    since: Instant,
    /// True once the log names it.
    is_logged: bool,
}

/// The unread bytes of an address, and the connections that have them.
#[derive(Default)]
struct UnreadOf<'a> {
    bytes: usize,
    connections: Vec<(&'a Arc<Activity>, usize)>,
}

impl UnreadOf<'_> {
    /// Closes the slowest connections until the rest has so many bytes, or all: closed ones may still have some.
    fn close_down_to(self, bytes_max: usize, closed: &AtomicU64) {
        let of_open = self.connections.iter().map(|(_, bytes)| bytes).sum::<usize>();
        close_slowest(self.connections, (self.bytes - bytes_max).min(of_open), closed);
    }
}

impl<H> Shared<H> {
    /// Closes the slowest connections of each address that has been above its bound for some time, and of all addresses
    /// together. The addresses that are above it.
    fn review(&self, queues: &SendQueues, over_since: &mut OverSince, now: Instant) -> HashSet<IpAddr> {
        let open = self.open.lock();
        let mut addresses = HashMap::<IpAddr, UnreadOf<'_>>::new();
        let mut all = UnreadOf { bytes: queues.values().sum(), connections: Vec::new() };
        // Closed connections of which the system still holds bytes count for their address too.
        for (peer, bytes) in queues {
            addresses.entry(client_addr::counted_as(peer.ip())).or_default().bytes += bytes;
        }
        for (peer, activity) in open.values() {
            let (held, queued) = (activity.held.bytes(), queues.get(peer).copied().unwrap_or_default());
            if held + queued > 0 {
                let address = addresses.entry(client_addr::counted_as(peer.ip())).or_default();
                address.bytes += held;
                address.connections.push((activity, held + queued));
                all.connections.push((activity, queued));
            }
        }
        let bytes_max = self.limits.unread_bytes_per_address_max;
        // A proxy connects for many clients.
        addresses.retain(|address, unread| unread.bytes > bytes_max && !self.proxies.trust(*address));
        over_since.addresses.retain(|address, _| addresses.contains_key(address));
        let over = addresses.keys().copied().collect();
        let closed = &self.traffic.unread_closed;
        for (address, unread) in addresses {
            let over = over_since.addresses.entry(address).or_insert(Over { since: now, is_logged: false });
            if over.since + unread::PATIENCE > now {
                continue;
            }
            if !std::mem::replace(&mut over.is_logged, true) {
                tracing::warn!(%address, bytes = unread.bytes, "closing connections of an address that reads too little");
            }
            unread.close_down_to(bytes_max, closed);
        }
        let total_max = self.limits.response_bytes_total_max;
        over_since.all = (all.bytes > total_max).then(|| over_since.all.unwrap_or(now));
        if over_since.all.is_some_and(|since| since + unread::PATIENCE <= now) {
            all.close_down_to(total_max, closed);
        }
        over
    }
}

/// What the connections from before a drain are doing.
enum Rest {
    Gone,
    Quiet,
    Busy,
}

struct CutOnDrop<H>(Arc<Shared<H>>);

impl<H> Drop for CutOnDrop<H> {
    fn drop(&mut self) {
        self.0.enter(Phase::Cut);
    }
}

/// Where connections come in.
trait Accept {
    /// The next one, and the address at its other end.
    async fn next(&self) -> io::Result<(Socket, SocketAddr)>;
}

impl Accept for TcpListener {
    async fn next(&self) -> io::Result<(Socket, SocketAddr)> {
        let (socket, peer) = self.accept().await?;
        Ok((Socket::Tcp(socket), client_addr::canonical(peer)))
    }
}

/// Whoever opens it is on this machine.
impl Accept for Control {
    async fn next(&self) -> io::Result<(Socket, SocketAddr)> {
        Ok((Socket::Local(self.accept().await?), SocketAddr::from((Ipv4Addr::LOCALHOST, 0))))
    }
}

/// Accepts forever. Past the limit it waits until a connection closes, and the system holds what comes meanwhile.
async fn accept<H: Handler>(shared: Arc<Shared<H>>, listener: impl Accept, kind: Listener, connections_max: usize) {
    let slots = Arc::new(Semaphore::new(connections_max.min(Semaphore::MAX_PERMITS)));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let (socket, peer) = match listener.next().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // A connection that was gone before it was accepted is nobody's fault. Anything else, such as no
                // more files, lasts: trying again at once would only spin.
                if error.kind() != io::ErrorKind::ConnectionAborted {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
                continue;
            }
        };
        // A proxy connects for many clients, whose calls are counted under their own addresses.
        let address = peer.ip();
        let connections_max = shared.limits.connections_per_address_max;
        let place = if kind == Listener::Control || shared.proxies.trust(address) {
            None
        } else if !shared.unread.is_over(address)
            && let Some(place) = shared.census.enter(address, connections_max)
        {
            Some(place)
        } else {
            shared.traffic.turned_away.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let local = socket.local_addr();
        tokio::spawn(Connection::new(Arc::clone(&shared), kind, (peer, local), slot, place).serve(socket));
    }
}
