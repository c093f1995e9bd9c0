//! Pending rows: those that a batch has written and the database does not have yet, with the journal that undoes them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use rustc_hash::FxHashMap;

use super::writes::{RowWrite, Write};
use crate::commits::{ChangeSet, Commits, RowChange};
use crate::error::StoreError;
use crate::fields::Fields;
use crate::packed_row::PackedRow;
use crate::query::Plan;
use crate::query::index_key::{self, Edge, Range};
use crate::row::MemoryRow;
use crate::schema::table::{IndexDef, TableDef};

/// Approximate overhead of a pending row and of a step of the journal, in bytes.
const ROW_BYTES: usize = 192;
const STEP_BYTES: usize = 128;

/// A written row.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingRow {
    /// The row in the database.
    pub base: Option<PackedRow>,
    /// The row now; none if it is deleted.
    pub now: Option<PackedRow>,
    /// The fields that differ from the row in the database.
    pub fields: Fields,
    /// True if the row in the database is deleted and this one is inserted with its id.
    pub is_replaced: bool,
}

impl PendingRow {
    /// Creates the state of a row of the database before its first write.
    pub(super) fn unchanged(base: PackedRow) -> Self {
        Self { now: Some(base.clone()), base: Some(base), ..Self::default() }
    }

    fn bytes(&self) -> usize {
        ROW_BYTES + [&self.base, &self.now].into_iter().flatten().map(PackedRow::bytes).sum::<usize>()
    }

    /// Returns true if the database has the row as it is now.
    fn is_stored(&self) -> bool {
        self.base == self.now
    }
}

/// Pending rows that a plan matches.
#[derive(Default)]
pub(super) struct Matches {
    /// The rows with their positions, in the order of the plan.
    pub rows: Vec<(Vec<u8>, MemoryRow)>,
    /// Number of rows of the table that are in the database and pending: a read of the database must skip them.
    pub hidden: u64,
}

/// The pending rows of a batch.
#[derive(Default)]
pub(super) struct Pending {
    tables: FxHashMap<&'static str, TableRows>,
    journal: Vec<Step>,
    /// Memory of the rows and the journal.
    bytes: usize,
}

struct TableRows {
    table: &'static TableDef,
    rows: BTreeMap<u128, PendingRow>,
    /// Number of rows that are also in the database.
    hidden: u64,
    /// The order in each index that was read, by the position of the index in the table.
    indexes: Vec<Option<Order>>,
}

/// The ids of rows by their positions in an index.
#[derive(Default)]
struct Order {
    /// By the positions now.
    now: BTreeMap<Vec<u8>, u128>,
    /// Rows that have another position in the database, or are deleted, by that position.
    left: BTreeMap<Vec<u8>, u128>,
}

/// A write that can be undone.
struct Step {
    table: &'static str,
    id: u128,
    former: Option<PendingRow>,
}

impl Pending {
    pub(super) fn get(&self, table: &TableDef, id: u128) -> Option<&PendingRow> {
        self.tables.get(table.name)?.rows.get(&id)
    }

    /// Returns true if no row of the table is pending.
    pub(super) fn is_untouched(&self, table: &TableDef) -> bool {
        self.tables.get(table.name).is_none_or(|rows| rows.rows.is_empty())
    }

