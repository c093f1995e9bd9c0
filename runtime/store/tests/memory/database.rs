//! The rows and indexes of a database as persistent values: copies are cheap and share unchanged parts.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use convoke_store::{Condition, IndexDef, Plan, StoreError, TableDef, Value};
use rpds::RedBlackTreeMapSync as Map;

/// The content of the database at one moment.
#[derive(Clone, Default)]
pub(crate) struct Database {
    /// Tables by name.
    pub tables: Map<String, Table>,
    /// Number of schema changes; 0 = no database exists.
    pub version: i64,
    /// Time of the last schema change.
    pub applied_at: i64,
    /// The schema, as JSON.
    pub definition: String,
}

impl Database {
    /// Returns the greatest row id; 0 if there is no row.
    pub(crate) fn greatest_id(&self) -> u128 {
        self.tables.values().filter_map(|table| table.rows.last().map(|(id, _)| *id)).max().unwrap_or(0)
    }
}

/// A table.
#[derive(Clone, Default)]
pub(crate) struct Table {
    /// Rows by id.
    pub rows: Map<u128, Arc<StoredRow>>,
    /// Indexes by name.
    pub indexes: Map<String, Index>,
}

/// A row.
#[derive(Clone)]
pub(crate) struct StoredRow {
    /// `_creationTime`.
    pub time: i64,
    /// The values by field name; missing ones are null.
    pub values: BTreeMap<String, Value>,
}

impl StoredRow {
    /// Returns the value of a field.
    pub(crate) fn value(&self, field: &str) -> &Value {
        self.values.get(field).unwrap_or(&Value::Null)
    }
}

/// Returns the text of an index; equal texts mean equal indexes.
pub(crate) fn index_text(table: &TableDef, index: &IndexDef) -> String {
    let keys: Vec<_> = index.keys.iter().map(|key| (table.fields[key.field].name, key.descending)).collect();
    format!("{keys:?} unique: {} when: {:?}", index.unique, index.when)
}

/// An index: its definition, since the code may have a newer one, and its entries.
#[derive(Clone)]
pub(crate) struct Index {
    keys: Vec<(String, bool)>,
    unique: bool,
    when: Option<Condition>,
    entries: Map<Entry, u128>,
}

/// A position in an index.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    keys: Vec<Key>,
    /// Id of the row; 0 if the keys are unique.
    tail: u128,
}

/// A value as a key: null first, then by value, bytes or bits; reversed for a descending key.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    value: Ordered,
    descending: bool,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Ordered {
    Null,
    Bool(bool),
    Integer(i64),
    /// Bits in the order of the numbers.
    Float(u64),
    Text(String),
    Bytes(Vec<u8>),
    Id(u128),
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.value.cmp(&other.value);
        if self.descending { order.reverse() } else { order }
    }
}

impl Ordered {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Integer(number) => Self::Integer(*number),
            Value::Float(number) => {
                // Both zeros are equal.
                let bits = (number + 0.0).to_bits();
                Self::Float(if bits >> 63 == 1 { !bits } else { bits | 1 << 63 })
            }
            Value::Text(text) => Self::Text(text.clone()),
            Value::Bytes(bytes) => Self::Bytes(bytes.clone()),
            Value::Id(bits) => Self::Id(*bits),
        }
    }
}

impl Index {
    /// Creates an index without entries.
    pub(crate) fn new(table: &TableDef, index: &IndexDef) -> Self {
        let keys = index.keys.iter().map(|key| (table.fields[key.field].name.to_owned(), key.descending)).collect();
        Self { keys, unique: index.unique, when: index.when, entries: Map::new_sync() }
    }

    fn entry<'a>(&self, values: impl Iterator<Item = &'a Value>, id: u128) -> Entry {
        let key = |(value, (_, descending)): (&Value, &(String, bool))| Key {
            value: Ordered::of(value),
            descending: *descending,
        };
        let keys: Vec<Key> = values.zip(&self.keys).map(key).collect();
        let tells_apart = self.unique && keys.iter().all(|key| key.value != Ordered::Null);
        Entry { keys, tail: if tells_apart { 0 } else { id } }
    }

    /// Returns the position of a row in the index, if it is in it.
    fn entry_of(&self, id: u128, row: &StoredRow) -> Option<Entry> {
        let holds = match self.when {
            None => true,
            Some(Condition::Equals(field, literal)) => *row.value(field) == literal.value(),
            Some(Condition::IsNull(field)) => *row.value(field) == Value::Null,
            Some(Condition::NotNull(field)) => *row.value(field) != Value::Null,
        };
        holds.then(|| self.entry(self.keys.iter().map(|(field, _)| row.value(field)), id))
    }

    /// Inserts a row. Returns false if another row has its position.
    pub(crate) fn add(&mut self, id: u128, row: &StoredRow) -> bool {
        let Some(entry) = self.entry_of(id, row) else { return true };
        if self.entries.contains_key(&entry) {
            return false;
        }
        self.entries.insert_mut(entry, id);
        true
    }

    fn remove(&mut self, id: u128, row: &StoredRow) {
        if let Some(entry) = self.entry_of(id, row) {
            self.entries.remove_mut(&entry);
        }
    }
}

