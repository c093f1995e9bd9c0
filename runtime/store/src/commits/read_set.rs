//! The reads of a transaction: rows by id, also absent ones, and ranges of indexes.
//!
//! A commit that changes none of them cannot change the result ([`ReadSet::is_touched_by`]). A range ends at the last
//! visited row if a limit or the visitor ended it, and otherwise at its own bound. Reads that no commit announces, such
//! as the size of a table, are recorded as such.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::change_set::{ChangeSet, Commit, RowChange};
use crate::error::StoreError;
use crate::query::Plan;
use crate::query::index_key::{self, Edge, Range};
use crate::reader::{Reader, Visit};
use crate::schema::Schemas;
use crate::schema::table::TableDef;

type Result<T> = std::result::Result<T, StoreError>;

/// The reads of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// Reads by the name of the table.
    pub tables: FxHashMap<&'static str, TableReads>,
    /// True if a read depends on something that no commit announces.
    pub is_unannounced: bool,
}

/// The reads of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableReads {
    /// True if anything in the table may have been read.
    pub whole: bool,
    /// Rows by id.
    pub ids: FxHashSet<u128>,
    /// Disjoint ranges in order, by the position of the index in the table; none = by id.
    pub ranges: FxHashMap<Option<usize>, Vec<Range>>,
}

impl ReadSet {
    /// Returns the reads of a whole table.
    pub fn of_table(table: &'static str) -> Self {
        let reads = TableReads { whole: true, ..TableReads::default() };
        Self { tables: FxHashMap::from_iter([(table, reads)]), is_unannounced: false }
    }

    /// Returns true if these changes may have changed the result.
    pub fn is_touched_by(&self, changes: &ChangeSet) -> bool {
        changes.everything && !self.tables.is_empty()
            || changes.tables.iter().any(|table| self.tables.contains_key(table))
            || changes.rows.iter().any(|row| self.tables.get(row.table).is_some_and(|reads| reads.has(row)))
    }

    /// Returns the number of rows by id and ranges.
    pub fn len(&self) -> usize {
        self.tables.values().map(TableReads::len).sum()
    }

    /// Returns true if nothing was read.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Sorts the ranges and merges overlapping ones.
    fn settle(&mut self) {
        for ranges in self.tables.values_mut().flat_map(|reads| reads.ranges.values_mut()) {
            ranges.sort_unstable_by(|one, other| one.start.cmp(&other.start));
            let mut apart: Vec<Range> = Vec::with_capacity(ranges.len());
            for range in ranges.drain(..) {
                match apart.last_mut() {
                    Some(last) if range.start <= last.end => last.end = last.end.clone().max(range.end),
                    _ => apart.push(range),
                }
            }
            *ranges = apart;
        }
    }
}

impl TableReads {
    fn len(&self) -> usize {
        usize::from(self.whole) + self.ids.len() + self.ranges.values().map(Vec::len).sum::<usize>()
    }

    fn has(&self, row: &RowChange) -> bool {
        self.whole
            || self.ids.contains(&row.id)
            || self.ranges.get(&None).is_some_and(|ranges| within(ranges, &index_key::of_id(row.id)))
            || row
                .places
                .iter()
                .any(|(index, place)| self.ranges.get(&Some(*index)).is_some_and(|ranges| within(ranges, place)))
    }
}

fn within(ranges: &[Range], place: &[u8]) -> bool {
    let behind = ranges.partition_point(|range| match &range.start {
        Edge::At(start) => &**start <= place,
        Edge::End => false,
    });
    behind > 0 && ranges[behind - 1].has(place)
}

/// A reader that records the reads through it.
pub struct RecordingReader {
    reader: Rc<dyn Reader>,
    reads: RefCell<ReadSet>,
    noted: Cell<usize>,
    noted_max: usize,
}

impl RecordingReader {
    /// Records reads of `reader`: at most this number of rows and ranges, and beyond it whole tables.
    pub fn new(reader: Rc<dyn Reader>, noted_max: usize) -> Self {
        Self { reader, reads: RefCell::default(), noted: Cell::new(0), noted_max }
    }