    /// Returns the memory of the rows and the journal, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn put(&mut self, table: &'static TableDef, id: u128, row: PendingRow) {
        self.bytes += row.bytes() + STEP_BYTES;
        let rows = self.tables.entry(table.name).or_insert_with(|| TableRows::new(table));
        let former = rows.replace(id, Some(row));
        self.journal.push(Step { table: table.name, id, former });
    }

    /// Returns the current position in the journal.
    pub(super) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Undoes all writes after a position in the journal.
    pub(super) fn undo_to(&mut self, mark: usize) {
        while self.journal.len() > mark
            && let Some(Step { table, id, former }) = self.journal.pop()
        {
            let undone = self.tables.get_mut(table).and_then(|rows| rows.replace(id, former));
            self.bytes -= STEP_BYTES + undone.map_or(0, |row| row.bytes());
        }
    }

    /// Keeps all writes so far.
    pub(super) fn keep(&mut self) {
        for step in self.journal.drain(..) {
            self.bytes -= STEP_BYTES + step.former.map_or(0, |row| row.bytes());
        }
    }

    /// Removes all rows.
    pub(super) fn clear(&mut self) {
        self.tables.clear();
        self.journal.clear();
        self.bytes = 0;
    }

    /// Returns true if another row has these keys of a unique index, in the form of [`index_key::of_unique_row`].
    pub(super) fn has_other(&mut self, table: &TableDef, index: usize, keys: &[u8], id: u128) -> bool {
        self.tables.get_mut(table.name).is_some_and(|rows| rows.has_other(index, keys, id))
    }

    /// Returns true if the row of the database with these keys of a unique index is pending.
    pub(super) fn has_left(&mut self, table: &TableDef, index: usize, keys: &[u8]) -> bool {
        self.tables.get_mut(table.name).is_some_and(|rows| rows.has_left(index, keys))
    }

    /// Returns the rows of a plan.
    ///
    /// # Errors
    /// [`StoreError::Engine`]: the table does not have the index.
    pub(super) fn matches(&mut self, plan: &Plan) -> Result<Matches, StoreError> {
        let Some(rows) = self.tables.get_mut(plan.table.name) else { return Ok(Matches::default()) };
        Ok(Matches { rows: rows.matches(plan)?, hidden: rows.hidden })
    }

    /// Returns the number of rows of a plan now, and the number of rows that the database has in their place.
    pub(super) fn counts(&mut self, plan: &Plan) -> Result<(u64, u64), StoreError> {
        let Some(rows) = self.tables.get_mut(plan.table.name) else { return Ok((0, 0)) };
        let now = rows.matches(&Plan { limit: None, ..plan.clone() })?.len() as u64;
        let ranges = index_key::of_plan(plan);
        let stored: usize = match rows.number_of(plan)? {
            None => {
                let stored = rows.rows.iter().filter(|(_, row)| row.base.is_some());
                stored.filter(|(id, _)| ranges.iter().any(|range| range.has(&index_key::of_id(**id)))).count()
            }
            Some(number) => {
                let mut ids = BTreeSet::new();
                for range in &ranges {
                    ids.extend(rows.stored(number, bounds(range)));
                }
                ids.len()
            }
        };
        Ok((now, stored as u64))
    }

    /// Returns the writes that bring the database to this state, in the order in which no unique index rejects them:
    /// deletes, vacated rows, and then all others by table and id.
    pub(super) fn writes(&mut self) -> Vec<RowWrite> {
        let mut tables: Vec<_> = self.tables.values_mut().collect();
        tables.sort_unstable_by_key(|rows| rows.table.name);
        let [mut first, mut vacated, mut rest] = [const { Vec::new() }; 3];
        for rows in tables {
            let table = rows.table;
            let moved = rows.moved();
            for (id, row) in rows.rows.iter().filter(|(_, row)| !row.is_stored()) {
                let write =
                    |write| RowWrite { table, id: *id, number: row.base.as_ref().and_then(PackedRow::number), write };
                match (&row.base, &row.now) {
                    (Some(_), None) => first.push(write(Write::Delete)),
                    (Some(_), Some(now)) if row.is_replaced => {
                        first.push(write(Write::Delete));
                        rest.push(RowWrite::insert(table, *id, now.clone()));
                    }
                    (Some(_), Some(now)) => {
                        let keys = if moved.contains(id) { unique_keys(table) } else { Fields::default() };
                        if !keys.is_empty() {
                            vacated.push(write(Write::Vacate(keys)));
                        }
                        rest.push(write(Write::Update(now.clone(), row.fields.and(keys))));
                    }
                    (None, Some(now)) => rest.push(RowWrite::insert(table, *id, now.clone())),
                    (None, None) => {}
                }
            }
        }
        first.append(&mut vacated);
        first.append(&mut rest);
        first
    }

    /// Returns the changes of the database by these rows: rows with their positions for watched tables, and names for
    /// all others.
    pub(super) fn changes(&self, commits: &Commits) -> ChangeSet {
        let mut changes = ChangeSet::default();
        for rows in self.tables.values() {
            let is_watched = commits.is_watched(rows.table.name);
            for (id, row) in rows.rows.iter().filter(|(_, row)| !row.is_stored()) {
                if !is_watched {
                    changes.add_table(rows.table.name);
                    break;
                }
                changes.add_row(row.change(rows.table, *id));
            }
        }
        changes
    }
}

