//! Durations by their unit: `secs(30)`, `mins(5)`, `hours(2)`, `days(3)`.

use std::time::Duration;

const SECONDS_PER_MINUTE: u64 = 60;
const SECONDS_PER_HOUR: u64 = 60 * SECONDS_PER_MINUTE;
const SECONDS_PER_DAY: u64 = 24 * SECONDS_PER_HOUR;

/// Returns a number of seconds.
pub const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Returns a number of minutes.
pub const fn mins(minutes: u64) -> Duration {
    secs(minutes.saturating_mul(SECONDS_PER_MINUTE))
}

/// Returns a number of hours.
pub const fn hours(hours: u64) -> Duration {
    secs(hours.saturating_mul(SECONDS_PER_HOUR))
}

/// Returns a number of days of 24 hours.
pub const fn days(days: u64) -> Duration {
    secs(days.saturating_mul(SECONDS_PER_DAY))
}
