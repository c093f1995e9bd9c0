//! The TCP socket of a connection: how much the system holds of what is written to it, and how it ends.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::unread::Unread;
use crate::wire::activity::Activity;
use convoke_core::limits::Limits;

/// Written bytes are reported in steps of this size, so that small responses do not share a counter.
const REPORTED_BYTES: usize = 16 * 1024;

/// A TCP socket that reports what is written to it.
pub(crate) struct Tcp {
    stream: TcpStream,
    activity: Arc<Activity>,
    unread: Arc<Unread>,
    /// Bytes that were written and not reported yet.
    written: usize,
}

impl Tcp {
    /// Sets the options of an accepted socket. An option that the system lacks is left out.
    pub(crate) fn new(stream: TcpStream, activity: Arc<Activity>, unread: Arc<Unread>, limits: &Limits) -> Self {
        // Responses are written whole; waiting to fill a packet would only delay them.
        let _ = stream.set_nodelay(true);
        bound_system(&stream, limits);
        Self { stream, activity, unread, written: 0 }
    }

    fn count(&mut self, written: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = written {
            self.written += bytes;
            if self.written >= REPORTED_BYTES {
                self.unread.suspect(std::mem::take(&mut self.written));
            }
        }
    }
}

/// Bounds what the system holds for the client, and for how long.
#[cfg(target_os = "linux")]
fn bound_system(stream: &TcpStream, limits: &Limits) {
    let socket = SockRef::from(stream);
    // Without this bound, the system takes megabytes for a client that reads nothing.
    let _ = socket.set_tcp_notsent_lowat(u32::try_from(limits.unsent_bytes_max).unwrap_or(u32::MAX));
    // For a client that is gone, and for a socket that is closed, the system would go on for a quarter of an hour. The
    // server's own time comes first, since it counts what it closes.
    let _ = socket.set_tcp_user_timeout(Some(limits.response_stall_timeout * 2));
}

/// Elsewhere the system's own bounds hold.
#[cfg(not(target_os = "linux"))]
fn bound_system(_stream: &TcpStream, _limits: &Limits) {}

/// A client that takes too little is reset: the system forgets what it holds for it. A plain close would leave the bytes
/// in the system for as long as the client likes.
impl Drop for Tcp {
    fn drop(&mut self) {
        if self.activity.closing.is_given_up() || self.activity.closing.is_stalled() {
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Tcp {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Tcp {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.count(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.count(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
