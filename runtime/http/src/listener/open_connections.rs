//! The open connections of a server: counted, and closed where they hold what others need.

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

/// An entry of [`OpenConnections`]. Dropped, the connection and all its calls have ended.
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

/// What the connections from before a drain are doing.
pub(crate) enum Rest {
    Gone,
    Quiet,
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

    /// The number of the next connection.
    pub(crate) fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Calls that are running.
    pub(crate) fn calls(&self) -> usize {
        self.open.lock().values().map(|(_, activity)| activity.calls.running()).sum()
    }

    /// What the connections with a number below `until` are doing.
    pub(crate) fn rest(&self, until: u64) -> Rest {
        let open = self.open.lock();
        let mut rest = open.iter().filter(|(number, _)| **number < until).peekable();
        if rest.peek().is_none() {
            return Rest::Gone;
        }
        if rest.all(|(_, (_, activity))| activity.is_quiet()) { Rest::Quiet } else { Rest::Busy }
    }

    /// Runs `review` over the open connections, which can neither begin nor end meanwhile.
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

/// Closes the slowest of these connections until `bytes` of what they hold are on their way out. How many are, those
/// included that were before.
pub(crate) fn close_slowest(holding: Vec<(&Arc<Activity>, usize)>, bytes: usize, closed: &AtomicU64) -> usize {
    let (given_up, mut holding): (Vec<_>, Vec<_>) =
        holding.into_iter().partition(|(activity, _)| activity.closing.is_given_up());
    let held = |holding: &[(&Arc<Activity>, usize)]| holding.iter().map(|(_, bytes)| bytes).sum::<usize>();
    let mut leaving = held(&given_up);
    // Where clients hold less than that, answers are made faster than the server sends them: nobody is slow.
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
