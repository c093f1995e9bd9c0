//! A connection beside those of transactions, for statements that stand alone: nothing of what they write must outlive the loss
//! of the server's power, so that none waits for its disk.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::failure::Failure;
use super::server::Server;
use super::session::{Ask, Session, Told};

/// How long a call waits for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The connection, once it is needed.
pub(crate) struct Aside {
    server: Arc<Server>,
    session: Mutex<Option<Session>>,
}

impl Aside {
    /// One to this server.
    pub(crate) fn of(server: Arc<Server>) -> Self {
        Self { server, session: Mutex::default() }
    }

    /// Sends these statements, and tells what the last one came to. They are sent once more where the connection was cut, and
    /// may have been carried out then.
    ///
    /// # Errors
    /// The server's.
    pub(crate) fn ask(&self, asks: &[Ask]) -> Result<Told, Failure> {
        let mut place = self.session.try_lock_for(PATIENCE).ok_or(Failure::Late)?;
        // One that stood idle may have been cut; nobody is told so before it is used.
        let told = match place.take().filter(Session::is_sound).map(|session| fly(session, asks)) {
            Some((session, Err(Failure::Cut(_)))) => {
                drop(session);
                None
            }
            told => told,
        };
        let (session, told) = match told {
            Some(told) => told,
            None => {
                let mut session = Session::open(&self.server)?;
                session.run("SET synchronous_commit = off")?;
                fly(session, asks)
            }
        };
        *place = Some(session);
        told
    }

    /// Closes it.
    pub(crate) fn close(&self) {
        *self.session.lock() = None;
    }
}

fn fly(mut session: Session, asks: &[Ask]) -> (Session, Result<Told, Failure>) {
    let flight = session.fly(asks, PATIENCE);
    let missing = || Err(Failure::Other("a statement was not answered".to_owned()));
    let told = flight.into_iter().try_fold(None, |_, told| told.map(Some));
    (session, told.and_then(|told| told.map_or_else(missing, Ok)))
}
