//! Live pages that a client shows one after the other. Each page is a part of a list between two cursors. The cursors
//! stay fixed while rows are inserted and deleted, so no row is missing or shown twice.
//!
//! The client requests a page by its number of rows. The end of the first run becomes the fixed end of the page: later
//! runs of the same live query receive it ([`PageEnds`](super::PageEnds)), and the next page begins there.

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

/// Most rows of a page with two fixed ends. Before that, the client is asked to split it.
const ROWS_MAX: usize = 10_000;

/// An upper limit of a number of rows or bytes.
#[value(integer, min = 1, max = 4_294_967_295)]
pub struct AtMost(u32);

/// A request for a page: the argument `paginationOpts` of a query that ends in [`Query::paginate`].
#[value(name = "PaginationOpts")]
pub struct PaginationOpts {
    /// Number of rows of the page in its first run.
    pub num_items: AtMost,
    /// Start of the page: the `continueCursor` of the previous page; null for the first page.
    pub cursor: PageStart,
    /// End of the page, inclusive: a `continueCursor` or `splitCursor`. Takes precedence over `numItems`.
    pub end_cursor: Option<Cursor>,
    /// Identifies the list for the client; the server ignores it.
    pub id: Option<f64>,
    /// Most rows to read.
    pub maximum_rows_read: Option<AtMost>,
    /// Approximate maximum of the page in bytes of JSON.
    pub maximum_bytes_read: Option<AtMost>,
}

/// A part of a list, with the start of the next part.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageOf{T}")]
pub struct Page<T> {
    /// The rows of this part.
    pub items: Vec<T>,
    /// Cursor of the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Cursor")]
    pub cursor: Option<Cursor>,
}

impl<T> Page<T> {
    /// Converts the items.
    pub fn map<U>(self, of: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(of).collect(), cursor: self.cursor }
    }
}

/// Start of a page: a cursor, or null for the beginning of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct PageStart(pub Option<Cursor>);

/// A page of a list, from [`Query::paginate`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PaginationResultOf{T}")]
pub struct PaginationResult<T> {
    /// The rows of this page.
    pub page: Vec<T>,
    /// True for the last page.
    pub is_done: bool,
    /// End of this page and start of the next page.
    pub continue_cursor: Cursor,
    /// A position in the middle of a page that has become long. The client should request two pages instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Cursor")]
    pub split_cursor: Option<Cursor>,
    /// Request to the client to split the page, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PageStatus")]
    pub page_status: Option<PageStatus>,
}

/// Request to the client to split a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum PageStatus {
    /// The page is too long: it contains only the first rows. The client must request two pages instead.
    SplitRequired,
}

impl<T> PaginationResult<T> {
    /// Converts the items.
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

/// A part of a list between two positions.
struct Stretch<T: Table> {
    pub rows: Vec<Doc<T>>,
    /// The position behind each row.
    pub cursors: Vec<Cursor>,
    /// True if there are more rows between the positions than one read may return.
    pub is_cut: bool,
}

impl<T: Table, I, Rest> Query<'_, T, I, Rest> {
    /// Returns at most `rows_max` rows behind `cursor`, and the cursor of the next page. A page also ends when it
    /// reaches the size limit of a page, so that it always fits into a response.
    ///
    /// # Errors
    /// [`StoreError::BadCursor`]: the cursor belongs to another query. [`StoreError::Engine`]: `rows_max` is 0.
    pub fn page(mut self, cursor: Option<&Cursor>, rows_max: usize) -> Result<Page<Doc<T>>, StoreError> {
        if rows_max == 0 {
            // A page without rows and without a cursor would look like the end of the list.
            return Err(StoreError::Engine(
                "a page needs room for a row: `page(cursor, 0)` cannot continue".to_owned(),
            ));
        }
        let fingerprint = self.plan.fingerprint();
        if let Some(cursor) = cursor {
            self.plan.after = Some(cursor.place(&self.plan, fingerprint)?);
        }
        let bytes_max = self.db.limits.page_bytes_max;
        let Stretch { rows, mut cursors, is_cut } = self.stretch(None, fingerprint, rows_max, bytes_max)?;
        Ok(Page { items: rows, cursor: cursors.pop().filter(|_| is_cut) })
    }

    /// Returns the page that `opts` requests.
    ///
    /// # Errors
    /// [`StoreError::InvalidCursor`]: a cursor belongs to another query. The client starts again at the first page.
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

    /// Returns the rows of the plan up to `end`, inclusive.
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
            // A value that does not fit the index has no position in it.
            Some(Stop::At(values, id)) => {
                // With unique keys, another row may have taken the position. The next page skips it too.
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
