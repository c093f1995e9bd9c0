//! The end of a thread that may wait for a place.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use convoke_core::clock::Clock;

/// Time between two checks.
const CHECK: Duration = Duration::from_millis(5);

/// Waits for the end of a thread. Returns false if it still runs after this time.
pub(crate) fn ends_within(thread: &JoinHandle<()>, longest: Duration, clock: &dyn Clock) -> bool {
    let begun = clock.monotonic();
    while !thread.is_finished() {
        if clock.monotonic().saturating_sub(begun) > longest {
            return false;
        }
        thread::sleep(CHECK);
    }
    true
}
