//! The response bytes that clients have not read, per address, in this process and in the system's send buffers.
//!
//! A write ends when the system has the bytes, so the process does not see how many of them a client has read. The
//! system lists the unread bytes in `/proc/self/net/tcp`. Reading that list costs milliseconds. So it is sampled only
//! if so many bytes were written since the last sample that an address may be above its limit.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::exchange::client_addr::counted_as;
use crate::exchange::traffic::Traffic;
use convoke_core::answer::budget::Budget;
use convoke_core::limits::Limits;

/// Shortest time between two samples of the system's list.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(250);
/// The pause after a sample is at least this many times its duration.
const SAMPLE_PAUSE_FACTOR: u32 = 20;
/// Time that an address may be above its limit before its connections are closed. A burst is shorter.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// Bytes in the system's send buffers by the peer of the connection, including closed connections.
pub(crate) type SendQueues = HashMap<SocketAddr, usize>;

/// The estimate of unread bytes between two samples.
pub(crate) struct Unread {
    /// Bytes that the system may hold: those of the last sample and those written since.
    estimate: AtomicUsize,
    traffic: Arc<Traffic>,
    /// From this many bytes on, an address may be above its limit.
    sample_from: usize,
    sample_due: Notify,
    /// The memory for responses in this process.
    answers: Arc<Budget>,
    /// The addresses above their limit.
    over: Mutex<HashSet<IpAddr>>,
}

impl Unread {
    pub(crate) fn new(limits: &Limits, answers: Arc<Budget>, traffic: Arc<Traffic>) -> Self {
        Self {
            estimate: AtomicUsize::new(0),
            traffic,
            sample_from: limits.unread_bytes_per_address_max.min(limits.response_bytes_total_max),
            sample_due: Notify::new(),
            answers,
            over: Mutex::default(),
        }
    }

    /// Counts bytes that were written to a socket.
    pub(crate) fn record_written(&self, bytes: usize) {
        self.estimate.fetch_add(bytes, Relaxed);
        if self.is_sample_due() {
            self.sample_due.notify_one();
        }
    }

    /// True if the address was above its limit at the last sample.
    pub(crate) fn is_over(&self, address: IpAddr) -> bool {
        self.over.lock().contains(&counted_as(address))
    }

    fn is_sample_due(&self) -> bool {
        self.estimate.load(Relaxed) + self.answers.bytes() >= self.sample_from
    }

    /// Samples whenever an address may be above its limit. `review` acts on the sample and returns the addresses above
    /// their limit.
    pub(crate) async fn watch(&self, ports: Vec<u16>, mut review: impl FnMut(&SendQueues, Instant) -> HashSet<IpAddr>) {
        loop {
            // An address that is above its limit is sampled until it is not.
            while !self.is_sample_due() && self.over.lock().is_empty() {
                self.sample_due.notified().await;
            }
            // Bytes that are written during the sample count for the next one.
            let estimate = self.estimate.load(Relaxed);
            let start = Instant::now();
            let ports = ports.clone();
            let queues = tokio::task::spawn_blocking(move || system::send_queues(&ports)).await.unwrap_or_default();
            let bytes = queues.values().sum::<usize>();
            self.traffic.unread_system_bytes.store(bytes, Relaxed);
            self.estimate.fetch_add(bytes, Relaxed);
            self.estimate.fetch_sub(estimate, Relaxed);
            let over = review(&queues, Instant::now());
            *self.over.lock() = over;
            tokio::time::sleep(SAMPLE_INTERVAL.max(start.elapsed() * SAMPLE_PAUSE_FACTOR)).await;
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

    use super::SendQueues;

    /// Reads the send queues of all connections to these ports of this machine.
    pub(super) fn send_queues(ports: &[u16]) -> SendQueues {
        let mut queues = SendQueues::new();
        for list in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
            let list = std::fs::read_to_string(list).unwrap_or_default();
            let lines = list.lines().filter_map(read_line);
            queues.extend(lines.filter(|(port, ..)| ports.contains(port)).map(|(_, peer, bytes)| (peer, bytes)));
        }
        queues
    }

    /// Reads the local port, the other end and the length of the send queue from a line; `None` if nothing is queued.
    fn read_line(line: &str) -> Option<(u16, SocketAddr, usize)> {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, peer) = (fields.next()?, fields.next()?);
        let (queued, _received) = fields.nth(1)?.split_once(':')?;
        let queued = usize::from_str_radix(queued, 16).ok().filter(|bytes| *bytes > 0)?;
        Some((address(local)?.port(), address(peer)?, queued))
    }

    /// Reads `0100007F:1F90`: the address as native 32-bit numbers in hexadecimals, and the port.
    fn address(text: &str) -> Option<SocketAddr> {
        let (ip, port) = text.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let word = |at: usize| Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
        let ip = match ip.len() {
            8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
            32 => {
                let mut bytes = [0; 16];
                for (at, part) in bytes.chunks_mut(4).enumerate() {
                    part.copy_from_slice(&word(at * 8)?);
                }
                IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
            }
            _ => return None,
        };
        Some(SocketAddr::new(ip, port))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn line_of_the_system_s_list_is_parsed() {
            let line =
                "   1: 0100007F:1F90 0200A8C0:D431 01 0001F400:00000000 01:00000014 00000000  1000 0 4711 1 0 20";
            assert_eq!(read_line(line), Some((8080, "192.168.0.2:54321".parse().unwrap(), 128_000)));
            let mapped = "   1: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000200A8C0:D431 01 \
                          00000010:00000000 00:00000000 00000000 0 0 4711";
            assert_eq!(read_line(mapped), Some((8080, "192.168.0.2:54321".parse().unwrap(), 16)));
            let v6 = "   1: B80D01200000000000000000010000000:1F90 x 01 00000010:00000000";
            assert_eq!(read_line(v6), None);
            let heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt";
            assert_eq!(read_line(heading), None);
        }
    }
}

/// Other systems do not list these bytes, so only the bytes in this process count.
#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn send_queues(_ports: &[u16]) -> super::SendQueues {
        super::SendQueues::new()
    }
}
