//! Follows the commits of other nodes. Each mutation writes a row about itself in its transaction; the follower reads
//! visible rows and publishes them like commits of this node.
//!
//! Neither clocks nor sequences follow the order of commits. Each row has the number of its transaction, and everything
//! below the oldest open transaction is visible. From there on rows are read again, and known ones are skipped.
//! Notifications within a transaction would make commits wait for each other, so a node notifies after its commit, at a
//! limited rate, and every node also looks periodically.
//!
//! This is valid within one history of the database. A restore, a failover or a restart of the server may lose commits
//! and reuse transaction numbers. The follower compares the history at each connection ([`HISTORY`]). In a new history
//! it forgets all numbers and publishes a change of everything.

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

/// Interval without notifications.
const LOOK: Duration = Duration::from_millis(250);
/// Shortest interval between two looks, and between two notifications.
const PAUSE: Duration = Duration::from_millis(20);
/// Time limit of a look.
const SILENCE: Duration = Duration::from_secs(10);
/// Most rows per read; if there are more, only those below the oldest open transaction are read.
const ROWS_MAX: i64 = 5_000;
/// Most bytes of one row's changes; beyond it, whole tables are named.
const BODY_MAX: usize = 64 * 1_024;
/// Most commits of unknown outcome that are looked for.
const DOUBTFUL_MAX: usize = 1_000;
/// Time without a look after which the changes are unknown. Rows are kept longer than this.
const LOST: Duration = Duration::from_secs(1_800);

/// Follows the commits of other nodes until it is stopped.
pub(crate) struct Follower {
    signals: Arc<Signals>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Shared state of the follower and its users.
#[derive(Default)]
pub(crate) struct Signals {
    wake: Arc<Notify>,
    committed: AtomicBool,
    ended: AtomicBool,
    /// Ids of this node's commits of unknown outcome, oldest first.
    doubtful: Mutex<VecDeque<u128>>,
    /// Reason why commits of other nodes cannot be followed now.
    trouble: Mutex<Option<String>>,
    /// Number of commits of other nodes received.
    pub taken_in: AtomicU64,
}

impl Signals {
    /// Records a commit of this node, about which others are notified.
    pub(crate) fn committed(&self) {
        if !self.committed.swap(true, Relaxed) {
            self.wake.notify_one();
        }
    }

    /// Records a commit of this node with unknown outcome: if it appears, it is handled like a commit of another node.
    pub(crate) fn doubt(&self, id: u128) {
        let mut doubtful = self.doubtful.lock();
        if doubtful.len() >= DOUBTFUL_MAX {
            doubtful.pop_front();
        }
        doubtful.push_back(id);
    }

    /// Returns the reason why commits of other nodes cannot be followed now, if there is one.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().clone()
    }
}

/// Dependencies of the follower.
pub(crate) struct Following {
    /// The server.
    pub server: Arc<Server>,
    /// This node, whose rows are skipped.
    pub node: u128,
    /// The tables of this program.
    pub tables: Arc<[&'static TableDef]>,
    /// Publishes commits.
    pub commits: Arc<Commits>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

impl Follower {
    /// Starts to follow commits in `history` after its oldest open transaction.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start(following: Following, history: History) -> io::Result<Self> {
        let signals = Arc::new(Signals::default());
        let (shared, from) = (signals.clone(), history.from);
        let work = Work { following, signals: shared, history, is_new: false, from, seen: BTreeSet::new() };
        let thread = thread::Builder::new().name("convoke-follower".to_owned()).spawn(move || work.run())?;
        Ok(Self { signals, thread: Mutex::new(Some(thread)) })
    }

    /// Returns its shared state.
    pub(crate) fn signals(&self) -> &Arc<Signals> {
        &self.signals
    }

    /// Stops it.
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
    history: History,
    /// True if the history has begun, and no look into it has succeeded.
    is_new: bool,
    from: i64,
    /// Received transactions from `from` on, with the ids of their rows.
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
                    // A cut connection alone is no reason: the next one continues.
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
        if history.name != self.history.name || history.is_of_other_file(self.history.file) {
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
            let rows = tokio::time::timeout(SILENCE, client.query(&look, &params)).await;
            let rows = rows.map_err(|_| Failure::Late)?.map_err(failed)?;
            let table = Table::of_row(rows.first()).map_err(failed)?;
            if table.is_on_standby {
                return Err(Failure::NotWritable(STANDBY));
            }
            if table.file != self.history.file {
                let history = History::of_row(&client.query_one(HISTORY, &[]).await.map_err(failed)?)?;
                self.begin_history(history);
                continue;
            }
            self.take_in(&rows).map_err(failed)?;
            if std::mem::take(&mut self.is_new) {
                // After the first look, which may have missed it.
                publish(&self.following.commits, ChangeSet::everything());
            }
            *looked = self.following.clock.monotonic();
            *self.signals.trouble.lock() = None;
            tokio::time::sleep(PAUSE).await;
            let _ = tokio::time::timeout(LOOK, self.signals.wake.notified()).await;
        }
        Ok(())
    }