impl Table {
    /// Inserts, replaces or deletes a row. If a unique index rejects the row, returns its name and changes nothing.
    pub(crate) fn put(&mut self, id: u128, old: Option<&StoredRow>, new: Option<StoredRow>) -> Result<(), String> {
        let mut indexes = self.indexes.clone();
        for (name, index) in &self.indexes {
            let mut index = index.clone();
            if let Some(old) = old {
                index.remove(id, old);
            }
            if let Some(new) = &new
                && !index.add(id, new)
            {
                return Err(name.clone());
            }
            indexes.insert_mut(name.clone(), index);
        }
        self.indexes = indexes;
        match new {
            Some(row) => self.rows.insert_mut(id, Arc::new(row)),
            None => {
                self.rows.remove_mut(&id);
            }
        }
        Ok(())
    }

    /// Returns the ids of a plan's rows, in order.
    pub(crate) fn ids(&self, plan: &Plan) -> Result<Box<dyn Iterator<Item = u128> + '_>, StoreError> {
        let reverse = plan.reverse;
        let limit = plan.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let Some(index) = plan.index else {
            let after = plan.after.as_ref().map(|(_, id)| *id);
            let behind = move |id: &u128| after.is_none_or(|after| if reverse { *id < after } else { *id > after });
            let ids = self.rows.keys().copied();
            return Ok(either(reverse, ids, move |ids| Box::new(ids.filter(behind).take(limit))));
        };
        let found = self.indexes.get(index.name);
        let index = found.ok_or_else(|| StoreError::Engine(format!("there is no index {}", index.name)))?;
        let asked = Asked::of(index, plan);
        let entries = index.entries.iter();
        Ok(either(reverse, entries, move |entries| {
            Box::new(entries.filter(move |(entry, _)| asked.has(entry)).map(|(_, id)| *id).take(limit))
        }))
    }
}

/// Iterates forward or backward.
fn either<'a, I, T>(
    backward: bool,
    all: I,
    then: impl FnOnce(Box<dyn Iterator<Item = T> + 'a>) -> Box<dyn Iterator<Item = u128> + 'a>,
) -> Box<dyn Iterator<Item = u128> + 'a>
where
    I: DoubleEndedIterator<Item = T> + 'a,
{
    if backward { then(Box::new(all.rev())) } else { then(Box::new(all)) }
}

/// The conditions of a plan on an entry.
struct Asked {
    eq: Vec<Ordered>,
    any: Option<Vec<Ordered>>,
    range: Option<(Bound<Ordered>, Bound<Ordered>)>,
    after: Option<Entry>,
    reverse: bool,
}

impl Asked {
    fn of(index: &Index, plan: &Plan) -> Self {
        let ordered = |values: &Vec<Value>| {
            let mut ordered: Vec<Ordered> = values.iter().map(Ordered::of).collect();
            ordered.sort_unstable();
            ordered
        };
        let bound = |bound: &Bound<Value>| bound.as_ref().map(Ordered::of);
        Self {
            eq: plan.eq.iter().map(Ordered::of).collect(),
            any: plan.any.as_ref().map(ordered),
            range: plan.range.as_ref().map(|(start, end)| (bound(start), bound(end))),
            after: plan.after.as_ref().map(|(values, id)| index.entry(values.iter(), *id)),
            reverse: plan.reverse,
        }
    }

    fn has(&self, entry: &Entry) -> bool {
        let fixed = self.eq.iter().zip(&entry.keys).all(|(value, key)| *value == key.value);
        let next = entry.keys.get(self.eq.len()).map(|key| &key.value);
        let listed = self.any.as_ref().is_none_or(|any| next.is_some_and(|next| any.binary_search(next).is_ok()));
        let within = self.range.as_ref().is_none_or(|range| next.is_some_and(|next| within(range, next)));
        let behind = self.after.as_ref().is_none_or(|after| if self.reverse { entry < after } else { entry > after });
        fixed && listed && within && behind
    }
}

fn within((start, end): &(Bound<Ordered>, Bound<Ordered>), value: &Ordered) -> bool {
    let from = match start {
        Bound::Unbounded => true,
        Bound::Included(start) => value >= start,
        Bound::Excluded(start) => value > start,
    };
    let to = match end {
        Bound::Unbounded => true,
        Bound::Included(end) => value <= end,
        Bound::Excluded(end) => value < end,
    };
    *value != Ordered::Null && from && to
}
