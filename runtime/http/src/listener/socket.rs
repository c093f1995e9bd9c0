//! The TCP socket of a connection: it limits the bytes in the system's send buffer, and resets slow clients.

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

/// Step in which written bytes are reported, so that small responses do not contend for a counter.
const REPORTED_BYTES: usize = 16 * 1024;

/// A TCP socket that reports the bytes written to it.
pub(crate) struct Tcp {
    stream: TcpStream,
    activity: Arc<Activity>,
    unread: Arc<Unread>,
    /// Written bytes that are not reported yet.
    written: usize,
}

impl Tcp {
    /// Sets the options of an accepted socket. Ignores an option that the system does not support.
    pub(crate) fn new(stream: TcpStream, activity: Arc<Activity>, unread: Arc<Unread>, limits: &Limits) -> Self {
        // Responses are written as a whole, so a wait to fill a packet would only delay them.
        let _ = stream.set_nodelay(true);
        bound_system(&stream, limits);
        Self { stream, activity, unread, written: 0 }
    }

    fn count(&mut self, written: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = written {
            self.written += bytes;
            if self.written >= REPORTED_BYTES {
                self.unread.record_written(std::mem::take(&mut self.written));
            }
        }
    }
}

/// Limits the bytes in the system's send buffer, and the time that they stay there.
#[cfg(target_os = "linux")]
fn bound_system(stream: &TcpStream, limits: &Limits) {
    let socket = SockRef::from(stream);
    // Without this limit, the system buffers megabytes for a client that reads nothing.
    let _ = socket.set_tcp_notsent_lowat(u32::try_from(limits.unsent_bytes_max).unwrap_or(u32::MAX));
    // Without this limit, the system retries for 15 minutes if a client is unreachable. The limit is above the server's
    // own timeout, so that the server closes and counts such connections first.
    let _ = socket.set_tcp_user_timeout(Some(limits.response_stall_timeout * 2));
}

/// Other systems have their own limits.
#[cfg(not(target_os = "linux"))]
fn bound_system(_stream: &TcpStream, _limits: &Limits) {}

/// Resets the connection of a client that reads too little, so that the system frees its send buffer. After a plain
/// close, the client could keep the bytes there.
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
