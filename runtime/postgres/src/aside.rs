//! A connection outside of transactions, for single statements whose effect may be lost if the server loses power, so
//! that they need not wait for its disk.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::failure::Failure;
use super::server::Server;
use super::session::{Ask, Session, StatementResult};

/// Longest wait of a call for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The connection, once it is needed.
pub(crate) struct Aside {
    server: Arc<Server>,
    session: Mutex<Option<Session>>,
}

impl Aside {
    pub(crate) fn of(server: Arc<Server>) -> Self {
        Self { server, session: Mutex::default() }
    }

    /// Sends these statements and returns the result of the last one. After a cut connection they are sent once more,
    /// and may have been executed twice.
    pub(crate) fn ask(&self, asks: &[Ask]) -> Result<StatementResult, Failure> {
        let mut place = self.session.try_lock_for(PATIENCE).ok_or(Failure::Late)?;
        // An idle connection may have been cut, which is noticed only when it is used.
        let result = match place.take().filter(Session::is_sound).map(|session| fly(session, asks)) {
            Some((session, Err(Failure::Cut(_)))) => {
                drop(session);
                None
            }
            result => result,
        };
        let (session, result) = match result {
            Some(result) => result,
            None => {
                let mut session = Session::open(&self.server)?;
                session.run("SET synchronous_commit = off")?;
                fly(session, asks)
            }
        };
        *place = Some(session);
        result
    }

    /// Closes it.
    pub(crate) fn close(&self) {
        *self.session.lock() = None;
    }
}

fn fly(mut session: Session, asks: &[Ask]) -> (Session, Result<StatementResult, Failure>) {
    let flight = session.fly(asks, PATIENCE);
    let missing = || Err(Failure::Other("a statement was not answered".to_owned()));
    let result = flight.into_iter().try_fold(None, |_, result| result.map(Some));
    (session, result.and_then(|result| result.map_or_else(missing, Ok)))
}
