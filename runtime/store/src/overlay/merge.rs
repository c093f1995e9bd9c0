//! The merge of pending rows into the rows of the base.

use std::cell::Cell;
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::vec::IntoIter;

use crate::error::StoreError;
use crate::query::{Plan, index_key};
use crate::reader::Visit;
use crate::row::{MemoryRow, Row};
use crate::schema::table::IndexDef;
use crate::value::ValueRef;

type Result<T> = std::result::Result<T, StoreError>;

/// The pending rows of a plan, merged into rows of the base.
pub(super) struct Merge<'a, 'v> {
    plan: &'a Plan,
    rows: Peekable<IntoIter<(Vec<u8>, MemoryRow)>>,
    /// Rows until the limit.
    left: Option<u64>,
    visited: &'a Cell<u64>,
    visit: &'a mut Visit<'v>,
}

impl<'a, 'v> Merge<'a, 'v> {
    /// Merges these rows, which are in the order of the plan. Each visited row adds one to `visited`.
    pub(super) fn new(
        plan: &'a Plan,
        rows: Vec<(Vec<u8>, MemoryRow)>,
        visited: &'a Cell<u64>,
        visit: &'a mut Visit<'v>,
    ) -> Self {
        Self { plan, rows: rows.into_iter().peekable(), left: plan.limit, visited, visit }
    }

    /// Returns true if pending rows alone are the result: the plan has all keys of a unique index, and a pending row
    /// has them.
    pub(super) fn is_complete(&mut self) -> bool {
        self.plan.unique_index().is_some() && self.rows.peek().is_some()
    }

    /// Visits the pending rows before a row of the base, and then this row.
    pub(super) fn visit_behind_pending(&mut self, row: &dyn Row) -> Result<ControlFlow<()>> {
        if self.rows.peek().is_some() {
            let Some(place) = index_key::of_visited(self.plan, row)? else {
                return Err(StoreError::Engine(format!("a row of {} does not fit its index", self.plan.table.name)));
            };
            let reverse = self.plan.reverse;
            while let Some((_, row)) =
                self.rows.next_if(|(pending, _)| if reverse { *pending > place } else { *pending < place })
            {
                if self.visit_pending(&row)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        self.visit_one(row)
    }

    /// Visits the remaining pending rows.
    pub(super) fn rest(mut self) -> Result<()> {
        while let Some((_, row)) = self.rows.next() {
            if self.visit_pending(&row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn visit_pending(&mut self, row: &MemoryRow) -> Result<ControlFlow<()>> {
        match self.plan.index.filter(|_| self.plan.keys_only) {
            Some(index) => self.visit_one(&KeysOf { row, index }),
            None => self.visit_one(row),
        }
    }

    fn visit_one(&mut self, row: &dyn Row) -> Result<ControlFlow<()>> {
        if self.left == Some(0) {
            return Ok(ControlFlow::Break(()));
        }
        self.left = self.left.map(|left| left - 1);
        self.visited.set(self.visited.get() + 1);
        let flow = (self.visit)(row)?;
        Ok(if self.left == Some(0) { ControlFlow::Break(()) } else { flow })
    }
}

/// A row of which only the id and the keys of an index are read.
struct KeysOf<'a> {
    row: &'a MemoryRow,
    index: &'a IndexDef,
}

impl Row for KeysOf<'_> {
    fn id(&self) -> Result<u128> {
        self.row.id()
    }

    fn creation_time(&self) -> Result<i64> {
        self.row.creation_time()
    }

    fn value(&self, place: usize) -> Result<ValueRef<'_>> {
        let is_key = self.index.keys.iter().any(|key| key.field == place);
        if is_key { self.row.value(place) } else { Ok(ValueRef::Null) }
    }
}
