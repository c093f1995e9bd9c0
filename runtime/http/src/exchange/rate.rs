//! Calls of one address a second.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::client_addr::counted_as;

/// Addresses of one shard above which those that owe nothing are forgotten.
const SWEEP_ABOVE: usize = 1024;
const SHARDS: usize = 16;

/// Lets every address call so many times a second, with up to a second's worth at once.
///
/// It keeps one time an address, at which the calls so far would be paid off at the steady rate (the generic cell rate
/// algorithm): a call is refused while that lies more than a second ahead. So an entry is worthless after a second and
/// the memory is bounded by the addresses of about one second.
pub(crate) struct Rate {
    interval: Duration,
    shards: [Mutex<HashMap<IpAddr, Instant>>; SHARDS],
    hash: RandomState,
}

impl Rate {
    /// `None` for 0, which is off.
    pub(crate) fn new(calls_per_second: u32) -> Option<Self> {
        let interval = Duration::from_secs(1).checked_div(calls_per_second)?;
        Some(Self { interval, shards: std::array::from_fn(|_| Mutex::default()), hash: RandomState::new() })
    }

    /// Counts one call of `address`, unless it is one too many.
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
        // A nanosecond of grace a call, for the interval's rounding.
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
    fn an_address_has_its_calls_at_once_and_then_at_the_steady_rate() {
        let rate = Rate::new(3).unwrap();
        let (ada, bob) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let start = Instant::now();
        assert!((0..3).all(|_| rate.admits_at(ada, start)));
        assert!(!rate.admits_at(ada, start));
        assert!(rate.admits_at(bob, start), "another address has its own");
        let later = start + Duration::from_millis(334);
        assert!(rate.admits_at(ada, later));
        assert!(!rate.admits_at(ada, later));
        let rested = start + Duration::from_secs(5);
        assert!((0..3).all(|_| rate.admits_at(ada, rested)));
        assert!(!rate.admits_at(ada, rested), "rest is worth one second at most");
    }

    #[test]
    fn zero_is_off() {
        assert!(Rate::new(0).is_none());
    }

    #[test]
    fn addresses_that_owe_nothing_are_forgotten() {
        let rate = Rate::new(10).unwrap();
        let start = Instant::now();
        for host in 0..100_000_u32 {
            let at = start + Duration::from_millis(u64::from(host / 100));
            assert!(rate.admits_at(std::net::Ipv4Addr::from_bits(host).into(), at));
        }
        let kept: usize = rate.shards.iter().map(|shard| shard.lock().len()).sum();
        assert!(kept <= 2 * SHARDS * SWEEP_ABOVE, "{kept} entries");
    }
}
