//! Token buckets that all nodes share, one row each. One statement refills a bucket and takes tokens, so that no two
//! nodes take the same ones. Buckets may be lost in a crash, so the statement waits for no disk.

use std::sync::Arc;

use crate::aside::Aside;
use crate::failure::Failure;
use crate::own;
use crate::server::Server;
use crate::session::Ask;
use convoke_store::{Draw, Drawn, Value};

/// $1 bucket, $2 now, $3 capacity, $4 tokens per millisecond, $5 needed, $6 cost, $7 block. The clocks of two nodes
/// differ slightly, so the time of a bucket does not go back, except after a clock that was far ahead.
const DRAW: &str = "\
    INSERT INTO _buckets AS held (id, at, tokens, taken, full_at) \
    SELECT $1::uuid, $2::bigint, $3::float8 - took, took, $2::bigint + (took / $4::float8)::bigint \
    FROM (SELECT greatest($6::float8, least($3::float8, $7::float8)) AS took) AS first \
    ON CONFLICT (id) DO UPDATE SET (at, tokens, taken, full_at) = ( \
      SELECT new_at, level - took, took, new_at + (($3::float8 - level + took) / $4::float8)::bigint \
      FROM (SELECT new_at, level, \
              CASE WHEN level >= $5::float8 THEN greatest($6::float8, least(level, $7::float8)) ELSE 0 END AS took \
            FROM (SELECT new_at, \
                    least($3::float8, held.tokens + greatest(0, $2::bigint - held.at) * $4::float8) AS level \
                  FROM (SELECT CASE WHEN held.at > $2::bigint + 60000 THEN $2::bigint \
                               ELSE greatest(held.at, $2::bigint) END AS new_at) AS clock) AS filled) AS drawn) \
    RETURNING taken, tokens";

/// Deletes full buckets, which equal missing ones. A minute later, because clocks differ.
pub(crate) const CLEAN: &str =
    "DELETE FROM _buckets WHERE full_at < extract(epoch FROM clock_timestamp()) * 1000 - 60000";

/// The buckets, with their own connection.
pub(crate) struct Buckets(Aside);

impl Buckets {
    /// Creates those of this database.
    pub(crate) fn of(server: Arc<Server>) -> Self {
        Self(Aside::of(server))
    }

    /// Takes tokens from a bucket.
    pub(crate) fn draw(&self, draw: &Draw) -> Result<Drawn, Failure> {
        let Draw { bucket, full, per_second, needed, cost, block, now } = *draw;
        let mut params = vec![own::id(bucket), Value::Integer(now.0).into()];
        params.extend([full, per_second / 1_000.0, needed, cost, block].map(|number| Value::Float(number).into()));
        let rows = self.0.ask(&[Ask::Rows(DRAW.to_owned(), params)])?.rows();
        let row = rows.first().ok_or_else(|| Failure::Other("a bucket was not drawn from".to_owned()))?;
        let number = |place| row.try_get(place).map_err(|error| Failure::of(&error));
        Ok(Drawn { taken: number(0)?, left: number(1)? })
    }

    /// Closes the connection.
    pub(crate) fn close(&self) {
        self.0.close();
    }
}