    /// Returns the reads since the last call.
    pub fn take(&self) -> ReadSet {
        self.noted.set(0);
        let mut reads = self.reads.take();
        reads.settle();
        reads
    }

    /// Returns the number of rows visited completely so far. It does not count as a read.
    pub fn rows_observed(&self) -> u64 {
        self.reader.rows_visited()
    }

    fn note(&self, table: &'static TableDef, many: usize, note: impl FnOnce(&mut TableReads)) {
        let mut reads = self.reads.borrow_mut();
        self.noted.set(self.noted.get() + many);
        if self.noted.get() > self.noted_max {
            // Duplicates count once.
            reads.settle();
            self.noted.set(reads.len() + many);
        }
        if self.noted.get() > self.noted_max {
            for reads in reads.tables.values_mut().filter(|reads| !reads.whole) {
                *reads = TableReads { whole: true, ..TableReads::default() };
            }
            self.noted.set(0);
            reads.tables.entry(table.name).or_default().whole = true;
            return;
        }
        let reads = reads.tables.entry(table.name).or_default();
        if !reads.whole {
            note(reads);
        }
    }

    fn note_ranges(&self, plan: &Plan, ranges: Vec<Range>) {
        let index = plan.index.and_then(|index| plan.table.indexes.iter().position(|own| own.name == index.name));
        self.note(plan.table, ranges.len(), |reads| {
            match plan.index.is_some() && index.is_none() {
                // No index of this table.
                true => reads.whole = true,
                false => reads.ranges.entry(index).or_default().extend(ranges),
            }
        });
    }

    fn note_unannounced(&self) {
        self.reads.borrow_mut().is_unannounced = true;
    }
}

impl Reader for RecordingReader {
    fn get(&self, table: &'static TableDef, id: u128, visit: &mut Visit<'_>) -> Result<bool> {
        self.note(table, 1, |reads| {
            reads.ids.insert(id);
        });
        self.reader.get(table, id, visit)
    }

    fn select(&self, plan: &Plan, visit: &mut Visit<'_>) -> Result<()> {
        if plan.limit == Some(0) {
            return self.reader.select(plan, visit);
        }
        let (mut visited, mut last) = (0, None);
        let selected = self.reader.select(plan, &mut |row| {
            visited += 1;
            let flow = visit(row)?;
            if flow.is_break() || plan.limit == Some(visited) {
                last = index_key::of_visited(plan, row)?;
            }
            Ok(flow)
        });
        let looked_at = last.map(|place| match plan.reverse {
            false => Range { start: Range::whole().start, end: index_key::after(&place) },
            true => Range { start: Edge::At(place.into()), end: Edge::End },
        });
        let cut = |range: Range| looked_at.iter().fold(range, Range::within);
        let ranges = index_key::of_plan(plan).into_iter().map(cut).filter(|range| !range.is_empty()).collect();
        self.note_ranges(plan, ranges);
        selected
    }

    fn get_many(&self, table: &'static TableDef, ids: &[u128], visit: &mut Visit<'_>) -> Result<()> {
        self.note(table, ids.len(), |reads| reads.ids.extend(ids));
        self.reader.get_many(table, ids, visit)
    }

    fn count(&self, plan: &Plan) -> Result<u64> {
        self.note_ranges(plan, index_key::of_plan(plan));
        self.reader.count(plan)
    }

    fn bytes(&self, table: &'static TableDef) -> Result<u64> {
        self.note_unannounced();
        self.reader.bytes(table)
    }

    fn schemas(&self, tables: &[&'static TableDef]) -> Result<Schemas> {
        self.note_unannounced();
        self.reader.schemas(tables)
    }

    fn statements(&self) -> u64 {
        self.note_unannounced();
        self.reader.statements()
    }

    fn rows_visited(&self) -> u64 {
        self.note_unannounced();
        self.reader.rows_visited()
    }

    fn keys_visited(&self) -> u64 {
        self.note_unannounced();
        self.reader.keys_visited()
    }

    fn pin(&self) -> Result<Commit> {
        self.reader.pin()
    }
}
