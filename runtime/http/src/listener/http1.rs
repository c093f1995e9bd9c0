//! HTTP/1 on a socket. An idle connection frees hyper and its buffers of at least 16 KiB.

use std::pin::Pin;
use std::sync::Arc;

use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::drive::{DriveEnd, drive};
use crate::exchange::connection::Connection;
use crate::exchange::handler::Handler;
use crate::exchange::{service, web_socket};
use crate::wire::guarded_io::GuardedIo;

/// Serves a connection to its end, each time until it is idle.
pub(crate) async fn serve<S, H>(http1: &Builder, connection: &Arc<Connection<H>>, mut wire: GuardedIo<S>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    H: Handler,
{
    let _ = connection.bare.set(web_socket::bare::<S>);
    while let Some(idle) = serve_until_idle(http1, connection, wire).await {
        wire = idle;
        let has_request = tokio::select! {
            biased;
            () = connection.server.drain.draining() => false,
            () = connection.activity.closing.given_up() => false,
            has_request = wire.next_request() => has_request,
        };
        if !has_request {
            let _ = wire.shutdown().await;
            return;
        }
    }
}

/// Returns the socket of an idle connection; `None` if the connection is closed.
async fn serve_until_idle<S, H>(
    http1: &Builder,
    connection: &Arc<Connection<H>>,
    wire: GuardedIo<S>,
) -> Option<GuardedIo<S>>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    H: Handler,
{
    let called = Arc::clone(connection);
    // The call is on the heap and freed when it ends: hyper keeps the memory of the last future inline.
    let service = service_fn(move |request| Box::pin(service::answer(Arc::clone(&called), request)));
    let mut served = Box::new(http1.serve_connection(TokioIo::new(wire), service).with_upgrades());
    if drive(connection, Pin::new(&mut *served), |served| served.graceful_shutdown()).await == DriveEnd::Closed {
        return None;
    }
    // If hyper has read further bytes, the next input is not the beginning of a request.
    let parts = served.into_parts().filter(|parts| parts.read_buf.is_empty())?;
    Some(parts.io.into_inner())
}
