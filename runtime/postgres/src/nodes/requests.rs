//! Requests between nodes: a row, which the other node finds when it renews its own row, and answers in it.

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

/// Longest wait for a response: nodes look once per second.
const PATIENCE: Duration = Duration::from_secs(5);
/// Interval of looks for the response.
const LOOK: Duration = Duration::from_millis(50);
/// Most requests answered per look.
const TOGETHER: u32 = 100;

/// Deletes requests whose sender no longer waits.
pub(crate) const CLEAN: &str = "DELETE FROM _requests WHERE at < clock_timestamp() - interval '1 minute'";

/// Sends requests to other nodes, over one connection.
pub(crate) struct Requests {
    aside: Aside,
    clock: Arc<dyn Clock>,
}

impl Requests {
    /// Creates those of this database.
    pub(crate) fn of(server: Arc<Server>, clock: Arc<dyn Clock>) -> Self {
        Self { aside: Aside::of(server), clock }
    }

    /// Sends a request to a node and waits for the response; `None` if it does not respond in time.
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

    /// Closes the connection.
    pub(crate) fn close(&self) {
        self.aside.close();
    }
}

/// Answers requests to a node.
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
