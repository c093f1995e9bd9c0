//! How often the matcher runs by itself.
//!
//! Two jobs of it can be pending: one that wakes it a second after somebody came, and one that keeps it going while
//! anyone waits. Whatever ends the second, the minute's sweep begins it again.

use std::time::Duration;

/// How long after an entry: who comes at the same time is matched in the same run.
pub const WAKE: Duration = Duration::from_secs(1);
/// How often while anyone waits: what was no match becomes one as time passes and profiles change.
pub const CYCLE: Duration = Duration::from_secs(15);

/// The key of the job that wakes it.
pub const WAKING: &str = "wake";
/// The key of the job that keeps it going.
pub const CYCLING: &str = "cycle";