impl PendingRow {
    /// Returns the position in an index now, and the position in the database if it differs.
    fn places(&self, table: &TableDef, index: &'static IndexDef, id: u128) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let of = |row: &Option<PackedRow>| place(table, index, row.as_ref()?, id);
        let now = of(&self.now);
        let left = if self.may_have_left(table, index) {
            of(&self.base).filter(|base| Some(base) != now.as_ref())
        } else {
            None
        };
        (now, left)
    }

    /// Returns true if the position in an index may differ from that in the database.
    fn may_have_left(&self, table: &TableDef, index: &'static IndexDef) -> bool {
        let is_updated = self.base.is_some() && self.now.is_some() && !self.is_replaced;
        !is_updated || deciding_fields(table, index).any(|field| self.fields.has(field))
    }

    fn change(&self, table: &'static TableDef, id: u128) -> RowChange {
        let mut places = Vec::with_capacity(table.indexes.len());
        for (number, index) in table.indexes.iter().enumerate() {
            let of = |row: &Option<PackedRow>| row.as_ref().and_then(|row| place(table, index, row, id));
            let (before, after) = (of(&self.base), of(&self.now));
            if before != after {
                places.extend(before.map(|place| (number, place.into())));
            }
            places.extend(after.map(|place| (number, place.into())));
        }
        RowChange { table: table.name, id, places }
    }
}

impl TableRows {
    fn new(table: &'static TableDef) -> Self {
        Self { table, rows: BTreeMap::new(), hidden: 0, indexes: table.indexes.iter().map(|_| None).collect() }
    }

    /// Sets or removes a row, and returns the former one.
    fn replace(&mut self, id: u128, row: Option<PendingRow>) -> Option<PendingRow> {
        let former = self.rows.get(&id);
        for (order, index) in self.indexes.iter_mut().zip(self.table.indexes) {
            let Some(order) = order else { continue };
            let is_unmoved = |row: Option<&PendingRow>| row.is_some_and(|row| !row.may_have_left(self.table, index));
            if is_unmoved(former) && is_unmoved(row.as_ref()) {
                continue;
            }
            let places =
                |row: Option<&PendingRow>| row.map(|row| row.places(self.table, index, id)).unwrap_or_default();
            let ((former, former_left), (now, left)) = (places(former), places(row.as_ref()));
            replace(&mut order.now, id, former, now);
            replace(&mut order.left, id, former_left, left);
        }
        self.hidden += u64::from(row.as_ref().is_some_and(|row| row.base.is_some()));
        let former = match row {
            Some(row) => self.rows.insert(id, row),
            None => self.rows.remove(&id),
        };
        self.hidden -= u64::from(former.as_ref().is_some_and(|row| row.base.is_some()));
        former
    }

    /// Returns the order in an index. The first call for an index orders the rows by it; writes keep the order from then
    /// on.
    fn by(&mut self, index: usize) -> &Order {
        let Self { table, rows, indexes, .. } = self;
        indexes[index].get_or_insert_with(|| {
            let mut order = Order::default();
            for (id, row) in &*rows {
                let (now, left) = row.places(table, &table.indexes[index], *id);
                replace(&mut order.now, *id, None, now);
                replace(&mut order.left, *id, None, left);
            }
            order
        })
    }

