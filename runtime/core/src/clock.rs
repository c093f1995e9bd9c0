//! Time: the only place that asks the system for it.
//!
//! The runtime is given a [`Clock`], so a test can hold it still and move it on. Everything else takes time from there.

use std::fmt;
use std::ops::{Add, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::wire::Invalid;
use crate::wire::default::{FromLiteral, integer_literal};

/// A time: whole milliseconds since the epoch, 0 … 8,640,000,000,000,000 on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// The latest time that the wire accepts: the greatest of ECMAScript's `Date`.
    pub const MAX: Millis = Millis(8_640_000_000_000_000);

    /// Milliseconds since the epoch.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not.
    pub fn since(self, earlier: Millis) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Duration> for Millis {
    type Output = Millis;
    fn add(self, rest: Duration) -> Millis {
        Millis(self.0.saturating_add(i64::try_from(rest.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Millis {
    type Output = Millis;
    fn sub(self, rest: Duration) -> Millis {
        Millis(self.0.saturating_sub(i64::try_from(rest.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::wire::integer(deserializer, 0, Self::MAX.0).map(Millis)
    }
}

impl FromLiteral<i128> for Millis {
    fn from_literal(literal: i128) -> Result<Self, Invalid> {
        integer_literal(literal).map(Millis)
    }
}

impl JsonSchema for Millis {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Millis".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer", "format": "int64", "minimum": 0, "maximum": Self::MAX.0,
            "description": "Milliseconds since the epoch.", "examples": [1_767_225_600_000_i64],
        })
    }
}

/// A time in the names of files: `20260131-235959`, in UTC.
pub fn stamp(time: Millis) -> String {
    use chrono::{Datelike as _, Timelike as _};
    let time = chrono::DateTime::from_timestamp_millis(time.0).unwrap_or_default();
    format!(
        "{:04}{:02}{:02}-{:02}{:02}{:02}",
        time.year(),
        time.month(),
        time.day(),
        time.hour(),
        time.minute(),
        time.second()
    )
}

/// Where the runtime takes time from.
pub trait Clock: Send + Sync + 'static {
    /// The time of day. It may jump, also backward.
    fn now(&self) -> Millis;

    /// Time that only goes forward, since an arbitrary start: for durations and deadlines.
    fn monotonic(&self) -> Duration;

    /// Whether somebody else sets the time of day, so that it is not held against other clocks.
    fn is_held(&self) -> bool {
        false
    }
}

/// The machine's clock.
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock whose monotonic time starts now.
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A time of day that several machines share: each has its own clock, moved by how far another one, which all of them ask,
/// is ahead of it. It does not go back, unless the machine's clock goes back by more than that corrects.
pub struct SharedClock {
    machine: Arc<dyn Clock>,
    offset_ms: AtomicI64,
    last: AtomicI64,
}

impl SharedClock {
    /// The machine's clock is moved by so much at most: one that is further off is to be set right.
    pub const OFFSET_MAX_MS: i64 = 500;

    /// This machine's clock, not moved yet.
    pub fn over(machine: Arc<dyn Clock>) -> Self {
        Self { machine, offset_ms: AtomicI64::new(0), last: AtomicI64::new(i64::MIN) }
    }

    /// The clock of the machine.
    pub fn machine(&self) -> &Arc<dyn Clock> {
        &self.machine
    }

    /// Takes in that the clock which all ask showed `theirs` at some moment between `asked` and `answered`, by the clock of
    /// the machine. This one is moved no further than that requires, so that an answer that took long moves it by nothing.
    pub fn measure(&self, theirs: Millis, asked: Millis, answered: Millis) {
        let (least, most) = (theirs.0 - answered.0.max(asked.0), theirs.0 - asked.0);
        let offset = self.offset_ms.load(Ordering::Relaxed).clamp(least, most);
        self.offset_ms.store(offset.clamp(-Self::OFFSET_MAX_MS, Self::OFFSET_MAX_MS), Ordering::Relaxed);
    }
}

impl Clock for SharedClock {
    fn now(&self) -> Millis {
        if self.machine.is_held() {
            return self.machine.now();
        }
        let now = self.machine.now().0 + self.offset_ms.load(Ordering::Relaxed);
        let not_back = |last: i64| {
            let is_corrected = last > now && last - now <= 2 * Self::OFFSET_MAX_MS;
            Some(if is_corrected { last } else { now })
        };
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, not_back).unwrap_or_else(|last| last);
        Millis(not_back(last).unwrap_or(now))
    }

    fn monotonic(&self) -> Duration {
        self.machine.monotonic()
    }

    fn is_held(&self) -> bool {
        self.machine.is_held()
    }
}

/// A time of day that stands still until it is moved, for tests.
///
/// Monotonic time is the machine's: deadlines and latencies stay real while the time of day is held.
pub struct HeldClock {
    now: AtomicI64,
    machine: SystemClock,
}

impl HeldClock {
    /// A clock that shows `now` until [`HeldClock::advance`] or [`HeldClock::set`].
    pub fn at(now: Millis) -> Self {
        Self { now: AtomicI64::new(now.0), machine: SystemClock::new() }
    }

    /// Moves the time of day on.
    pub fn advance(&self, by: Duration) {
        self.now.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }

    /// Sets the time of day, also backward.
    pub fn set(&self, now: Millis) {
        self.now.store(now.0, Ordering::SeqCst);
    }
}

impl Clock for HeldClock {
    fn now(&self) -> Millis {
        Millis(self.now.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        self.machine.monotonic()
    }

    fn is_held(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that is set, and is not known to be.
    struct Set(AtomicI64);

    impl Clock for Set {
        fn now(&self) -> Millis {
            Millis(self.0.load(Ordering::SeqCst))
        }

        fn monotonic(&self) -> Duration {
            Duration::ZERO
        }
    }

    #[test]
    fn a_shared_clock_follows_what_is_measured_within_its_bound_and_does_not_go_back() {
        let machine = Arc::new(Set(AtomicI64::new(10_000)));
        let clock = SharedClock::over(machine.clone());
        let measure = |theirs, asked, answered| {
            clock.measure(Millis(theirs), Millis(asked), Millis(answered));
            clock.now().0
        };
        assert_eq!(clock.now(), Millis(10_000));
        assert_eq!(measure(10_300, 9_990, 10_000), 10_300);
        assert_eq!(measure(10_200, 8_000, 10_000), 10_300, "what a slow answer allows is left as it is");
        // Set back by a little it stands still until it is caught up.
        assert_eq!(measure(10_250, 10_000, 10_000), 10_300);
        machine.0.store(10_049, Ordering::SeqCst);
        assert_eq!(clock.now(), Millis(10_300));
        machine.0.store(10_051, Ordering::SeqCst);
        assert_eq!(clock.now(), Millis(10_301));
        // A clock that is too wrong is moved by the bound, and one that jumps back is followed.
        assert_eq!(measure(99_000, 10_051, 10_051), 10_551);
        machine.0.store(1_000, Ordering::SeqCst);
        assert_eq!(clock.now(), Millis(1_500));
    }

    #[test]
    fn a_stamp_is_the_time_in_utc() {
        assert_eq!(stamp(Millis(0)), "19700101-000000");
        assert_eq!(stamp(Millis(1_769_903_999_999)), "20260131-235959");
    }
}
