//! A connection that is no longer HTTP: WebSocket messages of text, both ways (RFC 6455).
//!
//! The handshake is an ordinary request and stands under all limits of one. From then on the socket is this module's:
//! a message is read within its bound, and one that the client does not take for too long ends the connection. Nothing is
//! compressed: tokens and what strangers wrote would share a window.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use hyper::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use hyper::http::request::Parts;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Method, Version};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{CapacityError, Error as WireError};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};

use super::reply::Reply;
use crate::wire::activity::Activity;
use crate::wire::guarded_io::GuardedIo;
use crate::wire::rejection::Rejection;
use convoke_core::error::Code;

const NO_UPGRADE: Rejection = Rejection {
    code: Code::BadRequest,
    message: "This route is a WebSocket of version 13; the request asks for none.",
};
const FOREIGN: Rejection = Rejection { code: Code::Forbidden, message: FOREIGN_MESSAGE };
const FOREIGN_MESSAGE: &str = "Pages of this origin may not connect to this server: its operator allows an origin by the \
                               setting cors_origins (--cors-origin).";

const SEC_WEBSOCKET_KEY: HeaderName = HeaderName::from_static("sec-websocket-key");
const SEC_WEBSOCKET_VERSION: HeaderName = HeaderName::from_static("sec-websocket-version");
const SEC_WEBSOCKET_ACCEPT: HeaderName = HeaderName::from_static("sec-websocket-accept");

/// How long the client may take to close the connection behind a close message.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// What a socket is, whether behind TLS or not.
pub(crate) trait AnyStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> AnyStream for S {}

pub(crate) type AnySocket = Box<dyn AnyStream>;

/// Gives the socket of an upgraded connection back, and what was read of it beyond the request.
pub(crate) type BareSocket = fn(Upgraded) -> Option<(AnySocket, Bytes)>;

pub(crate) fn bare<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    upgraded: Upgraded,
) -> Option<(AnySocket, Bytes)> {
    let parts = upgraded.downcast::<TokioIo<GuardedIo<S>>>().ok()?;
    let (socket, held) = parts.io.into_inner().into_parts();
    let mut read = BytesMut::from(&*parts.read_buf);
    read.extend_from_slice(&held);
    Some((Box::new(socket), read.freeze()))
}

/// A request to turn its connection into a WebSocket.
pub struct Upgrade {
    on: OnUpgrade,
    bare: BareSocket,
    accept: HeaderValue,
    has_origin: bool,
    /// `Convex-Client`.
    client: Option<String>,
    context: UpgradeContext,
}

/// What an upgraded connection keeps of the HTTP connection that it was.
pub(crate) struct UpgradeContext {
    /// `None` if the connection is HTTP/2.
    pub(crate) bare: Option<BareSocket>,
    pub(crate) activity: Arc<Activity>,
    pub(crate) stall_timeout: Duration,
    pub(crate) message_bytes_max: usize,
    pub(crate) connection: Arc<dyn Lifetime>,
}

/// The lifetime of a connection: it keeps its place in the limits, and ends with its server.
pub(crate) trait Lifetime: Send + Sync {
    /// Waits until the server drains.
    fn draining(self: Arc<Self>) -> BoxFuture<'static, ()>;
    /// Waits until the drain's time is over.
    fn cut(self: Arc<Self>) -> BoxFuture<'static, ()>;
}

impl fmt::Debug for Upgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgrade").field("has_origin", &self.has_origin).finish_non_exhaustive()
    }
}

