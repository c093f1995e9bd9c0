//! Time: the only place that asks the system for it.
//!
//! The runtime is given a [`Clock`], so a test can hold it still and move it on. Everything else takes time from there.

use std::fmt;
use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

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

    #[test]
    fn a_stamp_is_the_time_in_utc() {
        assert_eq!(stamp(Millis(0)), "19700101-000000");
        assert_eq!(stamp(Millis(1_769_903_999_999)), "20260131-235959");
    }
}
