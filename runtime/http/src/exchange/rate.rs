//! The limit of calls per address and second.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::client_addr::counted_as;

/// The size of a shard above which paid-off addresses are removed.
const SWEEP_ABOVE: usize = 1024;
const SHARDS: usize = 16;

/// Allows each address so many calls per second, with a burst of up to one second's calls.
///
/// It stores one time per address, at which the calls so far are paid off at the steady rate (the generic cell rate
/// algorithm). A call is rejected if that time is more than one second ahead. So an entry is useless after a second,
/// and the addresses of about one second bound the memory.
pub(crate) struct Rate {
    interval: Duration,
    shards: [Mutex<HashMap<IpAddr, Instant>>; SHARDS],
    hash: RandomState,
}

impl Rate {
    /// Creates a limit; `None` for 0, which turns it off.
    pub(crate) fn new(calls_per_second: u32) -> Option<Self> {
        let interval = Duration::from_secs(1).checked_div(calls_per_second)?;
        Some(Self { interval, shards: std::array::from_fn(|_| Mutex::default()), hash: RandomState::new() })
    }

    /// Counts a call of `address` and returns true, or returns false if the address is over its rate.
    pub(crate) fn admits(&self, address: IpAddr) -> bool {
        self.admits_at(address, Instant::now())
    }

    fn admits_at(&self, address: IpAddr, now: Instant) -> bool {
        let address = counted_as(address);
        let shard = usize::try_from(self.hash.hash_one(address) % SHARDS as u64).unwrap_or(0);
        let mut paid_off = self.shards[shard].lock();
        if paid_off.len() > SWEEP_ABOVE && !paid_off.contains_key(&address) {
            paid_off.retain(|_, at| *at > now);
        }
        let at = paid_off.entry(address).or_insert(now);
        let next = (*at).max(now) + self.interval;
        // A tolerance for the rounding of the interval: at most one nanosecond per call.
        let admitted = next.saturating_duration_since(now) <= Duration::from_secs(1) + Duration::from_micros(1);
        if admitted {
            *at = next;
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_has_a_burst_and_then_the_steady_rate() {
        let rate = Rate::new(3).unwrap();
        let (ada, bob) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let start = Instant::now();
        assert!((0..3).all(|_| rate.admits_at(ada, start)));
        assert!(!rate.admits_at(ada, start));
        assert!(rate.admits_at(bob, start), "another address has its own rate");
        let later = start + Duration::from_millis(334);
        assert!(rate.admits_at(ada, later));
        assert!(!rate.admits_at(ada, later));
        let rested = start + Duration::from_secs(5);
        assert!((0..3).all(|_| rate.admits_at(ada, rested)));
        assert!(!rate.admits_at(ada, rested), "a pause adds at most one second of calls");
    }

    #[test]
    fn zero_is_off() {
        assert!(Rate::new(0).is_none());
    }

    #[test]
    fn paid_off_addresses_are_removed() {
        let rate = Rate::new(10).unwrap();
        let start = Instant::now();
        for host in 0..100_000_u32 {
            let at = start + Duration::from_millis(u64::from(host / 100));
            assert!(rate.admits_at(std::net::Ipv4Addr::from_bits(host).into(), at));
        }
        let entries: usize = rate.shards.iter().map(|shard| shard.lock().len()).sum();
        assert!(entries <= 2 * SHARDS * SWEEP_ABOVE, "{entries} entries");
    }
}