    fn has_other(&mut self, index: usize, keys: &[u8], id: u128) -> bool {
        under(&self.by(index).now, keys).any(|(_, other)| *other != id)
    }

    fn has_left(&mut self, index: usize, keys: &[u8]) -> bool {
        let under = Range::under(keys);
        self.stored(index, bounds(&under)).next().is_some()
    }

    /// Returns the rows that have their positions in the database between these bounds of an index.
    fn stored(&mut self, index: usize, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> impl Iterator<Item = u128> {
        self.by(index);
        let Self { table, rows, indexes, .. } = &*self;
        let definition = &table.indexes[index];
        let is_stored_here = move |place: &[u8], id: u128| {
            let base = rows.get(&id).and_then(|row| row.base.as_ref());
            base.and_then(|base| self::place(table, definition, base, id)).as_deref() == Some(place)
        };
        let order = indexes[index].iter();
        order.flat_map(move |Order { now, left }| {
            let left = left.range::<[u8], _>(bounds).map(|(_, id)| *id);
            let now = now.range::<[u8], _>(bounds).filter(move |(place, id)| is_stored_here(place, **id));
            left.chain(now.map(|(_, id)| *id))
        })
    }

    /// Returns the position of the index of a plan in the table.
    fn number_of(&self, plan: &Plan) -> Result<Option<usize>, StoreError> {
        let Some(index) = plan.index else { return Ok(None) };
        let number = self.table.indexes.iter().position(|own| own.name == index.name);
        number.map(Some).ok_or_else(|| StoreError::Engine(format!("there is no index {}", index.name)))
    }

    fn matches(&mut self, plan: &Plan) -> Result<Vec<(Vec<u8>, MemoryRow)>, StoreError> {
        if let Some(index) = plan.unique_index()
            && let Some(number) = self.number_of(plan)?
            && let Some(keys) = index_key::of_fixed(plan, index)
        {
            let found = under(&self.by(number).now, &keys).next().map(|(place, id)| (place.clone(), *id));
            return Ok(found.and_then(|found| self.with_row(found)).into_iter().collect());
        }
        let limit = plan.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let ranges = index_key::of_plan(plan);
        let Some(number) = self.number_of(plan)? else {
            let all = self.rows.iter().filter_map(|(id, row)| {
                let place = index_key::of_id(*id);
                let row = row.now.clone().filter(|_| ranges.iter().any(|range| range.has(&place)))?;
                Some((place.to_vec(), MemoryRow { id: *id, columns: row }))
            });
            return Ok(if plan.reverse { all.rev().take(limit).collect() } else { all.take(limit).collect() });
        };
        let mut places: Vec<(Vec<u8>, u128)> = Vec::new();
        for range in &ranges {
            let found = self.by(number).now.range::<[u8], _>(bounds(range)).map(|(place, id)| (place.clone(), *id));
            // The first rows of each range include the first rows of all ranges.
            if plan.reverse { places.extend(found.rev().take(limit)) } else { places.extend(found.take(limit)) }
        }
        // A value may be listed twice.
        places.sort_unstable();
        places.dedup();
        if plan.reverse {
            places.reverse();
        }
        places.truncate(limit);
        Ok(places.into_iter().filter_map(|found| self.with_row(found)).collect())
    }

    fn with_row(&self, (place, id): (Vec<u8>, u128)) -> Option<(Vec<u8>, MemoryRow)> {
        Some((place, MemoryRow { id, columns: self.rows.get(&id)?.now.clone()? }))
    }

    /// Returns the changed rows of the database whose former unique keys another row has now.
    fn moved(&mut self) -> BTreeSet<u128> {
        let table = self.table;
        let mut moved = BTreeSet::new();
        for (number, index) in table.indexes.iter().enumerate().filter(|(_, index)| index.unique) {
            let keys = |row: &PackedRow| index_key::of_unique_row(table, index, |field| row.value(field));
            let left = |(id, row): (&u128, &PendingRow)| {
                let (base, now) = (row.base.as_ref()?, row.now.as_ref().filter(|_| !row.is_replaced)?);
                let is_touched = deciding_fields(table, index).any(|field| row.fields.has(field));
                let former = if is_touched { keys(base) } else { None }?;
                (Some(&former) != keys(now).as_ref()).then_some((*id, former))
            };
            let left: Vec<_> = self.rows.iter().filter_map(left).collect();
            moved.extend(left.into_iter().filter(|(id, former)| self.has_other(number, former, *id)).map(|(id, _)| id));
        }
        moved
    }
}

/// Moves an id in an order.
fn replace(order: &mut BTreeMap<Vec<u8>, u128>, id: u128, former: Option<Vec<u8>>, place: Option<Vec<u8>>) {
    if former != place {
        former.map(|former| order.remove(&former));
        place.map(|place| order.insert(place, id));
    }
}

/// Returns the position of a row in an index.
fn place(table: &TableDef, index: &IndexDef, row: &PackedRow, id: u128) -> Option<Vec<u8>> {
    index_key::of_row(table, index, |field| row.value(field), id)
}

/// Returns the fields that decide if and where a row is in an index.
pub(super) fn deciding_fields(table: &TableDef, index: &'static IndexDef) -> impl Iterator<Item = usize> {
    let condition = index.when.and_then(|when| table.field(when.field()));
    index.keys.iter().map(|key| key.field).chain(condition)
}

fn unique_keys(table: &TableDef) -> Fields {
    table.indexes.iter().filter(|index| index.unique).flat_map(|index| index.keys).map(|key| key.field).collect()
}

/// Returns the ids of the rows whose positions begin with these keys.
fn under<'a>(order: &'a BTreeMap<Vec<u8>, u128>, keys: &'a [u8]) -> impl Iterator<Item = (&'a Vec<u8>, &'a u128)> {
    let from = order.range::<[u8], _>((Bound::Included(keys), Bound::Unbounded));
    from.take_while(move |(place, _)| place.starts_with(keys))
}

