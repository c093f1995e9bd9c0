//! Detects a mutation that does not return: it blocks all other writes.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::error;

use super::switch::Switch;
use super::threads::Shared;
use convoke_core::clock::Clock;
use convoke_store::Stuck;

/// Multiple of its time limit after which a mutation counts as stuck. A function that reads is stopped at the limit,
/// and one that writes at its next statement. A function that runs beyond twice the limit does neither.
pub(crate) const PATIENCE: u32 = 2;
/// Multiple of the time limit after which the process ends, if configured.
const END: u32 = 10;

/// Starts the watchdog, which runs until `switch` is off.
///
/// # Errors
/// The system provides no thread.
pub(crate) fn start(
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    limit: Duration,
    stuck: Stuck,
    switch: Switch,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("convoke-watchdog".to_owned()).spawn(move || {
        let mut named = false;
        while !switch.off_within((limit / 4).max(Duration::from_millis(10))) {
            let running = shared.current.running(clock.monotonic());
            named = look(running, limit, stuck, named);
        }
    })
}

/// Reports a stuck mutation once. Returns true if one is reported.
fn look(running: Option<(String, Duration)>, limit: Duration, stuck: Stuck, named: bool) -> bool {
    let Some((name, since)) = running.filter(|(_, since)| *since > PATIENCE * limit) else { return false };
    if !named {
        error!("the mutation {name} has been running for {} ms and stops all others", since.as_millis());
    }
    if since > END * limit && stuck == Stuck::EndProcess {
        // Written directly to standard error, because the log may not be flushed before this process ends.
        eprintln!("convoke: the mutation {name} does not return: the process ends");
        std::process::abort();
    }
    true
}
