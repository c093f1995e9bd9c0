//! The sessions of an engine: opened when they are needed, handed out to one transaction at a time, kept when they are
//! sound.

use std::sync::Arc;

use parking_lot::Mutex;

use super::failure::Failure;
use super::server::Server;
use super::session::Session;

/// Sessions that nobody uses.
pub(crate) struct Sessions {
    server: Arc<Server>,
    /// The one that was used last comes first: it has most of what is asked prepared.
    idle: Mutex<Vec<Session>>,
}

impl Sessions {
    /// None yet.
    pub(crate) fn of(server: Arc<Server>) -> Self {
        Self { server, idle: Mutex::default() }
    }

    /// A session, an idle one if there is one.
    ///
    /// # Errors
    /// Why the server cannot be had.
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

    /// A session that was opened just now: those that are idle may all have been cut.
    ///
    /// # Errors
    /// As [`Sessions::take`].
    pub(crate) fn open(&self) -> Result<Session, Failure> {
        Session::open(&self.server)
    }

    /// Takes one back.
    pub(crate) fn give_back(&self, session: Option<Session>) {
        if let Some(session) = session {
            self.idle.lock().push(session);
        }
    }

    /// Closes those that nobody uses.
    pub(crate) fn clear(&self) {
        let idle = std::mem::take(&mut *self.idle.lock());
        drop(idle);
    }
}