impl Upgrade {
    /// The upgrade that a request asks for; the answer to one from a page that may not ask.
    ///
    /// # Errors
    /// `BAD_REQUEST` if it asks for none.
    pub(crate) fn of(
        parts: &Parts,
        origin: Option<&HeaderValue>,
        is_foreign: bool,
        context: UpgradeContext,
    ) -> Result<Result<Self, Reply>, Rejection> {
        let headers = &parts.headers;
        let asks = parts.version == Version::HTTP_11
            && parts.method == Method::GET
            && names(headers, &UPGRADE, "websocket")
            && names(headers, &CONNECTION, "upgrade")
            && headers.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13");
        let key = headers.get(SEC_WEBSOCKET_KEY).filter(|key| key.len() == 24);
        let on = parts.extensions.get::<OnUpgrade>().cloned();
        let (true, Some(key), Some(on), Some(bare)) = (asks, key, on, context.bare) else {
            return Err(NO_UPGRADE);
        };
        if is_foreign {
            return Ok(Err(Reply { status: 403, ..FOREIGN.into() }));
        }
        let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes())).map_err(|_| NO_UPGRADE)?;
        let client = headers.get("convex-client").and_then(|client| client.to_str().ok()).map(str::to_owned);
        Ok(Ok(Self { on, bare, accept, has_origin: origin.is_some(), client, context }))
    }

    /// Whether a page asks.
    pub fn has_origin(&self) -> bool {
        self.has_origin
    }

    /// The client's own name and version, as `npm-1.48.0`.
    pub fn client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    /// The answer that accepts it. `serve` has the connection from then on, and ends it by ending.
    pub fn accept<F>(self, serve: impl FnOnce(WebSocket) -> F + Send + 'static) -> Reply
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { on, bare, accept, context, .. } = self;
        let UpgradeContext { activity, stall_timeout, message_bytes_max, connection, .. } = context;
        tokio::spawn(async move {
            // It ends too if the answer cannot be written.
            let Ok(upgraded) = on.await else { return };
            let Some((socket, read)) = bare(upgraded) else { return };
            let config = WebSocketConfig::default()
                .read_buffer_size(READ_BUFFER_BYTES)
                .max_message_size(Some(message_bytes_max))
                .max_frame_size(Some(message_bytes_max));
            let stream = WebSocketStream::from_partially_read(socket, read.into(), Role::Server, Some(config)).await;
            let given_up = Arc::clone(&activity);
            let given_up = async move { given_up.closing.given_up().await };
            let draining = Arc::clone(&connection).draining().shared();
            let cut = connection.cut();
            let serve = serve(WebSocket { stream, activity, draining, stall_timeout });
            // A drain that is over, and others who need the memory, end it wherever it is.
            tokio::select! {
                () = serve => {}
                () = cut => {}
                () = given_up => {}
            }
        });
        let fields = vec![
            (CONNECTION, const { HeaderValue::from_static("upgrade") }),
            (UPGRADE, const { HeaderValue::from_static("websocket") }),
            (SEC_WEBSOCKET_ACCEPT, accept),
        ];
        Reply { fields, ..Reply::json(101, Bytes::new()) }
    }
}

/// Whether a list in a field has this name.
fn names(headers: &HeaderMap, field: &HeaderName, name: &str) -> bool {
    let values = headers.get_all(field).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|one| one.trim().eq_ignore_ascii_case(name))
}

/// An open WebSocket.
pub struct WebSocket {
    stream: WebSocketStream<AnySocket>,
    activity: Arc<Activity>,
    draining: futures_util::future::Shared<BoxFuture<'static, ()>>,
    stall_timeout: Duration,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// A message of text.
    Text(String),
    /// What is no message of text, or is none that may come, with the close code that says so.
    Wrong(u16, &'static str),
    /// The client has closed, or is gone.
    Gone,
}

/// Every connection has it, and most messages are short.
const READ_BUFFER_BYTES: usize = 4 * 1024;

/// The client is gone, or did not take what was sent for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
pub struct Lost;

impl WebSocket {
    /// The next message. It may be dropped and asked again.
    pub async fn receive(&mut self) -> Received {
        loop {
            return match self.stream.next().await {
                Some(Ok(Message::Text(text))) => Received::Text(text.as_str().to_owned()),
                Some(Ok(Message::Binary(_))) => Received::Wrong(1003, "Messages are text"),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Close(_))) | None => Received::Gone,
                Some(Err(WireError::Capacity(CapacityError::MessageTooLong { .. }))) => {
                    Received::Wrong(1009, "The message is too long")
                }
                Some(Err(WireError::Utf8(_))) => Received::Wrong(1007, "Text is UTF-8"),
                Some(Err(WireError::Protocol(_))) => Received::Wrong(1002, "This is not WebSocket"),
                Some(Err(_)) => Received::Gone,
            };
        }
    }

    /// Sends a message, and waits until the client's side of the network has it.
    ///
    /// # Errors
    /// [`Lost`].
    pub async fn send(&mut self, text: String) -> Result<(), Lost> {
        let bytes = text.len();
        self.activity.backlog.held.add(bytes);
        let sent = tokio::time::timeout(self.stall_timeout, self.stream.send(Message::text(text))).await;
        self.activity.backlog.held.release(bytes);
        if sent.is_err() {
            self.activity.closing.set_stalled();
        }
        sent.map_err(|_| Lost)?.map_err(|_| Lost)
    }

    /// Waits until the server drains.
    pub fn draining(&self) -> impl Future<Output = ()> + Send + use<> {
        self.draining.clone()
    }

    /// Says why it ends, and ends it.
    pub async fn close(mut self, code: u16, reason: &str) {
        // A close message has 125 bytes at most, two of them the code.
        let reason = &reason[..reason.floor_char_boundary(123)];
        let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
        let closing = async {
            self.stream.close(Some(frame)).await?;
            while self.stream.next().await.transpose()?.is_some() {}
            Ok::<_, WireError>(())
        };
        // What the client makes of it is theirs.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
    }
}
