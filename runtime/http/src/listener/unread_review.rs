//! Closes the slowest connections of an address that leaves too many bytes unread.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::time::Instant;

use super::open_connections::close_slowest;
use super::unread::{GRACE, SendQueues};
use crate::exchange::client_addr::counted_as;
use crate::exchange::traffic::Traffic;
use crate::wire::activity::Activity;
use convoke_core::limits::Limits;

/// The times since which addresses, and all addresses together, have been above their limits of unread bytes.
#[derive(Default)]
struct OverSince {
    addresses: HashMap<IpAddr, Over>,
    all: Option<Instant>,
}

/// Enforces the limits of unread bytes per address and in total.
pub(crate) struct UnreadReview {
    bytes_per_address_max: usize,
    bytes_total_max: usize,
    is_proxy: Box<dyn Fn(IpAddr) -> bool + Send>,
    traffic: Arc<Traffic>,
    over_since: OverSince,
}

/// An address above its limit.
struct Over {
    since: Instant,
    /// True if the address was logged.
    is_logged: bool,
}

/// The unread bytes of an address and its connections with unread bytes.
#[derive(Default)]
struct UnreadOf<'a> {
    bytes: usize,
    connections: Vec<(&'a Arc<Activity>, usize)>,
}

impl UnreadOf<'_> {
    /// Closes the slowest connections until the others have at most `bytes_max`. Closes all if closed connections still
    /// hold more than that.
    fn close_down_to(self, bytes_max: usize, closed: &AtomicU64) {
        let of_open = self.connections.iter().map(|(_, bytes)| bytes).sum::<usize>();
        close_slowest(self.connections, (self.bytes - bytes_max).min(of_open), closed);
    }
}

impl UnreadReview {
    /// Creates a review. Addresses for which `is_proxy` is true connect for many clients and have no limit of their
    /// own.
    pub(crate) fn new(
        limits: &Limits,
        is_proxy: impl Fn(IpAddr) -> bool + Send + 'static,
        traffic: Arc<Traffic>,
    ) -> Self {
        Self {
            bytes_per_address_max: limits.unread_bytes_per_address_max,
            bytes_total_max: limits.response_bytes_total_max,
            is_proxy: Box::new(is_proxy),
            traffic,
            over_since: OverSince::default(),
        }
    }

    /// Closes the slowest connections of each address that has been above its limit for the grace time, and of all
    /// addresses together. Returns the addresses above their limit.
    pub(crate) fn review(
        &mut self,
        open: &[(SocketAddr, &Arc<Activity>)],
        queues: &SendQueues,
        now: Instant,
    ) -> HashSet<IpAddr> {
        let over_since = &mut self.over_since;
        let mut addresses = HashMap::<IpAddr, UnreadOf<'_>>::new();
        let mut all = UnreadOf { bytes: queues.values().sum(), connections: Vec::new() };
        // Closed connections whose bytes the system still holds count for their address too.
        for (peer, bytes) in queues {
            addresses.entry(counted_as(peer.ip())).or_default().bytes += bytes;
        }
        for (peer, activity) in open.iter().copied() {
            let (held, queued) = (activity.backlog.held.bytes(), queues.get(&peer).copied().unwrap_or_default());
            if held + queued > 0 {
                let address = addresses.entry(counted_as(peer.ip())).or_default();
                address.bytes += held;
                address.connections.push((activity, held + queued));
                all.connections.push((activity, queued));
            }
        }
        let bytes_max = self.bytes_per_address_max;
        // A proxy connects for many clients.
        addresses.retain(|address, unread| unread.bytes > bytes_max && !(self.is_proxy)(*address));
        over_since.addresses.retain(|address, _| addresses.contains_key(address));
        let over = addresses.keys().copied().collect();
        let closed = &self.traffic.unread_closed;
        for (address, unread) in addresses {
            let over = over_since.addresses.entry(address).or_insert(Over { since: now, is_logged: false });
            if over.since + GRACE > now {
                continue;
            }
            if !std::mem::replace(&mut over.is_logged, true) {
                tracing::warn!(%address, bytes = unread.bytes, "closing connections of an address that reads too little");
            }
            unread.close_down_to(bytes_max, closed);
        }
        let total_max = self.bytes_total_max;
        over_since.all = (all.bytes > total_max).then(|| over_since.all.unwrap_or(now));
        if over_since.all.is_some_and(|since| since + GRACE <= now) {
            all.close_down_to(total_max, closed);
        }
        over
    }
}
