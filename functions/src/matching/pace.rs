//! Intervals of the matcher.
//!
//! At most two of its jobs are pending: one that wakes it a second after an entry, and one that repeats it while any
//! user waits. If the second one ends, the sweep of the next minute starts it again.

use std::time::Duration;

/// Delay after an entry, so that simultaneous entries are matched in the same run.
pub const WAKE: Duration = Duration::from_secs(1);
/// Interval while users wait: new matches become possible as time passes and profiles change.
pub const CYCLE: Duration = Duration::from_secs(15);

/// Key of the job that wakes it.
pub const WAKING: &str = "wake";
/// Key of the job that repeats it.
pub const CYCLING: &str = "cycle";
