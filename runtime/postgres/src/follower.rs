//! What the other nodes commit, as rows that each mutation writes in its transaction: read as soon as they are visible, and
//! published here as if this node had committed them.
//!
//! Neither clocks nor sequences follow the order of commits. Each row has the number of its transaction, and below the
//! oldest one that is still open everything is visible: from there on rows are looked at again, and what was seen is
//! remembered. Nobody is notified within a transaction, which would make commits wait for each other: a node that has
//! committed says so afterwards, not often, and everybody looks from time to time anyway.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHasher;
use serde_json::{Value as Json, json};
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio_postgres::Client;
use tracing::warn;

use super::failure::Failure;
use super::own;
use super::server::Server;
use super::sql::quoted;
use super::value::Bits;
use convoke_core::clock::Clock;
use convoke_store::{ChangeSet, Commits, RowChange, TableDef};

/// Between two looks when nobody says anything.
const LOOK: Duration = Duration::from_millis(250);
/// Between two looks, and between two notifications, at least.
const PAUSE: Duration = Duration::from_millis(20);
/// Rows that are read at a time; beyond it only those below the oldest open transaction.
const ROWS_MAX: i64 = 5_000;
/// Bytes of one row's changes; beyond it tables are named as a whole.
const BODY_MAX: usize = 64 * 1_024;
/// After so long without a look it is unknown what happened: rows are kept longer than this.
const LOST: Duration = Duration::from_secs(1_800);

/// Follows what other nodes commit, until it is ended.
pub(crate) struct Follower {
    signals: Arc<Signals>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the follower is told, and tells.
#[derive(Default)]
pub(crate) struct Signals {
    wake: Arc<Notify>,
    committed: AtomicBool,
    ended: AtomicBool,
    /// Commits of other nodes that were taken in.
    pub taken_in: AtomicU64,
}

impl Signals {
    /// This node has committed something that others follow.
    pub(crate) fn committed(&self) {
        if !self.committed.swap(true, Relaxed) {
            self.wake.notify_one();
        }
    }
}

/// What it takes to follow.
pub(crate) struct Following {
    /// Where.
    pub server: Arc<Server>,
    /// Whose rows are passed over.
    pub node: u128,
    /// The tables of this build.
    pub tables: Arc<[&'static TableDef]>,
    /// Where they are published.
    pub commits: Arc<Commits>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

impl Follower {
    /// Begins to follow: what is committed from `from` on, the oldest transaction that was open at some moment.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start(following: Following, from: i64) -> io::Result<Self> {
        let signals = Arc::new(Signals::default());
        let work = Work { following, signals: signals.clone(), from, seen: BTreeSet::new() };
        let thread = thread::Builder::new().name("convoke-follower".to_owned()).spawn(move || work.run())?;
        Ok(Self { signals, thread: Mutex::new(Some(thread)) })
    }

    /// What it is told, and tells.
    pub(crate) fn signals(&self) -> &Arc<Signals> {
        &self.signals
    }

    /// Ends it.
    pub(crate) fn end(&self) {
        self.signals.ended.store(true, Relaxed);
        self.signals.wake.notify_one();
        if let Some(thread) = self.thread.lock().take()
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.end();
    }
}

struct Work {
    following: Following,
    signals: Arc<Signals>,
    from: i64,
    /// The transactions from `from` on that were taken in.
    seen: BTreeSet<i64>,
}

impl Work {
    fn run(mut self) {
        let runtime = match Builder::new_current_thread().enable_io().enable_time().build() {
            Ok(runtime) => runtime,
            Err(error) => return warn!("what other nodes commit is not followed: {error}"),
        };
        let clock = self.following.clock.clone();
        runtime.block_on(async move {
            let mut looked = clock.monotonic();
            while !self.signals.ended.load(Relaxed) {
                match self.following.server.connect_to_listen(self.signals.wake.clone()).await {
                    Ok(client) => {
                        if clock.monotonic().saturating_sub(looked) > LOST {
                            publish(&self.following.commits, ChangeSet::everything());
                        }
                        let followed = self.follow(&client, &mut looked).await;
                        if let Err(failure) = followed {
                            warn!("what other nodes commit cannot be followed now: {failure:?}");
                        }
                    }
                    Err(failure) => warn!("what other nodes commit cannot be followed now: {failure:?}"),
                }
                if !self.signals.ended.load(Relaxed) {
                    tokio::time::sleep(LOOK).await;
                }
            }
        });
    }

    async fn follow(&mut self, client: &Client, looked: &mut Duration) -> Result<(), Failure> {
        let failed = |error: tokio_postgres::Error| Failure::of(&error);
        let channel = quoted(&channel(&self.following.server.schema));
        client.batch_execute(&self.following.server.settle()).await.map_err(failed)?;
        client.batch_execute(&format!("LISTEN {channel}")).await.map_err(failed)?;
        let look = client.prepare(LOOK_SQL).await.map_err(failed)?;
        while !self.signals.ended.load(Relaxed) {
            if self.signals.committed.swap(false, Relaxed) {
                client.batch_execute(&format!("NOTIFY {channel}")).await.map_err(failed)?;
            }
            let rows =
                client.query(&look, &[&self.from, &Bits(self.following.node), &ROWS_MAX]).await.map_err(failed)?;
            *looked = self.following.clock.monotonic();
            self.take_in(&rows).map_err(failed)?;
            tokio::time::sleep(PAUSE).await;
            let _ = tokio::time::timeout(LOOK, self.signals.wake.notified()).await;
        }
        Ok(())
    }

