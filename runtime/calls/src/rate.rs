//! How much one identity may call and write: a token bucket for each identity and class of calls, and one for bytes.
//!
//! A bucket of calls holds one period's worth, that of bytes a burst; each refills evenly. Buckets live in memory: a restart forgives.
//!
//! By hand, since the keyed limiters of the libraries (`governor`) know no debt: a call may cost more than a bucket
//! holds, and what a mutation has written is known, and charged, only when it is done.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use crate::function::{FunctionDef, Kind};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::identity::{Caller, Identity};
use convoke_core::limits::Limits;
use convoke_core::rate_class::{READ, RateClass, WRITE};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// How much each identity may call and write.
pub struct Rates {
    classes: HashMap<&'static str, RateClass>,
    /// What one identity may write, in bytes; none = any number.
    writes: Option<Refill>,
    /// Calls that were refused, by class.
    limited: HashMap<&'static str, AtomicU64>,
    buckets: Buckets,
}

/// The name under which the bytes that an identity has written are counted beside the classes of calls.
const BYTES: &str = "bytes written";

/// Whether a call waits for its bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payment {
    /// It is refused if the bucket does not hold enough.
    Now,
    /// It is taken from what the bucket will hold: for work that was accepted before, and that nobody would repeat.
    Later,
}

impl Rates {
    /// The classes of the program, with the settings' numbers in place of theirs.
    ///
    /// # Errors
    /// A setting for a class that no function has.
    pub(crate) fn new(settings: &HashMap<String, u32>, limits: &Limits) -> Result<Self, String> {
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
        let limited = classes.keys().copied().chain([BYTES]).map(|name| (name, AtomicU64::new(0))).collect();
        let (burst, per_hour) = (limits.user_bytes_written_burst, limits.user_bytes_written_per_hour);
        let writes = (burst > 0 && per_hour > 0)
            .then(|| Refill { full: burst as f64, per_second: per_hour as f64 / HOUR.as_secs_f64() });
        Ok(Self { classes, writes, limited, buckets: Buckets::default() })
    }

    /// Takes `cost` tokens of the caller's bucket of the function's class. Only users have buckets.
    ///
    /// # Errors
    /// `RATE_LIMITED`, with `retryAfterMs`.
    pub(crate) fn charge(&self, caller: &Caller, function: &FunctionDef, cost: u32, now: Millis) -> Result<()> {
        let Some(identity) = caller.identity() else { return Ok(()) };
        let name = function.rate.unwrap_or(match function.kind {
            Kind::Query => READ.name,
            Kind::Mutation | Kind::Action => WRITE.name,
        });
        let Some(class) = self.classes.get(name).filter(|class| class.calls > 0) else { return Ok(()) };
        let taken = self.buckets.take(identity, class.name, Refill::of(class), f64::from(cost), Payment::Now, now);
        taken.map_err(|wait| {
            let per = class.per.as_secs();
            let message = format!("Too many calls: {} of class {} in {per} s are allowed", class.calls, class.name);
            self.rejected(class.name, message, wait)
        })
    }

    /// Takes the bytes that a mutation of this caller has written. Only users have buckets.
    ///
    /// # Errors
    /// `RATE_LIMITED`, with `retryAfterMs`; never with [`Payment::Later`].
    pub(crate) fn charge_bytes(&self, caller: &Caller, bytes: u64, payment: Payment, now: Millis) -> Result<()> {
        let (Some(identity), Some(refill)) = (caller.identity(), self.writes) else { return Ok(()) };
        if bytes == 0 {
            return Ok(());
        }
        self.buckets.take(identity, BYTES, refill, bytes as f64, payment, now).map_err(|wait| {
            let per_hour = refill.per_second * HOUR.as_secs_f64();
            let message = format!(
                "Too much written: {} an hour are allowed, {} of it at once. Write less, or try again in {} s",
                amount(per_hour),
                amount(refill.full),
                wait.as_secs_f64().ceil()
            );
            self.rejected(BYTES, message, wait)
        })
    }

    fn rejected(&self, name: &str, message: String, wait: Duration) -> Error {
        if let Some(limited) = self.limited.get(name) {
            limited.fetch_add(1, Relaxed);
        }
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Error::rate_limited(message).with("retryAfterMs", wait_ms)
    }

    /// Calls that were refused, by class.
    pub fn limited(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.limited.iter().map(|(class, limited)| (*class, limited.load(Relaxed)))
    }
}

/// Bytes as a client reads them.
fn amount(bytes: f64) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    if bytes >= MIB { format!("{:.0} MiB", bytes / MIB) } else { format!("{bytes:.0} bytes") }
}

/// How a bucket fills.
#[derive(Clone, Copy, Debug)]
struct Refill {
    /// What it holds at most, and at first.
    full: f64,
    per_second: f64,
}

impl Refill {
    fn of(class: &RateClass) -> Self {
        let full = f64::from(class.calls);
        Self { full, per_second: full / class.per.as_secs_f64() }
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
struct Buckets(Vec<Mutex<Shard>>);

/// Some of the buckets, and how many they may become before the full ones are dropped: a full bucket is the same as
/// none. Twice what was left last time, so that a flood of identities does not make every call look at all of them.
struct Shard {
    buckets: HashMap<Key, Bucket>,
    sweep_at: usize,
}

type Key = (u64, &'static str);

/// Buckets of one shard that are never looked through.
const BUCKETS_OF_A_SHARD_MIN: usize = 8_192;
const SHARDS: usize = 16;

impl Buckets {
    /// Takes `cost` tokens.
    ///
    /// # Errors
    /// How long it takes until they are there.
    fn take(
        &self,
        identity: &Identity,
        name: &'static str,
        refill: Refill,
        cost: f64,
        payment: Payment,
        now: Millis,
    ) -> Result<(), Duration> {
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
        // What costs more than a bucket holds empties a full one beyond that, instead of never being let through.
        let needed = cost.min(refill.full);
        if payment == Payment::Later || bucket.tokens >= needed {
            bucket.tokens -= cost;
            return Ok(());
        }
        let wait_s = (needed - bucket.tokens) / refill.per_second;
        Err(Duration::from_millis((wait_s * 1_000.0).ceil() as u64))
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

fn hash(issuer: &str, subject: &str) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // One random state a process: who knows it could aim at another's bucket.
    static STATE: std::sync::OnceLock<RandomState> = std::sync::OnceLock::new();
    STATE.get_or_init(RandomState::new).hash_one((issuer, subject))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: RateClass = RateClass { name: "test", calls: 60, per: Duration::from_secs(60), doc: "" };

    #[test]
    fn a_bucket_refills_evenly_up_to_full_and_not_at_all_backwards() {
        let at = |ms: i64| Millis(1_000_000 + ms);
        let bucket = Bucket { tokens: 0.0, at: at(0), refill: Refill::of(&CLASS) };
        assert_eq!(bucket.refilled(at(1_000)), 1.0);
        assert_eq!(bucket.refilled(at(30_000)), 30.0);
        assert_eq!(bucket.refilled(at(600_000)), 60.0);
        assert_eq!(bucket.refilled(at(-5_000)), 0.0);
    }

    #[test]
    fn a_setting_for_a_class_that_is_not_there_names_those_that_are() {
        let refused = Rates::new(&HashMap::from([("reed".to_owned(), 5)]), &Limits::default()).err().unwrap();
        assert_eq!(refused, "[rates] has no class \"reed\"; there are read, write");
        let rates = Rates::new(&HashMap::from([("read".to_owned(), 5)]), &Limits::default()).unwrap();
        assert_eq!(rates.classes["read"].calls, 5);
    }
}
