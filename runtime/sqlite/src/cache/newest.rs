//! The version of the newest database state, and a row cache of that state for the readers and the writer.
//!
//! The version is even for a committed state and odd during a commit (a sequence lock). A transaction that knows the
//! version of its snapshot may use a cached row while that version is the newest. A commit evicts the rows that it
//! changes while the version is odd, and inserts the rows that it updates before the version is even again. Otherwise a
//! row is inserted under the lock of its shard, and only while the version in which it was read is the newest. A reader
//! with an older snapshot reads from SQLite.

use std::hash::BuildHasher as _;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire},
};

use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;

use super::known_rows::{KnownRows, Places, RowKey};
use crate::sql::{SqliteRow, unique_index};
use convoke_store::overlay::{RowWrite, Write};
use convoke_store::table::IndexDef;
use convoke_store::{Admission, MemoryRow, PackedRow, Plan, Row, TableDef, Value};

/// Number of shards, each with its own lock.
const SHARDS: usize = 32;
/// Number of recently read rows that are remembered by their hashes: a row is cached at its second read.
const READ_LATELY: usize = 256 * 1_024;

/// A larger row is not cached.
const ROW_BYTES_MAX: usize = 16 * 1_024;

/// Most rows of one commit that are evicted individually.
const CHANGED_MAX: usize = 10_000;

/// The newest state.
#[derive(Default)]
pub(crate) struct Newest {
    number: AtomicU64,
    /// None if nothing is cached.
    rows: Option<Rows>,
}

struct Rows {
    shards: Box<[Mutex<KnownRows>]>,
    places: Places,
    admission: Admission,
}

/// The changes of a new state.
#[derive(Debug)]
pub(crate) enum Changed {
    Rows(Vec<RowKey>),
    /// Any rows.
    Anything,
}

impl Default for Changed {
    fn default() -> Self {
        Changed::Rows(Vec::new())
    }
}

impl Changed {
    pub(crate) fn add(&mut self, key: RowKey) {
        match self {
            Changed::Rows(keys) if keys.len() < CHANGED_MAX => keys.push(key),
            Changed::Rows(_) | Changed::Anything => *self = Changed::Anything,
        }
    }
}

impl Newest {
    /// Creates a cache of about `row_bytes` bytes.
    pub(crate) fn new(row_bytes: u64) -> Self {
        let rows = (row_bytes > 0).then(|| Rows {
            shards: (0..SHARDS).map(|_| Mutex::new(KnownRows::new(row_bytes / SHARDS as u64))).collect(),
            places: Places::default(),
            admission: Admission::new(READ_LATELY),
        });
        Self { number: AtomicU64::new(0), rows }
    }

    /// Returns the version of the newest state. A snapshot opened after this call shows that state or a newer one.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Acquire)
    }

    /// Runs work that may create a new state. A reader that checks in the meantime opens its own snapshot, which may
    /// show it already.
    pub(crate) fn change<R>(&self, changed: Changed, work: impl FnOnce() -> R) -> R {
        self.number.fetch_add(1, AcqRel);
        if let Some(rows) = &self.rows {
            rows.forget(changed);
        }
        let done = work();
        self.number.fetch_add(1, AcqRel);
        done
    }

    /// Like [`Newest::change`], for a commit whose last writes are `writes`. Caches the rows that it updates.
    ///
    /// # Errors
    /// Errors of `commit`.
    pub(crate) fn commit<E>(
        &self,
        changed: Changed,
        writes: &[RowWrite],
        commit: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        self.change(changed, || {
            commit()?;
            for RowWrite { table, id, write, .. } in writes {
                if let (Some(rows), Write::Update(row, _)) = (&self.rows, write)
                    && row.bytes() <= ROW_BYTES_MAX
                {
                    rows.insert(table, *id, row.clone());
                }
            }
            Ok(())
        })
    }

    /// Returns a row in `state`, if it is cached and that state is the newest.
    pub(crate) fn get(&self, state: u64, table: &'static TableDef, id: u128) -> Option<MemoryRow> {
        let columns = self.rows.as_ref()?.get(&RowKey::new(table, id))?;
        // Checked last, so it was the newest state all the time.
        (self.number() == state).then_some(MemoryRow { id, columns })
    }

    /// Like [`Newest::get`], for the only row of a plan with all keys of a unique index.
    pub(crate) fn only(&self, state: u64, plan: &Plan) -> Option<MemoryRow> {
        let (rows, index) = (self.rows.as_ref()?, unique_index(plan)?);
        let place = rows.places.of(plan.table, index, plan.eq.iter().map(Value::as_ref));
        let id = *rows.shard(place).lock().ids.get(&place)?;
        self.get(state, plan.table, id).filter(|row| has_keys(&row.columns, index, &plan.eq))
    }

    /// Caches a row that was read in `state`, from its second read on. An unreadable row is not cached.
    pub(crate) fn keep(&self, state: u64, row: &SqliteRow<'_>) {
        let Some(rows) = &self.rows else { return };
        let Ok(id) = row.id() else { return };
        let hash = FxBuildHasher.hash_one(id);
        if !rows.admission.is_second_sight(hash) || self.number() != state {
            return;
        }
        let table = row.table;
        let Ok(Some(columns)) = row.packed(table.fields.len(), ROW_BYTES_MAX) else { return };
        rows.insert_places(table, id, &columns);
        let mut shard = rows.shard(hash).lock();
        // The next commit visits this shard after it changed the version: either it evicts this row, or the change is
        // visible here.
        if self.number() == state {
            shard.rows.insert(RowKey::new(table, id), columns);
        }
    }
}

impl Rows {
    fn shard(&self, hash: u64) -> &Mutex<KnownRows> {
        // The inner maps use the lowest and highest bits.
        &self.shards[usize::try_from((hash >> 32) % SHARDS as u64).unwrap_or(0)]
    }

    fn get(&self, key: &RowKey) -> Option<PackedRow> {
        self.shard(FxBuildHasher.hash_one(key.id())).lock().rows.get(key).cloned()
    }

    fn insert(&self, table: &'static TableDef, id: u128, row: PackedRow) {
        self.insert_places(table, id, &row);
        self.shard(FxBuildHasher.hash_one(id)).lock().rows.insert(RowKey::new(table, id), row);
    }

    /// The keys find only the id, and the row itself shows if it still has them.
    fn insert_places(&self, table: &'static TableDef, id: u128, row: &PackedRow) {
        for place in self.places.of_row(table, row) {
            self.shard(place).lock().ids.insert(place, id);
        }
    }

    fn forget(&self, changed: Changed) {
        match changed {
            Changed::Rows(keys) => {
                for key in keys {
                    self.shard(FxBuildHasher.hash_one(key.id())).lock().rows.remove(&key);
                }
            }
            Changed::Anything => self.shards.iter().for_each(|shard| shard.lock().clear()),
        }
    }
}

fn has_keys(row: &PackedRow, index: &IndexDef, keys: &[Value]) -> bool {
    index.keys.iter().zip(keys).all(|(key, value)| row.value(key.field) == value.as_ref())
}
