//! The phases of a server between its start and its end.

use std::pin::pin;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// A phase of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    Serving,
    /// Running calls finish, and new calls are rejected.
    Draining,
    /// Calls that still run are dropped.
    Cut,
}

/// The phase of a server, which only advances.
#[derive(Default)]
pub(crate) struct Drain {
    phase: AtomicU8,
    draining: Notify,
    cut: Notify,
}

impl Drain {
    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Serving,
            1 => Phase::Draining,
            _ => Phase::Cut,
        }
    }

    /// Advances to a later phase.
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::AcqRel);
        match phase {
            Phase::Serving => {}
            Phase::Draining => self.draining.notify_waiters(),
            Phase::Cut => self.cut.notify_waiters(),
        }
    }

    /// Waits for the notification that the server drains. Only a future that was polled before gets it.
    pub(crate) fn draining_notified(&self) -> Notified<'_> {
        self.draining.notified()
    }

    /// Waits for the notification that the drain timeout is over. Only a future that was polled before gets it.
    pub(crate) fn cut_notified(&self) -> Notified<'_> {
        self.cut.notified()
    }

    /// Waits until the server drains.
    pub(crate) async fn draining(&self) {
        let mut draining = pin!(self.draining.notified());
        draining.as_mut().enable();
        if self.phase() == Phase::Serving {
            draining.await;
        }
    }

    /// Waits until the drain timeout is over.
    pub(crate) async fn cut(&self) {
        let mut cut = pin!(self.cut.notified());
        cut.as_mut().enable();
        if self.phase() != Phase::Cut {
            cut.await;
        }
    }
}
