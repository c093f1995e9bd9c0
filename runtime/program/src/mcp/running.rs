//! The running calls: their number is bounded, and the client can cancel them.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

/// Largest number of concurrent calls.
pub(super) const CALLS_MAX: usize = 16;

/// The running calls of a client.
#[derive(Default)]
pub(super) struct Running(Mutex<Calls>);

#[derive(Default)]
struct Calls {
    /// Number of calls that have begun.
    begun: u64,
    /// The running calls by their number, each with the id of its request.
    running: BTreeMap<u64, (Value, watch::Sender<bool>)>,
}

/// A running call. It ends with its drop.
pub(super) struct RunningCall<'a> {
    all: &'a Running,
    number: u64,
    cancelled: watch::Receiver<bool>,
}

impl Running {
    /// Begins a call, whose request has the JSON of this id; none if too many calls run.
    pub(super) fn begin(&self, id: &str) -> Option<RunningCall<'_>> {
        let mut calls = self.0.lock();
        if calls.running.len() == CALLS_MAX {
            return None;
        }
        let (sender, cancelled) = watch::channel(false);
        calls.begun += 1;
        let number = calls.begun;
        calls.running.insert(number, (value(id), sender));
        Some(RunningCall { all: self, number, cancelled })
    }

    /// Cancels the call of this request. The call may have ended.
    pub(super) fn cancel(&self, id: &str) {
        let id = value(id);
        for (of, sender) in self.0.lock().running.values() {
            if *of == id {
                sender.send_replace(true);
            }
        }
    }

    /// Cancels all calls.
    pub(super) fn cancel_all(&self) {
        for (_, sender) in self.0.lock().running.values() {
            sender.send_replace(true);
        }
    }
}

impl RunningCall<'_> {
    /// Returns a receiver that becomes true when the client cancels the call.
    pub(super) fn cancelled(&self) -> watch::Receiver<bool> {
        self.cancelled.clone()
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.all.0.lock().running.remove(&self.number);
    }
}

/// Reads an id: the same text may be written with other escapes.
fn value(id: &str) -> Value {
    serde_json::from_str(id).unwrap_or_default()
}