fn bounds(range: &Range) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let end = match &range.end {
        Edge::At(end) => Bound::Excluded(&**end),
        Edge::End => Bound::Unbounded,
    };
    match &range.start {
        Edge::At(start) => (Bound::Included(&**start), end),
        // An empty range.
        Edge::End => (Bound::Included(&[]), Bound::Excluded(&[])),
    }
}

#[cfg(all(test, feature = "conformance"))]
mod tests {
    use super::*;
    use crate::conformance::support::Account;
    use crate::schema::table::Table as _;
    use crate::value::{Value, ValueRef};

    const TABLE: &TableDef = Account::DEF;
    const BY_OWNER: usize = 0;

    /// Owner and balance.
    type Columns = (&'static str, i64);

    fn packed((owner, balance): Columns) -> PackedRow {
        let values = [ValueRef::Text(owner), ValueRef::Integer(balance)];
        let row = PackedRow::pack((1, None), 2, usize::MAX, |place| Ok(values[place]));
        row.ok().flatten().expect("a row of any size fits")
    }

    /// Sets a row that is `base` in the database.
    fn put(pending: &mut Pending, id: u128, base: Option<Columns>, now: Option<Columns>) {
        let (base, now) = (base.map(packed), now.map(packed));
        let is_changed = |place: &usize| match (&base, &now) {
            (Some(base), Some(now)) => base.value(*place) != now.value(*place),
            _ => false,
        };
        let fields = (0..2).filter(is_changed).collect();
        pending.put(TABLE, id, PendingRow { base, now, fields, is_replaced: false });
    }

    fn has_other(pending: &mut Pending, owner: &'static str) -> bool {
        let row = packed((owner, 0));
        let keys = index_key::of_unique_row(TABLE, &TABLE.indexes[BY_OWNER], |field| row.value(field));
        let keys = keys.expect("an owner is a key");
        pending.has_other(TABLE, BY_OWNER, &keys, u128::MAX)
    }

    fn writes(pending: &mut Pending) -> Vec<(u128, Write)> {
        pending.writes().into_iter().map(|write| (write.id, write.write)).collect()
    }

    #[test]
    fn undo_restores_rows_orders_and_memory() {
        let mut pending = Pending::default();
        put(&mut pending, 1, None, Some(("a", 1)));
        pending.keep();
        assert!(has_other(&mut pending, "a") && !has_other(&mut pending, "b"));
        let (bytes, before) = (pending.bytes(), writes(&mut pending));
        let mark = pending.mark();
        for _ in 0..2 {
            put(&mut pending, 1, None, Some(("b", 2)));
            put(&mut pending, 2, Some(("c", 3)), None);
            put(&mut pending, 1, None, None);
            put(&mut pending, 3, None, Some(("d", 4)));
            assert!(!has_other(&mut pending, "a") && has_other(&mut pending, "d"));
            pending.undo_to(mark);
            assert!(has_other(&mut pending, "a") && !has_other(&mut pending, "b") && !has_other(&mut pending, "d"));
            assert_eq!((pending.bytes(), writes(&mut pending)), (bytes, before.clone()));
            assert_eq!(pending.matches(&Plan::new(TABLE, None)).unwrap().hidden, 0);
        }
        pending.undo_to(0);
        assert_eq!(writes(&mut pending), before, "kept rows are not undone");
    }

    #[test]
    fn writes_are_deletes_and_then_changed_rows_by_id() {
        let mut pending = Pending::default();
        put(&mut pending, 3, None, Some(("c", 3)));
        put(&mut pending, 9, Some(("d", 4)), None);
        put(&mut pending, 1, Some(("a", 1)), Some(("a", 2)));
        put(&mut pending, 2, Some(("b", 2)), Some(("b", 2)));
        put(&mut pending, 4, None, None);
        let balance = [1].into_iter().collect();
        let expected =
            [(9, Write::Delete), (1, Write::Update(packed(("a", 2)), balance)), (3, Write::Insert(packed(("c", 3))))];
        assert_eq!(writes(&mut pending), expected);
    }

    #[test]
    fn rows_that_exchange_unique_keys_are_vacated_first() {
        let mut pending = Pending::default();
        put(&mut pending, 1, Some(("a", 1)), Some(("b", 1)));
        put(&mut pending, 2, Some(("b", 2)), Some(("a", 2)));
        // No row takes over the former keys of this row.
        put(&mut pending, 3, Some(("c", 3)), Some(("d", 3)));
        let unique: Fields = [0, 1].into_iter().collect();
        let expected = [
            (1, Write::Vacate(unique)),
            (2, Write::Vacate(unique)),
            (1, Write::Update(packed(("b", 1)), unique)),
            (2, Write::Update(packed(("a", 2)), unique)),
            (3, Write::Update(packed(("d", 3)), [0].into_iter().collect())),
        ];
        assert_eq!(writes(&mut pending), expected);
    }

    #[test]
    fn counts_are_those_of_the_range_now_and_in_the_database() {
        let mut pending = Pending::default();
        put(&mut pending, 1, Some(("a", 10)), Some(("a", 90)));
        put(&mut pending, 2, Some(("b", 20)), None);
        put(&mut pending, 3, Some(("c", 80)), Some(("c", 30)));
        put(&mut pending, 4, None, Some(("d", 40)));
        let by_balance = TABLE.indexes.iter().find(|index| index.name == "by_balance");
        let range = |start, end| Some((Bound::Included(Value::Integer(start)), Bound::Excluded(Value::Integer(end))));
        let plan = |start, end| Plan { range: range(start, end), ..Plan::new(TABLE, by_balance) };
        assert_eq!(pending.counts(&plan(0, 50)).unwrap(), (2, 2));
        assert_eq!(pending.counts(&plan(50, 100)).unwrap(), (1, 1));
        assert_eq!(pending.counts(&plan(20, 80)).unwrap(), (2, 1));
        assert_eq!(pending.counts(&Plan::new(TABLE, None)).unwrap(), (3, 3));
    }
}
