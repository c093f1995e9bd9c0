//! Leases that all nodes share, one row each, timed by the database's clock. Each call is one statement and its own
//! transaction, so that nodes see each other's changes.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;

use crate::aside::Aside;
use crate::failure::Failure;
use crate::server::Server;
use crate::session::Ask;
use crate::value::Param;
use convoke_core::clock::{Clock, Millis};
use convoke_store::{LeaseRow, LeaseRows, NewLease, Opened, Renewal, StoreError, Value};

/// Current time in milliseconds: $1 if a test sets the clock, otherwise the time of the database.
const NOW: &str = "coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)";

/// Deletes expired leases. A minute later, because a renewal of an expired lease may still be in progress.
pub(crate) const CLEAN: &str = "DELETE FROM _held WHERE ends_at < extract(epoch FROM clock_timestamp()) * 1000 - 60000";

/// The leases, with their own connection.
pub(crate) struct Leases {
    aside: Aside,
    clock: Arc<dyn Clock>,
}

impl Leases {
    /// Creates those of this database.
    pub(crate) fn of(server: Arc<Server>, clock: Arc<dyn Clock>) -> Self {
        Self { aside: Aside::of(server), clock }
    }

    /// Closes the connection.
    pub(crate) fn close(&self) {
        self.aside.close();
    }

    /// A statement; its first parameter is the time, if a test sets the clock.
    fn statement(&self, sql: &str, params: impl IntoIterator<Item = Param>) -> Ask {
        let now = if self.clock.is_held() { Value::Integer(self.clock.now().0) } else { Value::Null };
        Ask::Rows(sql.replace("NOW", NOW), [now.into()].into_iter().chain(params).collect())
    }

    fn rows(&self, asks: &[Ask]) -> Result<Vec<Row>, StoreError> {
        self.aside.ask(asks).map(|result| result.rows()).map_err(|failure| match failure {
            Failure::Late => StoreError::Unreachable("leases were not read in time".to_owned()),
            failure => failure.into_store(0),
        })
    }

    fn find(&self, kind: &str, id: &str) -> Ask {
        const FIND: &str = "SELECT id, owner, number, version, opened_at, value FROM _held \
                            WHERE kind = $2 AND id = $3 AND ends_at > NOW";
        self.statement(FIND, [text(kind), text(id)])
    }
}

impl LeaseRows for Leases {
    fn get(&self, kind: &str, id: &str) -> Result<Option<LeaseRow>, StoreError> {
        let rows = self.rows(&[self.find(kind, id)])?;
        rows.first().map(lease).transpose()
    }

    fn open(&self, new: &NewLease<'_>) -> Result<Opened, StoreError> {
        const OPEN: &str = "\
            INSERT INTO _held AS held (kind, id, owner, version, opened_at, ends_at, value) \
            SELECT $2::text, $3::text, $4::text, 0, clock.now, clock.now + $5::bigint, $6::text \
            FROM (SELECT NOW AS now) AS clock \
            WHERE (SELECT count(*) FROM _held AS own \
                   WHERE own.kind = $2::text AND own.owner = $4::text AND own.ends_at > clock.now) < $7::bigint \
            ON CONFLICT (kind, id) DO UPDATE SET (owner, number, version, opened_at, ends_at, value) = \
              (excluded.owner, excluded.number, 0, excluded.opened_at, excluded.ends_at, excluded.value) \
            WHERE held.ends_at <= excluded.opened_at";
        let NewLease { kind, id, owner, of_one_owner, lasts, value } = *new;
        let most = number(u64::try_from(of_one_owner).unwrap_or(u64::MAX));
        let params = [text(kind), text(id), text(owner), millis(lasts), text(value), most];
        let rows = self.rows(&[self.statement(OPEN, params), self.find(kind, id)])?;
        rows.first().map_or(Ok(Opened::OwnerIsFull), |row| lease(row).map(Opened::There))
    }

    fn write(&self, kind: &str, lasts: Duration, renewals: &[Renewal]) -> Result<Vec<String>, StoreError> {
        const WRITE: &str = "\
            UPDATE _held AS held SET version = held.version + 1, value = new.value, ends_at = \
              CASE WHEN new.age < 0 THEN held.ends_at ELSE greatest(held.ends_at, NOW - new.age + $3::bigint) END \
            FROM unnest($4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[]) \
              AS new (id, number, version, age, value) \
            WHERE held.kind = $2 AND held.id = new.id AND held.number = new.number AND held.version = new.version \
            RETURNING held.id";
        let list = |of: fn(&Renewal) -> Value| Param::list(renewals.iter().map(of));
        let age = |renewal: &Renewal| {
            let ms = |age: Duration| i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            Value::Integer(renewal.age.map_or(-1, ms))
        };
        let lists = [
            list(|renewal| Value::Text(renewal.id.clone())),
            list(|renewal| Value::Integer(renewal.number)),
            list(|renewal| Value::Integer(renewal.version)),
            list(age),
            list(|renewal| Value::Text(renewal.value.clone())),
        ];
        let params = [text(kind), millis(lasts)].into_iter().chain(lists);
        let rows = self.rows(&[self.statement(WRITE, params)])?;
        rows.iter().map(|row| row.try_get(0).map_err(|error| unreadable(&error))).collect()
    }

    fn end(&self, kind: &str, owner: &str, ids: &[String]) -> Result<(), StoreError> {
        const END: &str = "DELETE FROM _held WHERE kind = $1 AND owner = $2 AND id = ANY($3)";
        let ids = Param::list(ids.iter().map(|id| Value::Text(id.clone())));
        self.rows(&[Ask::Change(END.to_owned(), vec![text(kind), text(owner), ids])]).map(drop)
    }

    fn list(&self, kind: &str, owner: Option<&str>) -> Result<Vec<LeaseRow>, StoreError> {
        const ALL: &str = "SELECT id, owner, number, version, opened_at, value FROM _held \
                           WHERE kind = $2 AND ends_at > NOW ORDER BY number";
        const OF_OWNER: &str = "SELECT id, owner, number, version, opened_at, value FROM _held \
                                WHERE kind = $2 AND owner = $3 AND ends_at > NOW ORDER BY number";
        let ask = match owner {
            Some(owner) => self.statement(OF_OWNER, [text(kind), text(owner)]),
            None => self.statement(ALL, [text(kind)]),
        };
        self.rows(&[ask])?.iter().map(lease).collect()
    }

    fn count(&self, kind: &str, more: Duration) -> Result<u64, StoreError> {
        const COUNT: &str = "SELECT count(*) FROM _held WHERE kind = $2 AND ends_at > NOW + $3::bigint";
        let rows = self.rows(&[self.statement(COUNT, [text(kind), millis(more)])])?;
        let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0)).map_err(|error| unreadable(&error))?;
        Ok(count.unsigned_abs())
    }
}

fn lease(row: &Row) -> Result<LeaseRow, StoreError> {
    let read = || -> Result<LeaseRow, tokio_postgres::Error> {
        Ok(LeaseRow {
            id: row.try_get(0)?,
            owner: row.try_get(1)?,
            number: row.try_get(2)?,
            version: row.try_get(3)?,
            opened_at: Millis(row.try_get(4)?),
            value: row.try_get(5)?,
        })
    };
    read().map_err(|error| unreadable(&error))
}

fn unreadable(error: &tokio_postgres::Error) -> StoreError {
    Failure::of(error).into_store(0)
}

fn text(text: &str) -> Param {
    Value::Text(text.to_owned()).into()
}

fn number(number: u64) -> Param {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX)).into()
}

fn millis(time: Duration) -> Param {
    number(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
