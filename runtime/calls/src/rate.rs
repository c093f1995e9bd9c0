//! Rates: limits of calls and of written bytes per identity. There is one token bucket per identity and class of calls,
//! and one for bytes.
//!
//! A bucket of calls holds the calls of one period, and a bucket of bytes holds one burst. Both refill evenly. Buckets
//! are in memory, so a restart refills them. If several nodes serve the database, they share each bucket.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::buckets::{Buckets, Charge, Payment, Refill};
use crate::function::{FunctionDef, Kind};
use crate::shared_buckets::{NotTaken, SharedBuckets};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::identity::{Caller, Identity};
use convoke_core::limits::Limits;
use convoke_core::rate_classes::{READ, RateClass, WRITE};
use convoke_store::{Nodes, Store};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// The rates of all identities.
pub struct Rates {
    classes: HashMap<&'static str, RateClass>,
    /// Limit of the bytes that one identity may write. None: no limit.
    writes: Option<Refill>,
    /// Rejected calls by class.
    limited: HashMap<&'static str, AtomicU64>,
    buckets: Storage,
}

/// The storage of the buckets.
enum Storage {
    /// In this process, which serves the database alone.
    Local(Buckets),
    /// Shared by all nodes.
    Shared(SharedBuckets),
}

/// Name of the bucket of written bytes, beside the classes of calls.
const BYTES: &str = "bytes written";

impl Rates {
    /// Creates the classes of the program, with the limits of the settings.
    ///
    /// # Errors
    /// A setting names an unknown class.
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
        Ok(Self { classes, writes, limited, buckets: Storage::Local(Buckets::default()) })
    }

    /// Shares the buckets with the other nodes of a store, if it may have any.
    #[must_use]
    pub(crate) fn with_nodes_of(self, store: &Store) -> Self {
        let buckets = match store.nodes() {
            Nodes::Alone => self.buckets,
            Nodes::Many { .. } => Storage::Shared(SharedBuckets::of(store.clone())),
        };
        Self { buckets, ..self }
    }

    /// Takes `cost` tokens from the caller's bucket of the function's class. Only users have buckets.
    ///
    /// # Errors
    /// `RATE_LIMITED`, with `retryAfterMs`; `UNAVAILABLE` if the shared buckets are unreachable.
    pub(crate) fn charge(&self, caller: &Caller, function: &FunctionDef, cost: u32, now: Millis) -> Result<()> {
        let Some(identity) = caller.identity() else { return Ok(()) };
        let name = function.rate.unwrap_or(match function.kind {
            Kind::Query => READ.name,
            Kind::Mutation | Kind::Action => WRITE.name,
        });
        let Some(class) = self.classes.get(name).filter(|class| class.calls > 0) else { return Ok(()) };
        let refill =
            Refill { full: f64::from(class.calls), per_second: f64::from(class.calls) / class.per.as_secs_f64() };
        let charge = Charge { name: class.name, refill, cost: f64::from(cost), payment: Payment::Now, now };
        self.take(identity, &charge, |_| {
            let per = class.per.as_secs();
            format!("Too many calls: {} of class {} in {per} s are allowed", class.calls, class.name)
        })
    }

    /// Takes the bytes that a mutation of this caller has written. Only users have buckets.
    ///
    /// # Errors
    /// As [`Rates::charge`]; never with [`Payment::Later`].
    pub(crate) fn charge_bytes(&self, caller: &Caller, bytes: u64, payment: Payment, now: Millis) -> Result<()> {
        let (Some(identity), Some(refill)) = (caller.identity(), self.writes) else { return Ok(()) };
        if bytes == 0 {
            return Ok(());
        }
        let charge = Charge { name: BYTES, refill, cost: bytes as f64, payment, now };
        self.take(identity, &charge, |wait| {
            let per_hour = refill.per_second * HOUR.as_secs_f64();
            format!(
                "Too much written: the limits are {} per hour and {} in one burst. Write less, or try again in {} s",
                amount(per_hour),
                amount(refill.full),
                wait.as_secs_f64().ceil()
            )
        })
    }

    /// Gives back bytes that were charged and not written.
    pub(crate) fn give_back_bytes(&self, caller: &Caller, bytes: u64, now: Millis) {
        let (Some(identity), Some(refill)) = (caller.identity(), self.writes) else { return };
        if bytes > 0 {
            let charge = Charge { name: BYTES, refill, cost: bytes as f64, payment: Payment::Later, now };
            match &self.buckets {
                Storage::Local(buckets) => buckets.give(identity, &charge),
                Storage::Shared(buckets) => buckets.give(identity, &charge),
            }
        }
    }

    fn take(&self, identity: &Identity, charge: &Charge, message: impl FnOnce(Duration) -> String) -> Result<()> {
        let taken = match &self.buckets {
            Storage::Local(buckets) => buckets.take(identity, charge).map_err(NotTaken::For),
            Storage::Shared(buckets) => buckets.take(identity, charge),
        };
        match taken {
            Ok(()) => Ok(()),
            Err(NotTaken::For(wait)) => Err(self.rejected(charge.name, message(wait), wait)),
            Err(NotTaken::Unknown(error)) => Err(error.into()),
        }
    }

    fn rejected(&self, name: &str, message: String, wait: Duration) -> Error {
        if let Some(limited) = self.limited.get(name) {
            limited.fetch_add(1, Relaxed);
        }
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Error::rate_limited(message).with("retryAfterMs", wait_ms)
    }

    /// Returns the number of rejected calls by class.
    pub fn limited(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.limited.iter().map(|(class, limited)| (*class, limited.load(Relaxed)))
    }
}

/// Formats a number of bytes for a client.
fn amount(bytes: f64) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    if bytes >= MIB { format!("{:.0} MiB", bytes / MIB) } else { format!("{bytes:.0} bytes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_for_an_unknown_class_names_the_known_classes() {
        let refused = Rates::new(&HashMap::from([("reed".to_owned(), 5)]), &Limits::default()).err().unwrap();
        assert_eq!(refused, "[rates] has no class \"reed\"; there are read, write");
        let rates = Rates::new(&HashMap::from([("read".to_owned(), 5)]), &Limits::default()).unwrap();
        assert_eq!(rates.classes["read"].calls, 5);
    }
}
