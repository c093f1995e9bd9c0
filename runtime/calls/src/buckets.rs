//! Token buckets in memory, one for each identity and name.
//!
//! By hand, since the keyed limiters of the libraries (`governor`) know no debt: a call may cost more than a bucket
//! holds, and what a mutation has written is known, and charged, only when it is done.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use convoke_core::clock::Millis;
use convoke_core::identity::Identity;

/// Whether a call waits for its bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payment {
    /// It is refused if the bucket does not hold enough.
    Now,
    /// It is taken from what the bucket will hold: for work that was accepted before, and that nobody would repeat.
    Later,
}

/// How a bucket fills.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refill {
    /// What it holds at most, and at first.
    pub full: f64,
    pub per_second: f64,
}

impl Refill {
    /// How long it takes until `tokens` more are there.
    pub(crate) fn time_for(self, tokens: f64) -> Duration {
        Duration::from_millis((tokens / self.per_second * 1_000.0).ceil() as u64)
    }
}

/// What is to be taken from a bucket of an identity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    /// Which one.
    pub name: &'static str,
    pub refill: Refill,
    /// Tokens.
    pub cost: f64,
    pub payment: Payment,
    pub now: Millis,
}

impl Charge {
    /// What the bucket must hold: what costs more than it ever holds empties a full one beyond that, instead of never
    /// being let through.
    pub(crate) fn needed(&self) -> f64 {
        match self.payment {
            Payment::Now => self.cost.min(self.refill.full),
            Payment::Later => f64::NEG_INFINITY,
        }
    }
}

struct Bucket {
    tokens: f64,
    at: Millis,
    refill: Refill,
}

impl Bucket {
    fn refilled(&self, now: Millis) -> f64 {
        (self.tokens + now.since(self.at).as_secs_f64() * self.refill.per_second).min(self.refill.full)
    }
}

/// The buckets of all identities.
pub(crate) struct Buckets(Vec<Mutex<Shard>>);

/// Some of the buckets, and how many they may become before the full ones are dropped: a full bucket is the same as
/// none. Twice what was left last time, so that a flood of identities does not make every call look at all of them.
struct Shard {
    buckets: HashMap<Key, Bucket>,
    sweep_at: usize,
}

/// A bucket in memory: whose, and of what.
pub(crate) type Key = (u64, &'static str);

/// Buckets of one shard that are never looked through.
pub(crate) const BUCKETS_OF_A_SHARD_MIN: usize = 8_192;
/// Parts with a lock each.
pub(crate) const SHARDS: usize = 16;

impl Buckets {
    /// Takes what is charged.
    ///
    /// # Errors
    /// How long it takes until it is there.
    pub(crate) fn take(&self, identity: &Identity, charge: &Charge) -> Result<(), Duration> {
        let Charge { name, refill, now, .. } = *charge;
        let key = hash(&identity.issuer, &identity.subject);
        let mut shard = self.0[usize::try_from(key % SHARDS as u64).unwrap_or(0)].lock();
        if shard.buckets.len() >= shard.sweep_at {
            shard.buckets.retain(|_, bucket| bucket.refilled(now) < bucket.refill.full);
            shard.sweep_at = (shard.buckets.len() * 2).max(BUCKETS_OF_A_SHARD_MIN);
        }
        let bucket = shard.buckets.entry((key, name)).or_insert(Bucket { tokens: refill.full, at: now, refill });
        bucket.tokens = bucket.refilled(now);
        // From a clock that jumped back on, it refills again.
        bucket.at = now;
        if bucket.tokens >= charge.needed() {
            bucket.tokens -= charge.cost;
            return Ok(());
        }
        Err(refill.time_for(charge.needed() - bucket.tokens))
    }
}

impl Default for Buckets {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| Mutex::new(Shard::default())).collect())
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self { buckets: HashMap::new(), sweep_at: BUCKETS_OF_A_SHARD_MIN }
    }
}

/// An identity in memory.
pub(crate) fn hash(issuer: &str, subject: &str) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // One random state a process: who knows it could aim at another's bucket.
    static STATE: std::sync::OnceLock<RandomState> = std::sync::OnceLock::new();
    STATE.get_or_init(RandomState::new).hash_one((issuer, subject))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFILL: Refill = Refill { full: 60.0, per_second: 1.0 };

    #[test]
    fn a_bucket_refills_evenly_up_to_full_and_not_at_all_backwards() {
        let at = |ms: i64| Millis(1_000_000 + ms);
        let bucket = Bucket { tokens: 0.0, at: at(0), refill: REFILL };
        assert_eq!(bucket.refilled(at(1_000)), 1.0);
        assert_eq!(bucket.refilled(at(30_000)), 30.0);
        assert_eq!(bucket.refilled(at(600_000)), 60.0);
        assert_eq!(bucket.refilled(at(-5_000)), 0.0);
    }
}
