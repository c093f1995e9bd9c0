//! A connection after its upgrade: WebSocket text messages in both directions (RFC 6455).
//!
//! The handshake is an ordinary request and has all limits of one. After it, this module owns the socket. It limits the
//! size of a message, and ends the connection if the client does not read a message in time. Messages are not
//! compressed, because tokens and the texts of other users would share a compression window.

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
    message: "This route requires an upgrade to a WebSocket of version 13; the request has none.",
};
const FOREIGN: Rejection = Rejection { code: Code::Forbidden, message: FOREIGN_MESSAGE };
const FOREIGN_MESSAGE: &str = "Pages of this origin may not connect to this server. The operator allows an origin with the \
                               setting cors_origins (--cors-origin).";

const SEC_WEBSOCKET_KEY: HeaderName = HeaderName::from_static("sec-websocket-key");
const SEC_WEBSOCKET_VERSION: HeaderName = HeaderName::from_static("sec-websocket-version");
const SEC_WEBSOCKET_ACCEPT: HeaderName = HeaderName::from_static("sec-websocket-accept");

/// Time for the client to close the connection after a close message.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A socket, with or without TLS.
pub(crate) trait AnyStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> AnyStream for S {}

pub(crate) type AnySocket = Box<dyn AnyStream>;

/// Returns the socket of an upgraded connection and the bytes that were read after the request.
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

/// A request to upgrade its connection to a WebSocket.
pub struct Upgrade {
    on: OnUpgrade,
    bare: BareSocket,
    accept: HeaderValue,
    has_origin: bool,
    /// The `Convex-Client` field.
    client: Option<String>,
    context: UpgradeContext,
}

/// The parts of the HTTP connection that an upgraded connection uses.
pub(crate) struct UpgradeContext {
    /// `None` if the connection is HTTP/2.
    pub(crate) bare: Option<BareSocket>,
    pub(crate) activity: Arc<Activity>,
    pub(crate) stall_timeout: Duration,
    pub(crate) message_bytes_max: usize,
    pub(crate) connection: Arc<dyn Lifetime>,
}

/// The lifetime of a connection: it holds its slots in the limits, and ends with its server.
pub(crate) trait Lifetime: Send + Sync {
    /// Waits until the server drains.
    fn draining(self: Arc<Self>) -> BoxFuture<'static, ()>;
    /// Waits until the drain timeout is over.
    fn cut(self: Arc<Self>) -> BoxFuture<'static, ()>;
}

impl fmt::Debug for Upgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgrade").field("has_origin", &self.has_origin).finish_non_exhaustive()
    }
}

impl Upgrade {
    /// Returns the upgrade that a request asks for, or the reply to a page of an origin that is not allowed.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the request asks for no upgrade.
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

    /// True if a page sent the request.
    pub fn has_origin(&self) -> bool {
        self.has_origin
    }

    /// The name and version that the client reports, such as `npm-1.48.0`.
    pub fn client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    /// Returns the reply that accepts the upgrade. The connection then belongs to `serve` and ends when it returns.
    pub fn accept<F>(self, serve: impl FnOnce(WebSocket) -> F + Send + 'static) -> Reply
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { on, bare, accept, context, .. } = self;
        let UpgradeContext { activity, stall_timeout, message_bytes_max, connection, .. } = context;
        tokio::spawn(async move {
            // The upgrade fails if the response cannot be written.
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
            // The end of the drain, or a lack of memory for responses, ends the connection at any point.
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

/// True if the comma-separated lists of a field contain this name.
fn names(headers: &HeaderMap, field: &HeaderName, name: &str) -> bool {
    let values = headers.get_all(field).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| item.trim().eq_ignore_ascii_case(name))
}

/// An open WebSocket.
pub struct WebSocket {
    stream: WebSocketStream<AnySocket>,
    activity: Arc<Activity>,
    draining: futures_util::future::Shared<BoxFuture<'static, ()>>,
    stall_timeout: Duration,
}

/// A received message, or the end of the connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// A text message.
    Text(String),
    /// An invalid message, with the close code and the reason.
    Wrong(u16, &'static str),
    /// The client has closed the connection or has disconnected.
    Gone,
}

/// Size of the read buffer. Each connection has one, and most messages are short.
const READ_BUFFER_BYTES: usize = 4 * 1024;

/// The error of a client that has disconnected or did not read a message in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client has disconnected")]
pub struct Lost;

impl WebSocket {
    /// Waits for the next message. The future may be dropped without a loss.
    pub async fn receive(&mut self) -> Received {
        loop {
            return match self.stream.next().await {
                Some(Ok(Message::Text(text))) => Received::Text(text.as_str().to_owned()),
                Some(Ok(Message::Binary(_))) => Received::Wrong(1003, "Messages must be text"),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Close(_))) | None => Received::Gone,
                Some(Err(WireError::Capacity(CapacityError::MessageTooLong { .. }))) => {
                    Received::Wrong(1009, "The message is too long")
                }
                Some(Err(WireError::Utf8(_))) => Received::Wrong(1007, "Text must be UTF-8"),
                Some(Err(WireError::Protocol(_))) => Received::Wrong(1002, "The WebSocket protocol is violated"),
                Some(Err(_)) => Received::Gone,
            };
        }
    }

    /// Sends a message, and waits until the socket has accepted it.
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

    /// Closes the connection with a code and a reason.
    pub async fn close(mut self, code: u16, reason: &str) {
        // A close message has at most 125 bytes, two of which are the code.
        let reason = &reason[..reason.floor_char_boundary(123)];
        let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
        let closing = async {
            self.stream.close(Some(frame)).await?;
            while self.stream.next().await.transpose()?.is_some() {}
            Ok::<_, WireError>(())
        };
        // The connection ends in any case, so an error does not matter.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
    }
}
