//! Pages that a client shows beside each other, all of them live: each is a stretch of a list between two cursors, and
//! keeps its borders while rows come and go. So nothing falls between two pages, and nothing is in both.
//!
//! A page is asked for by how many rows it is to have. Where its first run ends is its border from then on: later runs of
//! the same live query are given it ([`PageEnds`](super::PageEnds)), and the next page begins there.

use std::ops::ControlFlow;

use convoke_macros::value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builder::Query;
use super::cursor::{Cursor, Stop};
use super::encoded::write_row;
use super::index_key;
use crate::error::StoreError;
use crate::schema::table::{Doc, Table};
use crate::value::Value;

/// Rows of a page whose borders are both known, at most: it asks to be split before.
const ROWS_MAX: usize = 10_000;

/// How many rows, or bytes, something has at most.
#[value(integer, min = 1, max = 4_294_967_295)]
pub struct AtMost(u32);

/// Which page of a list is asked for: the argument `paginationOpts` of a query that ends in [`Query::paginate`].
#[value(name = "PaginationOpts")]
pub struct PaginationOpts {
    /// How many rows the page has when it is read first.
    pub num_items: AtMost,
    /// Where it begins: the `continueCursor` of the page before; null for the first one.
    pub cursor: PageStart,
    /// Where it ends, which is then its last row whatever `numItems` says: a `continueCursor` or `splitCursor`.
    pub end_cursor: Option<Cursor>,
    /// What the client tells its lists apart by; it changes nothing.
    pub id: Option<f64>,
    /// Rows that are read at most.
    pub maximum_rows_read: Option<AtMost>,
    /// Bytes of JSON that the page has at most, about.
    pub maximum_bytes_read: Option<AtMost>,
}

/// A part of a list, and where the next part begins.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageOf{T}")]
pub struct Page<T> {
    /// The rows of this part.
    pub items: Vec<T>,
    /// What to send for the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Cursor")]
    pub cursor: Option<Cursor>,
}

impl<T> Page<T> {
    /// The same page of other items.
    pub fn map<U>(self, of: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(of).collect(), cursor: self.cursor }
    }
}

/// Where a page begins: behind a cursor, or, as null, at the beginning of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct PageStart(pub Option<Cursor>);

/// A page of a list, as [`Query::paginate`] reads it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PaginationResultOf{T}")]
pub struct PaginationResult<T> {
    /// The rows of this page.
    pub page: Vec<T>,
    /// Whether it is the last page.
    pub is_done: bool,
    /// Where the page ends, and the next one begins.
    pub continue_cursor: Cursor,
    /// A place in the middle of the page, which has become long: it is better asked for as two.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Cursor")]
    pub split_cursor: Option<Cursor>,
    /// What is to be done with the page, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PageStatus")]
    pub page_status: Option<PageStatus>,
}

/// What is to be done with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum PageStatus {
    /// It is too long to be read whole: what it has is its beginning, and it is to be asked for as two pages.
    SplitRequired,
}

impl<T> PaginationResult<T> {
    /// The same page of other items.
    pub fn map<U>(self, of: impl FnMut(T) -> U) -> PaginationResult<U> {
        let Self { page, is_done, continue_cursor, split_cursor, page_status } = self;
        PaginationResult {
            page: page.into_iter().map(of).collect(),
            is_done,
            continue_cursor,
            split_cursor,
            page_status,
        }
    }
}

/// A part of a list between two places.
struct Stretch<T: Table> {
    pub rows: Vec<Doc<T>>,
    /// Behind each row.
    pub cursors: Vec<Cursor>,
    /// Whether there is more between the places than may be read at once.
    pub is_cut: bool,
}

