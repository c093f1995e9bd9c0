//! The session pool of an engine: sessions are opened on demand, used by one transaction at a time, and kept while they
//! are valid.

use std::sync::Arc;

use parking_lot::Mutex;

use super::failure::Failure;
use super::server::Server;
use super::session::Session;

/// Idle sessions.
pub(crate) struct Sessions {
    server: Arc<Server>,
    /// The last used one comes first: it has most statements prepared.
    idle: Mutex<Vec<Session>>,
}

impl Sessions {
    /// Creates an empty pool.
    pub(crate) fn of(server: Arc<Server>) -> Self {
        Self { server, idle: Mutex::default() }
    }

    /// Returns a session, an idle one if possible.
    ///
    /// # Errors
    /// Reason why the server is unreachable.
    pub(crate) fn take(&self) -> Result<Session, Failure> {
        loop {
            let idle = self.idle.lock().pop();
            let Some(session) = idle else { return Session::open(&self.server) };
            session.refresh();
            if session.is_sound() {
                return Ok(session);
            }
        }
    }

    /// Returns a new session: idle ones may all have been cut.
    pub(crate) fn open(&self) -> Result<Session, Failure> {
        Session::open(&self.server)
    }

    /// Returns a session to the pool.
    pub(crate) fn give_back(&self, session: Option<Session>) {
        if let Some(session) = session {
            self.idle.lock().push(session);
        }
    }

    /// Closes idle sessions.
    pub(crate) fn clear(&self) {
        let idle = std::mem::take(&mut *self.idle.lock());
        drop(idle);
    }
}
