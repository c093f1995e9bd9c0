//! How much one identity may call: a token bucket for each identity and class.
//!
//! A bucket holds one period's worth and refills evenly. Buckets live in memory: a restart forgives.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::function::{Entry, Kind};
use crate::identity::Caller;

/// A class of calls and how many of them one identity may make.
#[derive(Clone, Copy, Debug)]
pub struct RateClass {
    /// What functions name: `#[mutation(rate = "tokens")]`.
    pub name: &'static str,
    /// Calls a period; 0 = no limit.
    pub calls: u32,
    /// The period.
    pub per: Duration,
    /// Why it is so many: what the configuration reference shows.
    pub doc: &'static str,
}
inventory::collect!(RateClass);

/// Queries that name no class.
pub const READ: RateClass = RateClass { name: "read", calls: 6_000, per: MINUTE, doc: "Queries that name no class." };
/// Mutations and actions that name no class.
pub const WRITE: RateClass =
    RateClass { name: "write", calls: 3_000, per: MINUTE, doc: "Mutations and actions that name no class." };
const MINUTE: Duration = Duration::from_secs(60);

/// Registers a class for functions of this program: `convoke::rate_class!("tokens", 120, per 60 s)`. Doc comments in
/// front of the name stand in the configuration reference.
#[macro_export]
macro_rules! rate_class {
    ($(#[doc = $doc:literal])* $name:literal, $calls:literal, per $seconds:literal s) => {
        $crate::__private::inventory::submit! {
            $crate::rate::RateClass {
                name: $name,
                calls: $calls,
                per: ::core::time::Duration::from_secs($seconds),
                doc: ::core::concat!($($doc),*),
            }
        }
    };
}

/// The buckets of all identities.
pub(crate) struct Rates {
    classes: HashMap<&'static str, RateClass>,
    /// Calls that were refused, by class.
    limited: HashMap<&'static str, AtomicU64>,
    shards: Vec<Mutex<Shard>>,
}

/// Some of the buckets, and how many they may become before the full ones are dropped: a full bucket is the same as
/// none. Twice what was left last time, so that a flood of identities does not make every call look at all of them.
struct Shard {
    buckets: HashMap<Key, Bucket>,
    sweep_at: usize,
}

type Key = (u64, &'static str);

struct Bucket {
    tokens: f64,
    at: Millis,
}

/// Buckets of one shard that are never looked through.
const BUCKETS_OF_A_SHARD_MIN: usize = 8_192;
const SHARDS: usize = 16;

impl Rates {
    /// The classes of the program, with the settings' numbers in place of theirs.
    ///
    /// # Errors
    /// A setting for a class that no function has.
    pub(crate) fn new(settings: &HashMap<String, u32>) -> Result<Self, String> {
        let mut classes: HashMap<_, _> = RateClass::all().into_iter().map(|class| (class.name, class)).collect();
        for (name, calls) in settings {
            match classes.get_mut(name.as_str()) {
                Some(class) => class.calls = *calls,
                None => {
                    let mut known: Vec<_> = classes.keys().copied().collect();
                    known.sort_unstable();
                    return Err(format!("[rates] has no class {name:?}; there are {}", known.join(", ")));
                }
            }
        }
        let limited = classes.keys().map(|name| (*name, AtomicU64::new(0))).collect();
        Ok(Self { classes, limited, shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect() })
    }

    /// Takes `cost` tokens of the caller's bucket of the function's class. Only users have buckets.
    ///
    /// # Errors
    /// `RATE_LIMITED`, with `retryAfterMs`.
    pub(crate) fn charge(&self, caller: &Caller, entry: &Entry, cost: u32, now: Millis) -> Result<()> {
        let Some(identity) = caller.identity() else { return Ok(()) };
        let name = entry.rate.unwrap_or(match entry.kind {
            Kind::Query => READ.name,
            Kind::Mutation | Kind::Action => WRITE.name,
        });
        let Some(class) = self.classes.get(name).filter(|class| class.calls > 0) else { return Ok(()) };
        let key = hash(&identity.issuer, &identity.subject);
        let mut shard = self.shards[usize::try_from(key % SHARDS as u64).unwrap_or(0)].lock();
        if shard.buckets.len() >= shard.sweep_at {
            shard.buckets.retain(|(_, name), bucket| {
                self.classes.get(name).is_some_and(|class| class.refilled(bucket, now) < f64::from(class.calls))
            });
            shard.sweep_at = (shard.buckets.len() * 2).max(BUCKETS_OF_A_SHARD_MIN);
        }
        let full = f64::from(class.calls);
        let bucket = shard.buckets.entry((key, class.name)).or_insert(Bucket { tokens: full, at: now });
        bucket.tokens = class.refilled(bucket, now);
        // From a clock that jumped back on, it refills again.
        bucket.at = now;
        // What costs more than a bucket holds empties a full one beyond that, instead of never being let through.
        let cost = f64::from(cost);
        let needed = cost.min(full);
        if bucket.tokens >= needed {
            bucket.tokens -= cost;
            return Ok(());
        }
        let missing = needed - bucket.tokens;
        drop(shard);
        if let Some(limited) = self.limited.get(class.name) {
            limited.fetch_add(1, Relaxed);
        }
        let wait_ms = (missing / full * class.per.as_secs_f64() * 1_000.0).ceil() as u64;
        let per = class.per.as_secs();
        let message = format!("Too many calls: {} of class {} in {per} s are allowed", class.calls, class.name);
        Err(Error::rate_limited(message).with("retryAfterMs", wait_ms))
    }

    /// Calls that were refused, by class.
    pub(crate) fn limited(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.limited.iter().map(|(class, limited)| (*class, limited.load(Relaxed)))
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self { buckets: HashMap::new(), sweep_at: BUCKETS_OF_A_SHARD_MIN }
    }
}

impl RateClass {
    /// The classes of this program, by name.
    pub fn all() -> Vec<RateClass> {
        let mut all = vec![READ, WRITE];
        all.extend(inventory::iter::<RateClass>().copied());
        all.sort_unstable_by_key(|class| class.name);
        all
    }

    fn refilled(&self, bucket: &Bucket, now: Millis) -> f64 {
        let full = f64::from(self.calls);
        let share = now.since(bucket.at).as_secs_f64() / self.per.as_secs_f64();
        (bucket.tokens + share * full).min(full)
    }
}

fn hash(issuer: &str, subject: &str) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // One random state a process: who knows it could aim at another's bucket.
    static STATE: std::sync::OnceLock<RandomState> = std::sync::OnceLock::new();
    STATE.get_or_init(RandomState::new).hash_one((issuer, subject))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: RateClass = RateClass { name: "test", calls: 60, per: MINUTE, doc: "" };

    #[test]
    fn a_bucket_refills_evenly_up_to_full_and_not_at_all_backwards() {
        let at = |ms: i64| Millis(1_000_000 + ms);
        let bucket = Bucket { tokens: 0.0, at: at(0) };
        assert_eq!(CLASS.refilled(&bucket, at(1_000)), 1.0);
        assert_eq!(CLASS.refilled(&bucket, at(30_000)), 30.0);
        assert_eq!(CLASS.refilled(&bucket, at(600_000)), 60.0);
        assert_eq!(CLASS.refilled(&bucket, at(-5_000)), 0.0);
    }

    #[test]
    fn a_setting_for_a_class_that_is_not_there_names_those_that_are() {
        let refused = Rates::new(&HashMap::from([("reed".to_owned(), 5)])).err().unwrap();
        assert_eq!(refused, "[rates] has no class \"reed\"; there are read, write");
        let rates = Rates::new(&HashMap::from([("read".to_owned(), 5)])).unwrap();
        assert_eq!(rates.classes["read"].calls, 5);
    }
}
