//! The open connections of a server: counts them, and closes the slowest when others need their memory.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::exchange::traffic::Traffic;
use crate::wire::activity::Activity;
use convoke_core::answer::budget::Relief;

/// The open connections of a server.
pub(crate) struct OpenConnections {
    open: Mutex<HashMap<u64, (SocketAddr, Arc<Activity>)>>,
    next: AtomicU64,
    traffic: Arc<Traffic>,
}

/// An entry of [`OpenConnections`], dropped when the connection and all its calls have ended.
pub(crate) struct OpenConnection {
    connections: Arc<OpenConnections>,
    number: u64,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.connections.open.lock().remove(&self.number);
        self.connections.traffic.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The state of the connections that were open before a drain.
pub(crate) enum Remaining {
    Closed,
    /// No call or response is in progress.
    Quiet,
    /// A call or a response is in progress.
    Busy,
}

impl OpenConnections {
    pub(crate) fn new(traffic: Arc<Traffic>) -> Self {
        Self { open: Mutex::default(), next: AtomicU64::new(0), traffic }
    }

    /// Adds a connection of `peer` until the returned entry is dropped.
    pub(crate) fn add(self: &Arc<Self>, peer: SocketAddr, activity: Arc<Activity>) -> OpenConnection {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.lock().insert(number, (peer, activity));
        self.traffic.open.fetch_add(1, Ordering::Relaxed);
        self.traffic.accepted.fetch_add(1, Ordering::Relaxed);
        OpenConnection { connections: Arc::clone(self), number }
    }

    pub(crate) fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// The number of running calls.
    pub(crate) fn calls(&self) -> usize {
        self.open.lock().values().map(|(_, activity)| activity.calls.running()).sum()
    }

    /// The state of the connections with a number below `until`.
    pub(crate) fn remaining(&self, until: u64) -> Remaining {
        let open = self.open.lock();
        let mut remaining = open.iter().filter(|(number, _)| **number < until).peekable();
        if remaining.peek().is_none() {
            return Remaining::Closed;
        }
        if remaining.all(|(_, (_, activity))| activity.is_quiet()) { Remaining::Quiet } else { Remaining::Busy }
    }

    /// Runs `review` on the open connections. No connection opens or ends meanwhile.
    pub(crate) fn review<T>(&self, review: impl FnOnce(&[(SocketAddr, &Arc<Activity>)]) -> T) -> T {
        let open = self.open.lock();
        let open: Vec<_> = open.values().map(|(peer, activity)| (*peer, activity)).collect();
        review(&open)
    }
}

impl Relief for OpenConnections {
    fn relieve(&self, bytes: usize) -> usize {
        let open = self.open.lock();
        let holding = open.values().map(|(_, activity)| (activity, activity.backlog.held.bytes()));
        close_slowest(holding.filter(|(_, bytes)| *bytes > 0).collect(), bytes, &self.traffic.given_up)
    }
}

/// Closes the slowest of these connections until the closed ones hold at least `bytes`. Returns the bytes of all closed
/// connections, including those closed before.
pub(crate) fn close_slowest(holding: Vec<(&Arc<Activity>, usize)>, bytes: usize, closed: &AtomicU64) -> usize {
    let (given_up, mut holding): (Vec<_>, Vec<_>) =
        holding.into_iter().partition(|(activity, _)| activity.closing.is_given_up());
    let held = |holding: &[(&Arc<Activity>, usize)]| holding.iter().map(|(_, bytes)| bytes).sum::<usize>();
    let mut leaving = held(&given_up);
    // If the connections hold less than `bytes`, responses are produced faster than the server sends them, and no
    // client is slow.
    if leaving < bytes && leaving + held(&holding) >= bytes {
        let now = Instant::now();
        holding.sort_by_cached_key(|(activity, bytes)| std::cmp::Reverse(activity.backlog.held.needs(*bytes, now)));
        for (activity, held) in holding {
            leaving += held;
            activity.closing.give_up();
            closed.fetch_add(1, Ordering::Relaxed);
            if leaving >= bytes {
                break;
            }
        }
    }
    leaving
}
