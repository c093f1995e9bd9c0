//! Token buckets in memory, one per identity and name.
//!
//! Not from a library: the keyed limiters of `governor` know no debt. A call may cost more than a bucket holds, and the
//! bytes that a mutation writes are known, and charged, only at its end.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use convoke_core::clock::Millis;
use convoke_core::identity::Identity;

/// The time at which a charge is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payment {
    /// The call is rejected if the bucket does not hold enough.
    Now,
    /// The same, and half a full bucket is enough for any cost, which leaves a debt: for costs that may exceed a full
    /// bucket, and whose preparation has a small cost itself.
    Large,
    /// The bucket goes into debt: for work that was accepted before and that no client would retry.
    Later,
}

/// Capacity and refill rate of a bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refill {
    /// Maximum and initial number of tokens.
    pub full: f64,
    pub per_second: f64,
}

impl Refill {
    /// Returns the time until `tokens` more are available.
    pub(crate) fn time_for(self, tokens: f64) -> Duration {
        Duration::from_millis((tokens / self.per_second * 1_000.0).ceil() as u64)
    }
}

/// A charge to a bucket of an identity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    /// Name of the bucket.
    pub name: &'static str,
    pub refill: Refill,
    /// Number of tokens.
    pub cost: f64,
    pub payment: Payment,
    pub now: Millis,
}

impl Charge {
    /// Returns the number of tokens that the bucket must hold. A cost above the capacity needs a full bucket and leaves
    /// a debt; otherwise such a call would never be accepted.
    pub(crate) fn needed(&self) -> f64 {
        match self.payment {
            Payment::Now => self.cost.min(self.refill.full),
            Payment::Large => self.cost.min(self.refill.full / 2.0),
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
pub(crate) struct Buckets(Vec<Mutex<Shard<Bucket>>>);

/// A part of the buckets, and the number of them at which those that equal an absent one are dropped. The threshold is
/// twice the number that remained, so that a flood of identities does not make every call scan all buckets.
pub(crate) struct Shard<B> {
    pub buckets: HashMap<Key, B>,
    sweep_at: usize,
}

impl<B> Shard<B> {
    /// Makes room for a new bucket.
    pub(crate) fn sweep(&mut self, is_kept: impl Fn(&B) -> bool) {
        if self.buckets.len() >= self.sweep_at {
            self.buckets.retain(|_, bucket| is_kept(bucket));
            self.sweep_at = (self.buckets.len() * 2).max(BUCKETS_OF_A_SHARD_MIN);
        }
    }
}

impl<B> Default for Shard<B> {
    fn default() -> Self {
        Self { buckets: HashMap::new(), sweep_at: BUCKETS_OF_A_SHARD_MIN }
    }
}

/// The key of a bucket in memory: the identity's hash and the bucket's name.
pub(crate) type Key = (u64, &'static str);

/// Number of buckets of one shard that are never scanned.
const BUCKETS_OF_A_SHARD_MIN: usize = 8_192;
/// Number of shards, each with its own lock.
pub(crate) const SHARDS: usize = 16;

impl Buckets {
    /// Takes the tokens of a charge.
    ///
    /// # Errors
    /// The time until the tokens are available.
    pub(crate) fn take(&self, identity: &Identity, charge: &Charge) -> Result<(), Duration> {
        let Charge { name, refill, now, .. } = *charge;
        let (key, shard) = place(identity, name);
        let mut shard = self.0[shard].lock();
        shard.sweep(|bucket| bucket.refilled(now) < bucket.refill.full);
        let bucket = shard.buckets.entry(key).or_insert(Bucket { tokens: refill.full, at: now, refill });
        bucket.tokens = bucket.refilled(now);
        // After a clock that jumped back, the bucket refills from the new time.
        bucket.at = now;
        if bucket.tokens >= charge.needed() {
            bucket.tokens -= charge.cost;
            return Ok(());
        }
        Err(refill.time_for(charge.needed() - bucket.tokens))
    }

    /// Gives back tokens of a charge that were not used.
    pub(crate) fn give(&self, identity: &Identity, charge: &Charge) {
        let (key, shard) = place(identity, charge.name);
        // An absent bucket is full.
        if let Some(bucket) = self.0[shard].lock().buckets.get_mut(&key) {
            bucket.tokens = bucket.refilled(charge.now) + charge.cost;
            bucket.at = charge.now;
        }
    }
}

impl Default for Buckets {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| Mutex::new(Shard::default())).collect())
    }
}

/// Returns the key of an identity's bucket, and the number of its shard.
pub(crate) fn place(identity: &Identity, name: &'static str) -> (Key, usize) {
    use std::hash::{BuildHasher, RandomState};
    // One random state per process: a client that knows it could aim at another identity's bucket.
    static STATE: std::sync::OnceLock<RandomState> = std::sync::OnceLock::new();
    let hash = STATE.get_or_init(RandomState::new).hash_one((&identity.issuer, &identity.subject));
    ((hash, name), usize::try_from(hash % SHARDS as u64).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFILL: Refill = Refill { full: 60.0, per_second: 1.0 };

    #[test]
    fn bucket_refills_evenly_up_to_full_and_never_backwards() {
        let at = |ms: i64| Millis(1_000_000 + ms);
        let bucket = Bucket { tokens: 0.0, at: at(0), refill: REFILL };
        assert_eq!(bucket.refilled(at(1_000)), 1.0);
        assert_eq!(bucket.refilled(at(30_000)), 30.0);
        assert_eq!(bucket.refilled(at(600_000)), 60.0);
        assert_eq!(bucket.refilled(at(-5_000)), 0.0);
    }
}
