//! Rows within a limit of memory, found by id or by the keys of a unique index.

use std::hash::{BuildHasher as _, Hash, Hasher};

use foldhash::quality::RandomState;
use quick_cache::Weighter;
use quick_cache::unsync::Cache;
use rustc_hash::FxBuildHasher;

use convoke_store::table::IndexDef;
use convoke_store::{PackedRow, TableDef, ValueRef};

/// Approximate overhead of a cached row, and of a key that finds a row, in bytes.
const ROW_BYTES: u64 = 128;
const KEY_BYTES: u64 = 48;
/// Fraction of the memory for keys.
const KEYS_PART: u64 = 8;

/// The table name and id of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowKey {
    id: u128,
    table: &'static str,
}

impl RowKey {
    pub(crate) fn new(table: &'static TableDef, id: u128) -> Self {
        Self { id, table: table.name }
    }

    pub(crate) fn id(self) -> u128 {
        self.id
    }
}

impl Hash for RowKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Ids are unique except in tests.
        self.id.hash(state);
    }
}

/// The limit is in bytes.
#[derive(Clone)]
pub(crate) struct Weight;

impl Weighter<RowKey, PackedRow> for Weight {
    fn weight(&self, _: &RowKey, row: &PackedRow) -> u64 {
        ROW_BYTES + row.bytes() as u64
    }
}

/// Rows within a limit of memory.
pub(crate) struct KnownRows {
    /// The rows.
    pub rows: Cache<RowKey, PackedRow, Weight, FxBuildHasher>,
    /// Ids by the hash of a unique index and its keys. The row itself shows if it still has them.
    pub ids: Cache<u64, u128, quick_cache::UnitWeighter, FxBuildHasher>,
}

impl KnownRows {
    /// Creates an empty cache of about `bytes_max` bytes.
    pub(crate) fn new(bytes_max: u64) -> Self {
        let keys = usize::try_from(bytes_max / KEYS_PART / KEY_BYTES).unwrap_or(usize::MAX).max(1);
        let row_bytes = bytes_max - bytes_max / KEYS_PART;
        Self {
            rows: Cache::with(keys, row_bytes, Weight, FxBuildHasher, Default::default()),
            ids: Cache::with(keys, keys as u64, Default::default(), FxBuildHasher, Default::default()),
        }
    }

    /// Removes all rows.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.ids.clear();
    }
}

/// Hashes of unique keys. The hash is randomized, because callers choose the keys and must not be able to cause
/// collisions.
#[derive(Default)]
pub(crate) struct Places(RandomState);

impl Places {
    /// Returns the hash of a unique index with these keys.
    pub(crate) fn of<'a>(&self, table: &TableDef, index: &IndexDef, keys: impl Iterator<Item = ValueRef<'a>>) -> u64 {
        let mut hasher = self.0.build_hasher();
        (table.name, index.name).hash(&mut hasher);
        for value in keys {
            match value {
                // Equal values may have several forms: 0 and -0.
                ValueRef::Null | ValueRef::Float(_) => {}
                ValueRef::Bool(truth) => truth.hash(&mut hasher),
                ValueRef::Integer(number) => number.hash(&mut hasher),
                ValueRef::Text(text) => text.hash(&mut hasher),
                ValueRef::Bytes(bytes) => bytes.hash(&mut hasher),
                ValueRef::Id(bits) => bits.hash(&mut hasher),
            }
        }
        hasher.finish()
    }

    /// Returns the hashes at which a row is found.
    pub(crate) fn of_row(&self, table: &TableDef, row: &PackedRow) -> impl Iterator<Item = u64> {
        let unique = table.indexes.iter().filter(|index| index.unique && index.when.is_none());
        unique.filter_map(|index| {
            let keys = || index.keys.iter().map(|key| row.value(key.field));
            keys().all(|value| value != ValueRef::Null).then(|| self.of(table, index, keys()))
        })
    }
}
