//! What the other nodes commit, as rows that each mutation writes in its transaction: read as soon as they are visible, and
//! published here as if this node had committed them.
//!
//! Neither clocks nor sequences follow the order of commits. Each row has the number of its transaction, and below the
//! oldest one that is still open everything is visible: from there on rows are looked at again, and what was seen is
//! remembered. Nobody is notified within a transaction, which would make commits wait for each other: a node that has
//! committed says so afterwards, not often, and everybody looks from time to time anyway.
//!
//! All of this holds within one history of the database. A restore, a failover or a restart of the server may lose commits, and
//! numbers of transactions are then given again. The follower compares the history at each connection ([`HISTORY`]); in another
//! one it forgets the numbers, and publishes that everything has changed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client};
use tracing::warn;

use crate::failure::{Failure, STANDBY};
use crate::own;
use crate::server::Server;
use crate::sql::{create_index, quoted};
use crate::value::{Bits, Param};
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
/// Commits with an unknown outcome that are looked for.
const DOUBTFUL_MAX: usize = 1_000;
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
    /// Commits of this node whose outcome was unknown, by their ids, oldest first.
    doubtful: Mutex<VecDeque<u128>>,
    /// Why commits of other nodes cannot be followed now.
    trouble: Mutex<Option<String>>,
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

    /// The outcome of a commit of this node is unknown: if it turns up it is followed as if another node had made it.
    pub(crate) fn doubt(&self, id: u128) {
        let mut doubtful = self.doubtful.lock();
        if doubtful.len() >= DOUBTFUL_MAX {
            doubtful.pop_front();
        }
        doubtful.push_back(id);
    }

    /// Returns why commits of other nodes cannot be followed now, if that is so.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().clone()
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
    /// Begins to follow: what is committed in `history` from `from` on, the oldest transaction that was open at some moment.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start(following: Following, History { name, from }: History) -> io::Result<Self> {
        let signals = Arc::new(Signals::default());
        let work = Work { following, signals: signals.clone(), history: name, file: None, from, seen: BTreeSet::new() };
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
    /// The name of the history that all of this is about.
    history: String,
    /// The file of the table of commits, which a restore replaces.
    file: Option<u32>,
    from: i64,
    /// The transactions from `from` on that were taken in, with the ids of their rows.
    seen: BTreeSet<(i64, u128)>,
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
            let mut failures = 0_u32;
            while !self.signals.ended.load(Relaxed) {
                let before = looked;
                let followed = match self.connect().await {
                    Ok(client) => {
                        if clock.monotonic().saturating_sub(looked) > LOST {
                            publish(&self.following.commits, ChangeSet::everything());
                        }
                        self.follow(&client, &mut looked).await
                    }
                    Err(failure) => Err(failure),
                };
                if let Err(failure) = followed {
                    // A cut alone is none: the next connection follows.
                    failures = if looked > before { 1 } else { failures + 1 };
                    if failures == 2 {
                        let reason = format!("commits of other nodes cannot be followed: {}", failure.reason());
                        warn!("{reason}");
                        *self.signals.trouble.lock() = Some(reason);
                    }
                }
                if !self.signals.ended.load(Relaxed) {
                    tokio::time::sleep(LOOK).await;
                }
            }
        });
    }

    async fn connect(&self) -> Result<Client, Failure> {
        let wake = self.signals.wake.clone();
        let hear = move |message| {
            if matches!(message, None | Some(AsyncMessage::Notification(_))) {
                wake.notify_one();
            }
        };
        self.following.server.connect(hear).await
    }

    async fn follow(&mut self, client: &Client, looked: &mut Duration) -> Result<(), Failure> {
        let failed = |error: tokio_postgres::Error| Failure::of(&error);
        let channel = quoted(&channel(&self.following.server.schema));
        client.batch_execute(&self.following.server.settle()).await.map_err(failed)?;
        let history = History::of_row(&client.query_one(HISTORY, &[]).await.map_err(failed)?)?;
        let mut is_new = history.name != self.history;
        if is_new {
            self.begin_history(history);
        }
        client.batch_execute(&format!("LISTEN {channel}")).await.map_err(failed)?;
        let look = client.prepare(LOOK_SQL).await.map_err(failed)?;
        while !self.signals.ended.load(Relaxed) {
            if self.signals.committed.swap(false, Relaxed) {
                client.batch_execute(&format!("NOTIFY {channel}")).await.map_err(failed)?;
            }
            let doubtful: Vec<Bits> = self.signals.doubtful.lock().iter().copied().map(Bits).collect();
            let params: [&(dyn ToSql + Sync); 4] = [&self.from, &Bits(self.following.node), &ROWS_MAX, &doubtful];
            let rows = client.query(&look, &params).await.map_err(failed)?;
            let table = Table::of_row(rows.first()).map_err(failed)?;
            if table.is_on_standby {
                return Err(Failure::NotWritable(STANDBY));
            }
            if self.file.replace(table.file).is_some_and(|file| file != table.file) {
                let history = History::of_row(&client.query_one(HISTORY, &[]).await.map_err(failed)?)?;
                self.begin_history(history);
                is_new = true;
                continue;
            }
            self.take_in(&rows).map_err(failed)?;
            if std::mem::take(&mut is_new) {
                // Behind the first look: what it did not see is looked at later.
                publish(&self.following.commits, ChangeSet::everything());
            }
            *looked = self.following.clock.monotonic();
            *self.signals.trouble.lock() = None;
            tokio::time::sleep(PAUSE).await;
            let _ = tokio::time::timeout(LOOK, self.signals.wake.notified()).await;
        }
        Ok(())
    }

    /// Forgets what was seen in another history.
    fn begin_history(&mut self, history: History) {
        warn!("the database was restarted, restored or failed over: everything is read again");
        self.following.server.begin_history();
        self.following.commits.begin_history();
        self.seen.clear();
        (self.history, self.from, self.file) = (history.name, history.from, None);
    }

    /// Each row has the oldest open transaction, and its own one with what it changed, if there is one.
    fn take_in(&mut self, rows: &[tokio_postgres::Row]) -> Result<(), tokio_postgres::Error> {
        let Some(first) = rows.first() else { return Ok(()) };
        let oldest: i64 = first.try_get(0)?;
        let is_full = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= ROWS_MAX;
        let mut changes = ChangeSet::default();
        let mut last = self.from;
        for row in rows {
            let Some(transaction) = row.try_get::<_, Option<i64>>(3)? else { continue };
            let id = row.try_get::<_, Bits>(4)?.0;
            last = transaction;
            if self.seen.insert((transaction, id)) {
                self.signals.taken_in.fetch_add(1, Relaxed);
                self.signals.doubtful.lock().retain(|doubtful| *doubtful != id);
                changes.extend([decode(row.try_get(5)?, &self.following.tables)]);
            }
        }
        // What was not read yet is read at the next look.
        self.from = if is_full { oldest.min(last) } else { oldest };
        self.seen = self.seen.split_off(&(self.from, 0));
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

/// Always one row at least, for the oldest open transaction. Rows of this node are its own, except those whose commit it
/// does not know.
const LOOK_SQL: &str = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, pg_is_in_recovery(), \
    pg_relation_filenode(to_regclass('_commits')), c.xid::text::bigint, c.id, c.changes \
    FROM (SELECT 1) AS one LEFT JOIN LATERAL (SELECT xid, id, changes FROM _commits \
    WHERE xid >= $1::bigint::text::xid8 AND (node <> $2 OR id = ANY($4)) ORDER BY xid LIMIT $3) AS c ON true";

/// The part of a look that is about the table itself.
struct Table {
    is_on_standby: bool,
    file: u32,
}

impl Table {
    fn of_row(row: Option<&tokio_postgres::Row>) -> Result<Self, tokio_postgres::Error> {
        let Some(row) = row else { return Ok(Self { is_on_standby: false, file: 0 }) };
        Ok(Self { is_on_standby: row.try_get(1)?, file: row.try_get::<_, Option<u32>>(2)?.unwrap_or(0) })
    }
}

/// The name of the history, and the oldest transaction that is open now. Commits of one history are never lost: another
/// cluster, another timeline and another start of the server are other histories.
pub(crate) const HISTORY: &str = "SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE concat_ws(' ', system_identifier, \
    left(pg_walfile_name(pg_current_wal_lsn()), 8), extract(epoch FROM pg_postmaster_start_time())) END, \
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint FROM pg_control_system()";

/// A history of the database, from a transaction on.
pub(crate) struct History {
    name: String,
    from: i64,
}

impl History {
    /// Reads a row of [`HISTORY`].
    ///
    /// # Errors
    /// [`Failure::NotWritable`] on a standby, which has none of its own.
    pub(crate) fn of_row(row: &tokio_postgres::Row) -> Result<Self, Failure> {
        let failed = |error: tokio_postgres::Error| Failure::of(&error);
        let name = row.try_get::<_, Option<String>>(0).map_err(failed)?.ok_or(Failure::NotWritable(STANDBY))?;
        Ok(Self { name, from: row.try_get(1).map_err(failed)? })
    }
}

fn channel(schema: &str) -> String {
    format!("convoke {schema}")
}

/// What tells the indexes of a table from those of another build.
fn fingerprint(table: &TableDef) -> u32 {
    let mut hasher = FxHasher::default();
    for index in table.indexes {
        hasher.write(create_index(table, index).as_bytes());
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
pub(crate) fn mark(id: u128, node: u128, changes: String) -> Vec<Param> {
    vec![own::id(id), own::id(node), convoke_store::Value::Text(changes).into()]
}
