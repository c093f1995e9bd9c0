//! The reasons for which a connection ends: a request to close, a loss of its memory to other connections, or a stall.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::rejection::Rejection;
use convoke_core::limits::Limits;

/// Bytes of unread input that the server reads after the last response, or twice the largest body if that is more.
const LINGER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// The requests of the wire, the exchanges and the server to end a connection.
pub(crate) struct Closing {
    is_requested: AtomicBool,
    /// No call began between two checks of an idle connection.
    is_idle: AtomicBool,
    /// The client reads too little of a response.
    is_stalled: AtomicBool,
    /// The connection ends immediately, because other connections need its memory.
    is_given_up: AtomicBool,
    given_up: Notify,
    /// Bytes of unread input that the server reads after the last response.
    linger_bytes: AtomicUsize,
    rejection: Mutex<Option<Rejection>>,
}

impl Closing {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            is_requested: AtomicBool::new(false),
            is_idle: AtomicBool::new(false),
            is_stalled: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
            given_up: Notify::new(),
            linger_bytes: AtomicUsize::new(LINGER_BYTES_MAX.max(limits.request_body_bytes_max.saturating_mul(2))),
            rejection: Mutex::new(None),
        }
    }

    /// Asks the connection to finish its calls and close.
    pub(crate) fn request(&self) {
        self.is_requested.store(true, Relaxed);
    }

    /// True if the connection was asked to close.
    pub(crate) fn is_requested(&self) -> bool {
        self.is_requested.load(Relaxed)
    }

    /// Ends the connection immediately, with all that it holds.
    pub(crate) fn give_up(&self) {
        self.is_given_up.store(true, Relaxed);
        self.given_up.notify_one();
    }

    /// True if the connection must end immediately.
    pub(crate) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Relaxed)
    }

    /// Waits for a notification that the connection is given up. A notification from before this call counts.
    pub(crate) fn notified(&self) -> tokio::sync::futures::Notified<'_> {
        self.given_up.notified()
    }

    /// Waits until the connection is given up.
    pub(crate) async fn given_up(&self) {
        while !self.is_given_up() {
            self.given_up.notified().await;
        }
    }

    /// Records that the client reads too little of a response.
    pub(crate) fn set_stalled(&self) {
        self.is_stalled.store(true, Relaxed);
    }

    /// True if the client read too little of a response for too long.
    pub(crate) fn is_stalled(&self) -> bool {
        self.is_stalled.load(Relaxed)
    }

    /// Records that the connection has been idle for a while.
    pub(crate) fn set_idle(&self) {
        self.is_idle.store(true, Relaxed);
    }

    /// Returns whether the connection has been idle for a while, and resets it.
    pub(crate) fn take_idle(&self) -> bool {
        // Every poll reads the flag, and only this task writes it.
        let is_idle = self.is_idle.load(Relaxed);
        if is_idle {
            self.is_idle.store(false, Relaxed);
        }
        is_idle
    }

    /// Limits the unread input that the server reads after the last response.
    pub(crate) fn linger_for(&self, bytes: usize) {
        self.linger_bytes.store(bytes, Relaxed);
    }

    /// Bytes of unread input that the server reads after the last response. Closing a socket with unread input resets
    /// the connection, and the client may lose the response.
    pub(crate) fn linger_bytes(&self) -> usize {
        self.linger_bytes.load(Relaxed)
    }

    /// Sets the response to the wire's stand-in request.
    pub(crate) fn reject(&self, rejection: Rejection) {
        *self.rejection.lock() = Some(rejection);
    }

    /// The response to the wire's stand-in request.
    pub(crate) fn rejection(&self) -> Option<Rejection> {
        *self.rejection.lock()
    }
}
