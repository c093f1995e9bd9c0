//! A response on its way to the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::wire::activity::Activity;

/// A response that has bytes which the client has not taken.
pub(crate) struct ResponseProgress {
    connection: Arc<Activity>,
    /// The tick in which the client last took something of it.
    slot: AtomicU8,
}

impl ResponseProgress {
    pub(crate) fn new(connection: Arc<Activity>) -> Self {
        let slot = AtomicU8::new(connection.backlog.untaken.enter());
        Self { connection, slot }
    }

    pub(crate) fn connection(&self) -> &Activity {
        &self.connection
    }

    /// Records that the socket took so many bytes of it.
    pub(crate) fn elapsed(&self, bytes: usize) {
        self.connection.backlog.held.elapsed(bytes);
        self.connection.backlog.untaken.advance(&self.slot);
    }
}

impl Drop for ResponseProgress {
    fn drop(&mut self) {
        self.connection.backlog.untaken.leave(self.slot.load(Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::backlog::STALL_TICKS;
    use convoke_core::limits::Limits;

    #[tokio::test]
    async fn a_response_of_which_something_is_taken_is_not_stalled() {
        let connection = Arc::new(Activity::new(&Limits::default()));
        let response = ResponseProgress::new(Arc::clone(&connection));
        for _ in 0..5 {
            for _ in 0..STALL_TICKS {
                assert!(!connection.backlog.untaken.tick());
            }
            response.elapsed(1);
        }
        for _ in 0..STALL_TICKS {
            assert!(!connection.backlog.untaken.tick());
        }
        assert!(connection.backlog.untaken.tick());
        drop(response);
        assert!(!connection.backlog.untaken.is_any());
    }
}
