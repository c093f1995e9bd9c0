//! Which state of the database is the newest, and rows as it has them, for all readers.
//!
//! States have even numbers; while one becomes the next, the number is odd. A reader that knows which state its snapshot
//! shows may take a row from here as long as that one is the newest: whoever makes a new state forgets the rows that it
//! changes while the number is odd, and a row is taken in, under the lock of its shard, only while the state that it was
//! read in is the newest. A reader whose snapshot is older asks SQLite.

use std::hash::BuildHasher as _;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire},
};

use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;

use super::known_rows::{KnownRow, KnownRows, Places, RowKey};
use super::packed_row::PackedRow;
use crate::sql::{SqliteRow, unique_index};
use convoke_store::{Admission, Plan, Row, TableDef, Value};

/// Parts of the rows, each with a lock of its own.
const SHARDS: usize = 32;
/// Rows that were read lately and are known by their hashes: those that are read again are kept.
const READ_LATELY: usize = 256 * 1_024;

/// Rows of one commit that are told one by one.
const CHANGED_MAX: usize = 10_000;

/// The newest state.
#[derive(Default)]
pub(crate) struct Newest {
    number: AtomicU64,
    /// None where nothing is kept.
    rows: Option<Rows>,
}

struct Rows {
    shards: Box<[Mutex<KnownRows>]>,
    places: Places,
    admission: Admission,
}

/// What a new state changes.
#[derive(Debug)]
pub(crate) enum Changed {
    /// These rows.
    Rows(Vec<RowKey>),
    /// Anything.
    Anything,
}

impl Default for Changed {
    fn default() -> Self {
        Changed::Rows(Vec::new())
    }
}

impl Changed {
    /// This row too.
    pub(crate) fn add(&mut self, key: RowKey) {
        match self {
            Changed::Rows(keys) if keys.len() < CHANGED_MAX => keys.push(key),
            Changed::Rows(_) | Changed::Anything => *self = Changed::Anything,
        }
    }
}

impl Newest {
    /// With about so many bytes for rows.
    pub(crate) fn new(row_bytes: u64) -> Self {
        let rows = (row_bytes > 0).then(|| Rows {
            shards: (0..SHARDS).map(|_| Mutex::new(KnownRows::new(row_bytes / SHARDS as u64))).collect(),
            places: Places::default(),
            admission: Admission::new(READ_LATELY),
        });
        Self { number: AtomicU64::new(0), rows }
    }

    /// The number of the newest state. A snapshot that is opened after this was asked shows that state or a newer one.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Acquire)
    }

    /// Runs what may make a new state: a reader that looks meanwhile opens a snapshot of its own, which may show it already.
    pub(crate) fn change<R>(&self, changed: Changed, work: impl FnOnce() -> R) -> R {
        self.number.fetch_add(1, AcqRel);
        if let Some(rows) = &self.rows {
            rows.forget(changed);
        }
        let done = work();
        self.number.fetch_add(1, AcqRel);
        done
    }

    /// A row as `state` has it, if it is kept and that state is the newest.
    pub(crate) fn get(&self, state: u64, table: &'static TableDef, id: u128) -> Option<KnownRow> {
        let columns = self.rows.as_ref()?.get(&RowKey::new(table, id))?;
        // Looked at last: so it was the newest one all the time.
        (self.number() == state).then_some(KnownRow { id, columns })
    }

    /// As [`Newest::get`], the only row of a plan that asks for all keys of a unique index.
    pub(crate) fn only(&self, state: u64, plan: &Plan) -> Option<KnownRow> {
        let (rows, index) = (self.rows.as_ref()?, unique_index(plan)?);
        let place = rows.places.of(plan.table, index, plan.eq.iter().map(Value::as_ref));
        let id = *rows.shard(place).lock().ids.get(&place)?;
        self.get(state, plan.table, id).filter(|row| row.has_keys(index, &plan.eq))
    }

    /// Keeps a row that was read in `state`, from the second time on that it is read. A row that cannot be read is none to
    /// be kept.
    pub(crate) fn keep(&self, state: u64, row: &SqliteRow<'_>) {
        let Some(rows) = &self.rows else { return };
        let Ok(id) = row.id() else { return };
        let hash = FxBuildHasher.hash_one(id);
        if !rows.admission.is_second_sight(hash) || self.number() != state {
            return;
        }
        let table = row.table;
        let Ok(Some(row)) = PackedRow::read(row) else { return };
        for place in rows.places.of_row(table, &row) {
            rows.shard(place).lock().ids.insert(place, id);
        }
        let mut shard = rows.shard(hash).lock();
        // Whoever makes the next state comes to this shard after it said so: it forgets this row, or it was seen here.
        if self.number() == state {
            shard.rows.insert(RowKey::new(table, id), row);
        }
    }
}

impl Rows {
    fn shard(&self, hash: u64) -> &Mutex<KnownRows> {
        // The maps within go by the lowest and the uppermost bits.
        &self.shards[usize::try_from((hash >> 32) % SHARDS as u64).unwrap_or(0)]
    }

    fn get(&self, key: &RowKey) -> Option<PackedRow> {
        self.shard(FxBuildHasher.hash_one(key.id())).lock().rows.get(key).cloned()
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
