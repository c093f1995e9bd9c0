//! Time: the only module that reads the clocks of the system.
//!
//! The runtime gets a [`Clock`] and reads time only from it, so that a test can stop and advance the time.

use std::fmt;
use std::ops::{Add, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::wire::Invalid;
use crate::wire::default::{FromLiteral, integer_literal};

/// A time in whole milliseconds since the epoch, from 0 to 8,640,000,000,000,000 on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// The latest time that the wire accepts: the maximum of ECMAScript's `Date`.
    pub const MAX: Millis = Millis(8_640_000_000_000_000);

    /// Milliseconds since the epoch.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Returns the time since `earlier`; zero if `earlier` is later.
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

/// Formats a time for people: `2026-01-31T23:59:59Z`.
pub fn utc(time: Millis) -> String {
    use chrono::SecondsFormat;
    chrono::DateTime::from_timestamp_millis(time.0).unwrap_or_default().to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Formats a time for file names: `20260131-235959`, in UTC.
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

/// The source of time of the runtime.
pub trait Clock: Send + Sync + 'static {
    /// Returns the time of day. It may jump, also backward.
    fn now(&self) -> Millis;

    /// Returns the time since an arbitrary start, which never goes back: for durations and deadlines.
    fn monotonic(&self) -> Duration;

    /// Returns true if a test sets the time of day, so that it is not compared with other clocks.
    fn is_held(&self) -> bool {
        false
    }
}

/// The machine's clock.
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Creates a clock whose monotonic time starts now.
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

/// A time of day that several machines share. All machines measure one reference clock, and each corrects its own clock
/// by the difference. The time does not go back, unless the machine's clock goes back by more than the largest
/// correction.
pub struct SharedClock {
    machine: Arc<dyn Clock>,
    offset_ms: AtomicI64,
    last: AtomicI64,
}

impl SharedClock {
    /// Largest correction of the machine's clock. A clock with a larger error must be synchronized by the operator.
    pub const OFFSET_MAX_MS: i64 = 500;

    /// Creates a shared clock on the machine's clock, without a correction.
    pub fn over(machine: Arc<dyn Clock>) -> Self {
        Self { machine, offset_ms: AtomicI64::new(0), last: AtomicI64::new(i64::MIN) }
    }

    /// The clock of the machine.
    pub fn machine(&self) -> &Arc<dyn Clock> {
        &self.machine
    }

    /// Applies a measurement: the reference clock showed `theirs` at some moment between `asked` and `answered` on the
    /// machine's clock. The correction changes only as much as the measurement requires, so a slow response does not
    /// change it.
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

/// A time of day that changes only on request, for tests.
///
/// Monotonic time is that of the machine, so deadlines and latencies stay real.
pub struct HeldClock {
    now: AtomicI64,
    machine: SystemClock,
}

impl HeldClock {
    /// Creates a clock that shows `now` until [`HeldClock::advance`] or [`HeldClock::set`].
    pub fn at(now: Millis) -> Self {
        Self { now: AtomicI64::new(now.0), machine: SystemClock::new() }
    }

    /// Advances the time of day.
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

    /// A clock that the test sets, but that does not report it.
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
    fn shared_clock_follows_measurements_within_its_limit_and_does_not_go_back() {
        let machine = Arc::new(Set(AtomicI64::new(10_000)));
        let clock = SharedClock::over(machine.clone());
        let measure = |theirs, asked, answered| {
            clock.measure(Millis(theirs), Millis(asked), Millis(answered));
            clock.now().0
        };
        assert_eq!(clock.now(), Millis(10_000));
        assert_eq!(measure(10_300, 9_990, 10_000), 10_300);
        assert_eq!(measure(10_200, 8_000, 10_000), 10_300, "a slow response does not change the correction");
        // After a small negative correction, the clock stops until the time has caught up.
        assert_eq!(measure(10_250, 10_000, 10_000), 10_300);
        machine.0.store(10_049, Ordering::SeqCst);
        assert_eq!(clock.now(), Millis(10_300));
        machine.0.store(10_051, Ordering::SeqCst);
        assert_eq!(clock.now(), Millis(10_301));
        // A large difference is corrected by the limit, and a large jump back of the machine's clock is followed.
        assert_eq!(measure(99_000, 10_051, 10_051), 10_551);
        machine.0.store(1_000, Ordering::SeqCst);
        assert_eq!(clock.now(), Millis(1_500));
    }

    #[test]
    fn stamps_and_times_for_people_are_in_utc() {
        assert_eq!(stamp(Millis(0)), "19700101-000000");
        assert_eq!(stamp(Millis(1_769_903_999_999)), "20260131-235959");
        assert_eq!(utc(Millis(0)), "1970-01-01T00:00:00Z");
        assert_eq!(utc(Millis(1_769_903_999_999)), "2026-01-31T23:59:59Z");
    }
}
