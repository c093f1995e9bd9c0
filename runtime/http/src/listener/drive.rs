//! Polls a connection of hyper until it is closed or idle.

use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::task::Poll;

use crate::exchange::connection::Connection;
use crate::exchange::drain::Phase;
use crate::exchange::handler::Handler;

/// The state in which a connection is no longer polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriveEnd {
    /// The connection has ended.
    Closed,
    /// The connection has been idle for a while.
    Idle,
}

/// Polls a connection of hyper to its end or until it is idle. Calls `shut_down`, which finishes the running calls, when
/// the server drains or the connection was idle for too long. Drops the connection when the drain timeout is over.
pub(crate) async fn drive<C, H>(
    connection: &Connection<H>,
    mut served: Pin<&mut C>,
    shut_down: fn(Pin<&mut C>),
) -> DriveEnd
where
    C: Future<Output = hyper::Result<()>>,
    H: Handler,
{
    let Connection { server, activity, facts, .. } = connection;
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
            tracing::debug!(peer = %facts.peer, "a connection was closed to free its memory");
            return Poll::Ready(DriveEnd::Closed);
        }
        loop {
            // The poll comes before the shutdown, so that a received request gets a response, even if it is a
            // rejection.
            if let Poll::Ready(ended) = served.as_mut().poll(cx) {
                if let Err(error) = ended {
                    tracing::debug!(peer = %facts.peer, %error, "a connection ended early");
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
            shut_down(served.as_mut());
        }
    })
    .await;
    if activity.closing.is_stalled() {
        server.traffic.stalled.fetch_add(1, Ordering::Relaxed);
    }
    driven
}
