//! What the wire of a connection, its exchanges and the server's drain share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::backlog::Backlog;
use super::closing::Closing;
use convoke_core::limits::Limits;

/// The state of one connection.
pub(crate) struct Activity {
    /// Its calls.
    pub(crate) calls: Calls,
    /// Its responses.
    pub(crate) backlog: Backlog,
    /// Its end.
    pub(crate) closing: Closing,
    held_bytes_max: usize,
}

/// The calls of one connection.
#[derive(Default)]
pub(crate) struct Calls {
    running: AtomicUsize,
    /// Running responses that have no end.
    endless: AtomicUsize,
    started: AtomicU64,
    strikes: AtomicU64,
    running_max: usize,
}

impl Calls {
    /// Calls that are running.
    pub(crate) fn running(&self) -> usize {
        self.running.load(Relaxed)
    }

    /// Calls that have ever begun.
    pub(crate) fn started(&self) -> u64 {
        self.started.load(Relaxed)
    }

    /// True if a response without an end is running.
    pub(crate) fn has_endless(&self) -> bool {
        self.endless.load(Relaxed) > 0
    }
}

impl Activity {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            calls: Calls { running_max: limits.http2_streams_max as usize, ..Calls::default() },
            backlog: Backlog::new(),
            closing: Closing::new(limits),
            held_bytes_max: limits.response_bytes_max,
        }
    }

    /// Counts a call until the returned guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> CallGuard {
        self.calls.started.fetch_add(1, Relaxed);
        self.calls.running.fetch_add(1, Relaxed);
        CallGuard(Arc::clone(self))
    }

    /// Counts a response without an end until the returned guard is dropped.
    pub(crate) fn begin_endless(self: &Arc<Self>) -> EndlessGuard {
        self.calls.endless.fetch_add(1, Relaxed);
        EndlessGuard(Arc::clone(self))
    }

    /// True if more is running than a connection may have: more calls than streams, because abandoned ones still run, or
    /// more bytes of finished responses than one may have, because the client keeps its windows shut.
    pub(crate) fn is_overrun(&self) -> bool {
        self.calls.running() > self.calls.running_max || self.backlog.held.bytes() > self.held_bytes_max
    }

    /// True if neither a call nor a response is in progress.
    pub(crate) fn is_quiet(&self) -> bool {
        self.calls.running() == 0 && !self.backlog.is_write_blocked()
    }

    /// Counts a stream that was reset while its call ran, or opened while such calls fill the connection's share. A client
    /// whose streams do so more than every fourth time, past a generous start, makes work for nothing (rapid reset,
    /// CVE-2023-44487): its connection is asked to close.
    pub(crate) fn strike(&self) {
        let strikes = self.calls.strikes.fetch_add(1, Relaxed) + 1;
        if strikes > self.calls.running_max as u64 + self.calls.started() / 4 {
            self.closing.request();
        }
    }
}

/// A call that is running.
pub(crate) struct CallGuard(Arc<Activity>);

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.0.calls.running.fetch_sub(1, Relaxed);
    }
}

/// A response without an end that is running.
pub(crate) struct EndlessGuard(Arc<Activity>);

impl Drop for EndlessGuard {
    fn drop(&mut self) {
        self.0.calls.endless.fetch_sub(1, Relaxed);
    }
}
