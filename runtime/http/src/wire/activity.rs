//! The state of a connection that its wire, its exchanges and the server's drain share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::backlog::Backlog;
use super::closing::Closing;
use convoke_core::limits::Limits;

/// The state of one connection.
pub(crate) struct Activity {
    /// The calls on the connection.
    pub(crate) calls: Calls,
    /// The responses that the client has not read.
    pub(crate) backlog: Backlog,
    /// The end of the connection.
    pub(crate) closing: Closing,
    held_bytes_max: usize,
}

/// The calls of one connection.
#[derive(Default)]
pub(crate) struct Calls {
    running: AtomicUsize,
    /// Running responses of unlimited length.
    endless: AtomicUsize,
    started: AtomicU64,
    strikes: AtomicU64,
    running_max: usize,
}

impl Calls {
    pub(crate) fn running(&self) -> usize {
        self.running.load(Relaxed)
    }

    /// The number of calls since the connection opened.
    pub(crate) fn started(&self) -> u64 {
        self.started.load(Relaxed)
    }

    /// True if a response of unlimited length is running.
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

    /// Counts a response of unlimited length until the returned guard is dropped.
    pub(crate) fn begin_endless(self: &Arc<Self>) -> EndlessGuard {
        self.calls.endless.fetch_add(1, Relaxed);
        EndlessGuard(Arc::clone(self))
    }

    /// True if the connection is over one of its limits. It has more calls than streams, because abandoned calls still
    /// run, or too many bytes of finished responses, because the client keeps its windows closed.
    pub(crate) fn is_overrun(&self) -> bool {
        self.calls.running() > self.calls.running_max || self.backlog.held.bytes() > self.held_bytes_max
    }

    /// True if neither a call nor a response is in progress.
    pub(crate) fn is_quiet(&self) -> bool {
        self.calls.running() == 0 && !self.backlog.is_write_blocked()
    }

    /// Counts a stream that was reset while its call ran, or that was opened while such calls fill the connection's
    /// share. After a generous start, more than one such stream in four is an attack (rapid reset, CVE-2023-44487): the
    /// connection is asked to close.
    pub(crate) fn strike(&self) {
        let strikes = self.calls.strikes.fetch_add(1, Relaxed) + 1;
        if strikes > self.calls.running_max as u64 + self.calls.started() / 4 {
            self.closing.request();
        }
    }
}

/// Counts a running call.
pub(crate) struct CallGuard(Arc<Activity>);

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.0.calls.running.fetch_sub(1, Relaxed);
    }
}

/// Counts a running response of unlimited length.
pub(crate) struct EndlessGuard(Arc<Activity>);

impl Drop for EndlessGuard {
    fn drop(&mut self) {
        self.0.calls.endless.fetch_sub(1, Relaxed);
    }
}
