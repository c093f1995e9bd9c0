//! The progress of a response that is being sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::wire::activity::Activity;

/// A response with bytes that the client has not read.
pub(crate) struct ResponseProgress {
    connection: Arc<Activity>,
    /// The tick in which the client last read from the response.
    slot: AtomicU8,
}

impl ResponseProgress {
    pub(crate) fn new(connection: Arc<Activity>) -> Self {
        let slot = AtomicU8::new(connection.backlog.pending.enter());
        Self { connection, slot }
    }

    pub(crate) fn connection(&self) -> &Activity {
        &self.connection
    }

    /// Records that the socket accepted so many bytes of the response.
    pub(crate) fn record_read(&self, bytes: usize) {
        self.connection.backlog.held.record_read(bytes);
        self.connection.backlog.pending.advance(&self.slot);
    }
}

impl Drop for ResponseProgress {
    fn drop(&mut self) {
        self.connection.backlog.pending.leave(self.slot.load(Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::backlog::STALL_TICKS;
    use convoke_core::limits::Limits;

    #[tokio::test]
    async fn response_that_is_read_is_not_stalled() {
        let connection = Arc::new(Activity::new(&Limits::default()));
        let response = ResponseProgress::new(Arc::clone(&connection));
        for _ in 0..5 {
            for _ in 0..STALL_TICKS {
                assert!(!connection.backlog.pending.tick());
            }
            response.record_read(1);
        }
        for _ in 0..STALL_TICKS {
            assert!(!connection.backlog.pending.tick());
        }
        assert!(connection.backlog.pending.tick());
        drop(response);
        assert!(!connection.backlog.pending.is_any());
    }
}
