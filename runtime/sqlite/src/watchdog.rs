//! Watches that the mutation which runs returns: while one does not, nobody else writes.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::error;

use super::switch::Switch;
use super::threads::Shared;
use convoke_core::clock::Clock;
use convoke_store::Stuck;

/// After so many times its limit a mutation counts as stuck. A function that only reads is stopped at the limit, and
/// one that writes at its next statement: what runs on past twice the limit does neither.
pub(crate) const PATIENCE: u32 = 2;
/// After so many times its limit the process ends, if it is to.
const END: u32 = 10;

/// Watches until `switch` is off.
///
/// # Errors
/// That of the system, if it gives no thread.
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

/// Names a stuck mutation, once; says whether one is named.
fn look(running: Option<(String, Duration)>, limit: Duration, stuck: Stuck, named: bool) -> bool {
    let Some((name, since)) = running.filter(|(_, since)| *since > PATIENCE * limit) else { return false };
    if !named {
        error!("the mutation {name} has been running for {} ms and stops all others", since.as_millis());
    }
    if since > END * limit && stuck == Stuck::EndProcess {
        // Straight to standard error: the log may not be written any more once this process has ended.
        eprintln!("convoke: the mutation {name} does not return: the process ends");
        std::process::abort();
    }
    true
}
