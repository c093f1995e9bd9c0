//! Turns over all nodes: one row each, with the node that has it and a fencing token. A dead node ([`super::presence`])
//! loses its turns, so turns are not renewed.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::failure::Failure;
use crate::own::{self, LIFETIME_S};
use crate::session::{Ask, Session, StatementResult};
use crate::sessions::Sessions;
use crate::value::Param;
use convoke_store::{StoreError, TurnName, TurnRow, TurnRows, Value};

/// Longest wait for the server.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns if the turn $1, $2 still has the number $3. Other nodes wait for the end of the asking transaction before
/// they take it.
pub(crate) const HAS: &str = "SELECT 1 FROM _turns WHERE kind = $1 AND id = $2 AND number = $3 FOR SHARE";

/// Deletes turns without a node, with their values, when they are no longer needed.
pub(crate) const CLEAN: &str = "DELETE FROM _turns WHERE at < now() - interval '10 minutes' \
    AND NOT EXISTS (SELECT 1 FROM _nodes WHERE _nodes.id = _turns.node)";

/// The turns, for this node.
pub(crate) struct Turns {
    node: u128,
    sessions: Arc<Sessions>,
    /// Locked by each call, so that all calls share one connection.
    asking: Mutex<()>,
}

impl Turns {
    /// Creates those of this database for this node.
    pub(crate) fn of(node: u128, sessions: Arc<Sessions>) -> Self {
        Self { node, sessions, asking: Mutex::default() }
    }

    /// Sends statements, each as its own transaction, and returns their results; once more after a cut connection.
    fn ask(&self, asks: &[Ask]) -> Result<Vec<StatementResult>, StoreError> {
        let late = || StoreError::Unreachable("a turn was not read in time".to_owned());
        let _asking = self.asking.try_lock_for(PATIENCE).ok_or_else(late)?;
        let first = self.sessions.take().and_then(|session| self.fly(session, asks));
        let results = match first {
            Err(Failure::Cut(_)) => self.sessions.open().and_then(|session| self.fly(session, asks)),
            results => results,
        };
        results.map_err(|failure| match failure {
            Failure::Late => late(),
            failure => failure.into_store(0),
        })
    }

    fn fly(&self, mut session: Session, asks: &[Ask]) -> Result<Vec<StatementResult>, Failure> {
        let results = session.fly(asks, PATIENCE).into_iter().collect();
        self.sessions.give_back(Some(session).filter(Session::is_sound));
        results
    }
}

impl TurnRows for Turns {
    fn take(&self, turn: &TurnName) -> Result<Option<TurnRow>, StoreError> {
        // A turn that a transaction depends on is skipped ([`HAS`]): its end is not awaited here.
        let free = format!(
            "UPDATE _turns AS turn SET node = $3::uuid, number = DEFAULT, former = turn.number, at = clock_timestamp() \
             WHERE kind = $1 AND id = $2 AND EXISTS (SELECT 1 FROM _turns AS free WHERE free.kind = $1 AND free.id = $2 \
               AND (free.node IS NULL OR free.node = $3::uuid OR NOT EXISTS (SELECT 1 FROM _nodes WHERE _nodes.id = free.node \
                 AND seen_at > clock_timestamp() - interval '{LIFETIME_S} seconds')) FOR UPDATE SKIP LOCKED) \
             RETURNING {TAKEN}"
        );
        let new = format!(
            "INSERT INTO _turns AS turn (kind, id, node) VALUES ($1, $2, $3::uuid) ON CONFLICT (kind, id) DO NOTHING \
             RETURNING {TAKEN}"
        );
        let own = || name(turn, own::id(self.node));
        let results = self.ask(&[Ask::Rows(free, own()), Ask::Rows(new, own())])?;
        let row = results.into_iter().flat_map(StatementResult::rows).next();
        let read = |row: &tokio_postgres::Row| -> Result<TurnRow, tokio_postgres::Error> {
            Ok(TurnRow { number: row.try_get(0)?, left: row.try_get(1)?, is_interrupted: row.try_get(2)? })
        };
        row.as_ref().map(read).transpose().map_err(|error| Failure::of(&error).into_store(0))
    }

    fn leave(&self, turn: &TurnName, number: i64, value: Option<&str>) -> Result<(), StoreError> {
        const LEAVE: &str = "UPDATE _turns SET (node, done, value, at) = (NULL, number, $4, clock_timestamp()) \
                             WHERE kind = $1 AND id = $2 AND number = $3";
        let mut params = name(turn, Value::Integer(number).into());
        params.push(value.map_or(Value::Null, |text| Value::Text(text.to_owned())).into());
        self.ask(&[Ask::Change(LEAVE.to_owned(), params)]).map(drop)
    }

    fn give_up(&self, turn: &TurnName) -> Result<(), StoreError> {
        const GIVE_UP: &str =
            "UPDATE _turns SET (node, at) = (NULL, clock_timestamp()) WHERE kind = $1 AND id = $2 AND node = $3";
        self.ask(&[Ask::Change(GIVE_UP.to_owned(), name(turn, own::id(self.node)))]).map(drop)
    }
}

/// Reads a turn that was taken.
const TAKEN: &str = "turn.number, turn.value, turn.former <> turn.done";

/// Returns the parameters of a statement about a turn, and one more.
pub(crate) fn name(turn: &TurnName, also: Param) -> Vec<Param> {
    vec![Value::Text(turn.kind.to_owned()).into(), Value::Text(turn.id.clone()).into(), also]
}