impl<T: Table, I, Rest> Query<'_, T, I, Rest> {
    /// At most `rows_max` rows behind `cursor`, and the cursor of the page after them. A page also ends when its rows
    /// are larger than the limit of a page, so that it always fits a response.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`] if the cursor is not of this query.
    pub fn page(mut self, cursor: Option<&Cursor>, rows_max: usize) -> Result<Page<Doc<T>>, StoreError> {
        let fingerprint = self.plan.fingerprint();
        if let Some(cursor) = cursor {
            self.plan.after = Some(cursor.place(&self.plan, fingerprint)?);
        }
        let bytes_max = self.db.limits.page_bytes_max;
        let Stretch { rows, mut cursors, is_cut } = self.stretch(None, fingerprint, rows_max, bytes_max)?;
        Ok(Page { items: rows, cursor: cursors.pop().filter(|_| is_cut) })
    }

    /// The page that `opts` asks for.
    ///
    /// # Errors
    /// [`StoreError::InvalidCursor`] if a cursor is none of this query's: the client begins again at the first page.
    pub fn paginate(mut self, opts: &PaginationOpts) -> Result<PaginationResult<Doc<T>>, StoreError> {
        let fingerprint = self.plan.fingerprint();
        let stop =
            |cursor: &Cursor, field| cursor.stop(&self.plan, fingerprint).map_err(|_| StoreError::InvalidCursor(field));
        let ends = self.db.page_ends.clone();
        let start = opts.cursor.0.as_ref().map(|cursor| stop(cursor, "paginationOpts.cursor")).transpose()?;
        let end = match (&opts.end_cursor, &ends) {
            (Some(cursor), _) => Some((cursor.clone(), stop(cursor, "paginationOpts.endCursor")?)),
            (None, Some(ends)) => match ends.next() {
                Some(cursor) => Some((cursor.clone(), stop(cursor, "journal")?)),
                None => None,
            },
            (None, None) => None,
        };
        let most = |given: Option<&AtMost>| given.map_or(usize::MAX, |most| most.0 as usize);
        let num_items = most(Some(&opts.num_items));
        let rows_max = end.as_ref().map_or(num_items, |_| ROWS_MAX).min(ROWS_MAX);
        let rows_max = rows_max.min(most(opts.maximum_rows_read.as_ref()));
        let bytes_max = self.db.limits.page_bytes_max.min(most(opts.maximum_bytes_read.as_ref()));

        let is_behind_all = matches!(start, Some(Stop::End));
        if let Some(Stop::At(values, id)) = start {
            self.plan.after = Some((values, id));
        }
        let stretch = match is_behind_all {
            true => Stretch { rows: Vec::new(), cursors: Vec::new(), is_cut: false },
            false => self.stretch(end.as_ref().map(|(_, stop)| stop), fingerprint, rows_max, bytes_max)?,
        };
        let Stretch { rows, cursors, is_cut } = stretch;
        let middle = |cursors: &[Cursor]| cursors.get((cursors.len() / 2).saturating_sub(1)).cloned();
        let mut result = PaginationResult {
            page: rows,
            is_done: false,
            continue_cursor: Cursor::end(fingerprint),
            split_cursor: None,
            page_status: None,
        };
        match end {
            Some((cursor, stop)) => {
                result.is_done = stop == Stop::End;
                result.continue_cursor = cursor;
                if is_cut {
                    result.page_status = Some(PageStatus::SplitRequired);
                }
                if is_cut || cursors.len() > num_items.saturating_mul(2) {
                    result.split_cursor = middle(&cursors);
                }
            }
            None => match cursors.last().filter(|_| is_cut) {
                Some(last) => result.continue_cursor = last.clone(),
                None => result.is_done = true,
            },
        }
        if let Some(ends) = ends.filter(|_| opts.end_cursor.is_none()) {
            ends.note(result.continue_cursor.clone());
        }
        Ok(result)
    }

    /// The rows of the plan up to `end`, that one included.
    fn stretch(
        &mut self,
        end: Option<&Stop>,
        fingerprint: u64,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<Stretch<T>, StoreError> {
        self.plan.limit = Some(rows_max as u64 + 1);
        let plan = &self.plan;
        let last = match end {
            // A value that does not fit the index is no place in it.
            Some(Stop::At(values, id)) => {
                // Where keys are unique their row may have become another one, which the next page leaves out as well.
                let is_unique = plan.index.is_some_and(|index| index.unique) && !values.contains(&Value::Null);
                let id = match (is_unique, plan.reverse) {
                    (true, false) => u128::MAX,
                    (true, true) => 0,
                    (false, _) => *id,
                };
                Some(index_key::of_place(plan, values, id).ok_or(StoreError::InvalidCursor("paginationOpts"))?)
            }
            Some(Stop::End) | None => None,
        };
        let is_behind = |place: &[u8], last: &[u8]| if plan.reverse { place < last } else { place > last };
        let (mut stretch, mut bytes) = (Stretch { rows: Vec::new(), cursors: Vec::new(), is_cut: false }, Vec::new());
        self.db.reader.select(plan, &mut |row| {
            if let Some(last) = &last
                && index_key::of_visited(plan, row)?.is_some_and(|place| is_behind(&place, last))
            {
                return Ok(ControlFlow::Break(()));
            }
            write_row(T::DEF, row, &mut bytes)?;
            if stretch.rows.len() == rows_max || (!stretch.rows.is_empty() && bytes.len() > bytes_max) {
                stretch.is_cut = true;
                return Ok(ControlFlow::Break(()));
            }
            stretch.cursors.push(Cursor::at(plan, fingerprint, row)?);
            stretch.rows.push(Doc::read(row)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(stretch)
    }
}