    /// Forgets all numbers of another history.
    fn begin_history(&mut self, history: History) {
        warn!("the database was restarted, restored or failed over: everything is read again");
        self.following.server.primary.begin_history();
        self.following.commits.begin_history();
        self.seen.clear();
        self.from = history.from;
        (self.history, self.is_new) = (history, true);
    }

    /// Each row has the oldest open transaction, and its own one with its changes, if there is one.
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
        // Unread rows are read at the next look.
        self.from = if is_full { oldest.min(last) } else { oldest };
        self.seen = self.seen.split_off(&(self.from, 0));
        if is_full && last >= oldest {
            // A transaction is open for long, and too many commits have followed to remember all of them.
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

/// Always returns at least one row, for the oldest open transaction. Rows of this node are skipped, except those of
/// unknown outcome.
const LOOK_SQL: &str = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, pg_is_in_recovery(), \
    pg_relation_filenode(to_regclass('_commits')), c.xid::text::bigint, c.id, c.changes \
    FROM (SELECT 1) AS one LEFT JOIN LATERAL (SELECT xid, id, changes FROM _commits \
    WHERE xid >= $1::bigint::text::xid8 AND (node <> $2 OR id = ANY($4)) ORDER BY xid LIMIT $3) AS c ON true";

/// The part of the statement about the table itself.
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

/// The name of the history, the oldest open transaction, and the file of the table of commits. Commits of one history
/// are never lost: another cluster, timeline or start of the server is another history, and so is another file of the
/// table, which a restore of a dump makes.
pub(crate) const HISTORY: &str = "SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE concat_ws(' ', system_identifier, \
    left(pg_walfile_name(pg_current_wal_lsn()), 8), extract(epoch FROM pg_postmaster_start_time())) END, \
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint, pg_relation_filenode(to_regclass('_commits')) \
    FROM pg_control_system()";

/// A history of the database, from a transaction on.
pub(crate) struct History {
    name: String,
    from: i64,
    /// 0 while there is no table of commits.
    file: u32,
}

impl History {
    /// Reads a row of [`HISTORY`].
    ///
    /// # Errors
    /// [`Failure::NotWritable`]: the server is a standby, which has no history of its own.
    pub(crate) fn of_row(row: &tokio_postgres::Row) -> Result<Self, Failure> {
        let failed = |error: tokio_postgres::Error| Failure::of(&error);
        let name = row.try_get::<_, Option<String>>(0).map_err(failed)?.ok_or(Failure::NotWritable(STANDBY))?;
        let file = row.try_get::<_, Option<u32>>(2).map_err(failed)?.unwrap_or(0);
        Ok(Self { name, from: row.try_get(1).map_err(failed)?, file })
    }

    /// Returns true if the table of commits is another one. During a restore, the table is missing.
    fn is_of_other_file(&self, file: u32) -> bool {
        self.file != 0 && self.file != file
    }
}

fn channel(schema: &str) -> String {
    format!("convoke {schema}")
}

/// Returns a fingerprint of a table's indexes, which differs between programs with different indexes.
fn fingerprint(table: &TableDef) -> u32 {
    let mut hasher = FxHasher::default();
    for index in table.indexes {
        hasher.write(create_index(table, index).as_bytes());
        hasher.write_u8(0);
    }
    // Half of the bits are sufficient, and fit into a JSON number.
    u32::try_from(hasher.finish() >> 32).unwrap_or(0)
}

/// Writes a change as text: its tables by name, `null` for a whole table, otherwise the fingerprint and the rows with
/// their positions.
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
        // This node has read nothing from a table that it does not know.
        let Some(table) = tables.iter().find(|table| table.name == name) else { continue };
        match decode_rows(table, &rows) {
            Some(rows) => rows.into_iter().for_each(|row| changes.add_row(row)),
            None => changes.add_table(table.name),
        }
    }
    changes
}

/// Reads the rows of a change, if they are of the same indexes.
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

/// The row that a mutation writes about itself: that it was committed, with its changes.
pub(crate) const MARK: &str = "INSERT INTO _commits (id, xid, node, changes) VALUES ($1, pg_current_xact_id(), $2, $3)";

/// The parameters of [`MARK`].
pub(crate) fn mark(id: u128, node: u128, changes: String) -> Vec<Param> {
    vec![own::id(id), own::id(node), convoke_store::Value::Text(changes).into()]
}
