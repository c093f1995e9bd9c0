//! What one node asks of another: a row, which the other one finds when it renews its own, and answers in its place.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::aside::Aside;
use crate::failure::Failure;
use crate::own;
use crate::server::Server;
use crate::session::{Ask, Session};
use crate::value::{Bits, Param};
use convoke_core::clock::Clock;
use convoke_store::{Answerer, Value};

/// How long an answer is waited for: nodes look once a second.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks for it.
const LOOK: Duration = Duration::from_millis(50);
/// Requests that are answered at one look.
const TOGETHER: u32 = 100;

/// Removes what nobody waits for any more: whoever asked has ended meanwhile.
pub(crate) const CLEAN: &str = "DELETE FROM _requests WHERE at < clock_timestamp() - interval '1 minute'";

/// Asks other nodes, over one connection for all who ask.
pub(crate) struct Requests {
    aside: Aside,
    clock: Arc<dyn Clock>,
}

impl Requests {
    /// Asks those of this database.
    pub(crate) fn of(server: Arc<Server>, clock: Arc<dyn Clock>) -> Self {
        Self { aside: Aside::of(server), clock }
    }

    /// Asks a node, and waits for what it says; `None` if it says nothing in time.
    ///
    /// # Errors
    /// The server's.
    pub(crate) fn ask(&self, node: u32, request: &str) -> Result<Option<String>, Failure> {
        const ASK: &str = "INSERT INTO _requests (id, node, request) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        const ANSWER: &str = "SELECT answer FROM _requests WHERE id = $1 AND answer IS NOT NULL";
        let id = own::random_id()?;
        let params = vec![own::id(id), number(node), Value::Text(request.to_owned()).into()];
        self.aside.ask(&[Ask::Change(ASK.to_owned(), params)])?;
        let until = self.clock.monotonic() + PATIENCE;
        let mut answer = None;
        while answer.is_none() && self.clock.monotonic() < until {
            thread::sleep(LOOK);
            let rows = self.aside.ask(&[Ask::Rows(ANSWER.to_owned(), vec![own::id(id)])])?.rows();
            answer = rows.first().and_then(|row| row.try_get(0).ok());
        }
        self.aside.ask(&[Ask::Change("DELETE FROM _requests WHERE id = $1".to_owned(), vec![own::id(id)])])?;
        Ok(answer)
    }

    /// Closes its connection.
    pub(crate) fn close(&self) {
        self.aside.close();
    }
}

/// Answers what is asked of a node.
///
/// # Errors
/// The server's.
pub(crate) fn answer(session: &mut Session, node: u32, answerer: &Answerer) -> Result<(), Failure> {
    const ANSWER: &str = "UPDATE _requests SET answer = $2 WHERE id = $1";
    let asked = format!("SELECT id, request FROM _requests WHERE node = $1 AND answer IS NULL LIMIT {TOGETHER}");
    for row in session.rows(&asked, vec![number(node)])? {
        let failed = |error: tokio_postgres::Error| Failure::of(&error);
        let id: Bits = row.try_get(0).map_err(failed)?;
        let answer = answerer(row.try_get(1).map_err(failed)?);
        session.change(ANSWER, vec![own::id(id.0), Value::Text(answer).into()])?;
    }
    Ok(())
}

fn number(node: u32) -> Param {
    Value::Integer(node.into()).into()
}