    /// Each row has the oldest open transaction, and its own one with what it changed, if there is one.
    fn take_in(&mut self, rows: &[tokio_postgres::Row]) -> Result<(), tokio_postgres::Error> {
        let Some(first) = rows.first() else { return Ok(()) };
        let oldest: i64 = first.try_get(0)?;
        let is_full = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= ROWS_MAX;
        let mut changes = ChangeSet::default();
        let mut last = self.from;
        for row in rows {
            let Some(transaction) = row.try_get::<_, Option<i64>>(1)? else { continue };
            last = transaction;
            if self.seen.insert(transaction) {
                self.signals.taken_in.fetch_add(1, Relaxed);
                changes.extend([decode(row.try_get(2)?, &self.following.tables)]);
            }
        }
        // What was not read yet is read at the next look.
        self.from = if is_full { oldest.min(last) } else { oldest };
        self.seen = self.seen.split_off(&self.from);
        if is_full && last >= oldest {
            // Somebody holds a transaction open for long, and too much has happened since to remember all of it.
            changes = ChangeSet::everything();
        }
        if !changes.is_empty() {
            publish(&self.following.commits, changes);
        }
        Ok(())
    }
}

fn publish(commits: &Commits, changes: ChangeSet) {
    let Ok(()) = commits.commit(changes, || Ok::<_, std::convert::Infallible>(()));
}

/// Always one row at least, for the oldest open transaction.
const LOOK_SQL: &str = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, c.xid::text::bigint, c.changes \
    FROM (SELECT 1) AS one LEFT JOIN LATERAL (SELECT xid, changes FROM _commits \
    WHERE xid >= $1::bigint::text::xid8 AND node <> $2 ORDER BY xid LIMIT $3) AS c ON true";

/// The oldest transaction that is open now.
pub(crate) const OLDEST: &str = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint";

fn channel(schema: &str) -> String {
    format!("convoke {schema}")
}

/// What tells the indexes of a table from those of another build.
fn fingerprint(table: &TableDef) -> u32 {
    let mut hasher = FxHasher::default();
    for index in table.indexes {
        hasher.write(super::sql::create_index(table, index).as_bytes());
        hasher.write_u8(0);
    }
    // Half of it is enough, and a number in JSON.
    u32::try_from(hasher.finish() >> 32).unwrap_or(0)
}

/// A change as text: its tables by name, `null` for a whole one, else the fingerprint and the rows with their places.
pub(crate) fn encode(changes: &ChangeSet, tables: &[&'static TableDef]) -> String {
    let mut by_table: BTreeMap<&str, Json> = changes.tables.iter().map(|table| (*table, Json::Null)).collect();
    for row in &changes.rows {
        let Some(table) = tables.iter().find(|table| table.name == row.table) else { continue };
        let rows = by_table.entry(row.table).or_insert_with(|| json!([fingerprint(table)]));
        if let Some(rows) = rows.as_array_mut() {
            let place = |(index, place): &(usize, Box<[u8]>)| json!([index, hex::encode(place)]);
            rows.push(json!([format!("{:x}", row.id), row.places.iter().map(place).collect::<Vec<_>>()]));
        }
    }
    let text = match changes.everything {
        true => "null".to_owned(),
        false => json!(by_table).to_string(),
    };
    if text.len() <= BODY_MAX {
        return text;
    }
    by_table.values_mut().for_each(|rows| *rows = Json::Null);
    json!(by_table).to_string()
}

fn decode(text: &str, tables: &[&'static TableDef]) -> ChangeSet {
    let Ok(Json::Object(by_table)) = serde_json::from_str::<Json>(text) else { return ChangeSet::everything() };
    let mut changes = ChangeSet::default();
    for (name, rows) in by_table {
        // Of a table that this build does not know it has read nothing.
        let Some(table) = tables.iter().find(|table| table.name == name) else { continue };
        match decode_rows(table, &rows) {
            Some(rows) => rows.into_iter().for_each(|row| changes.add_row(row)),
            None => changes.add_table(table.name),
        }
    }
    changes
}

/// The rows of a change, if they are of this build's indexes.
fn decode_rows(table: &'static TableDef, rows: &Json) -> Option<Vec<RowChange>> {
    let (own, rows) = rows.as_array()?.split_first()?;
    if own.as_u64()? != u64::from(fingerprint(table)) {
        return None;
    }
    let place = |place: &Json| {
        let index = usize::try_from(place.get(0)?.as_u64()?).ok()?;
        Some((index, hex::decode(place.get(1)?.as_str()?).ok()?.into_boxed_slice()))
    };
    let row = |row: &Json| {
        let id = u128::from_str_radix(row.get(0)?.as_str()?, 16).ok()?;
        let places = row.get(1)?.as_array()?.iter().map(place).collect::<Option<_>>()?;
        Some(RowChange { table: table.name, id, places })
    };
    rows.iter().map(row).collect()
}

/// What a mutation writes of itself: that it was committed, and what it changed.
pub(crate) const MARK: &str = "INSERT INTO _commits (id, xid, node, changes) VALUES ($1, pg_current_xact_id(), $2, $3)";

/// The parameters of [`MARK`].
pub(crate) fn mark(id: u128, node: u128, changes: String) -> Vec<super::value::Param> {
    vec![own::id(id), own::id(node), convoke_store::Value::Text(changes).into()]
}
