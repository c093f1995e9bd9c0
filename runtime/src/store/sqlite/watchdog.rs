//! Watches that the mutation which runs returns: while one does not, nobody else writes.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing::error;

use crate::clock::Clock;
use crate::store::handle::Stuck;
use crate::store::shared::Shared;

/// After so many times its limit a mutation counts as stuck. A function that only reads is stopped at the limit, and
/// one that writes at its next statement: what runs on past twice the limit does neither.
pub const PATIENCE: u32 = 2;
/// After so many times its limit the process ends, if it is to.
const END: u32 = 10;

/// Ends the watch.
#[derive(Clone, Default)]
pub struct Switch(Arc<(Mutex<bool>, Condvar)>);

impl Switch {
    /// Ends it now.
    pub fn off(&self) {
        *self.0.0.lock() = true;
        self.0.1.notify_all();
    }

    fn off_within(&self, patience: Duration) -> bool {
        let mut off = self.0.0.lock();
        if !*off {
            self.0.1.wait_for(&mut off, patience);
        }
        *off
    }
}

/// Starts to watch.
///
/// # Panics
/// If the system gives no thread: nothing would work then.
pub fn start(shared: Arc<Shared>, clock: Arc<dyn Clock>, limit: Duration, stuck: Stuck) -> (Switch, JoinHandle<()>) {
    let switch = Switch::default();
    let watched = switch.clone();
    let thread = thread::Builder::new()
        .name("convoke-watchdog".to_owned())
        .spawn(move || {
            let mut named = false;
            while !watched.off_within((limit / 4).max(Duration::from_millis(10))) {
                let running = shared.current.running(clock.monotonic());
                named = look(running, limit, stuck, named);
            }
        })
        .expect("the system has a thread for the watchdog");
    (switch, thread)
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
