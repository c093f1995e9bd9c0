//! The handlers that list tables and page through their rows. Each page is read in a snapshot of its own.

use std::ops::ControlFlow;
use std::str::FromStr;

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::conditions::Conditions;
use super::{Admin, AdminRequest, as_kept, success};
use crate::archive::{is_system, row, shape, shown};
use convoke_core::error::{Error, Result};
use convoke_core::id;
use convoke_http::Reply;
use convoke_store::offline::{count, everything};
use convoke_store::overlay::row_bytes;
use convoke_store::table::write_id;
use convoke_store::{Cursor, FieldDef, IndexDef, Meaning, Plan, Reader, Row, StoreError, TableDef, Value};

/// Default number of rows per page.
const ROWS: usize = 50;
/// Largest number of rows per page.
const ROWS_MAX: usize = 1_000;
/// Bytes after which a page ends.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Largest number of rows that are read for a page. Then the page ends with the matches so far.
const ROWS_READ_MAX: usize = 20_000;

/// Largest number of rows that a part of a count reads.
const COUNT_PART: u64 = 50_000;

/// Largest number of rows that are counted instead of estimated.
const COUNTED_MAX: u64 = 20_000;
/// Largest database whose tables are measured instead of estimated. A measurement reads every page.
const MEASURED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Number of rows from each end of a large table that the estimate of its bytes reads.
const SAMPLED_ROWS: u64 = 100;

/// `GET tables?estimate=`: lists the tables with name, prefix, rows and bytes. If a count or measurement takes too
/// long, the value is null. With `estimate=true`, the rows of large tables are estimated (`"estimated": true`). In a
/// large database, their bytes are extrapolated from a sample of rows (`"weighed": true`).
///
/// # Errors
/// A failure of the store.
pub async fn list(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let estimate = request.query_as("estimate")?.unwrap_or(false);
    let is_measured = admin.runtime.store().files().bytes() <= MEASURED_BYTES_MAX;
    let mut tables = Vec::new();
    for table in admin.runtime.store().tables().iter().copied() {
        // A table that only the code has is created when the schema is applied.
        let Some(table) = as_kept::table(admin, table).await? else { continue };
        let estimated = match estimate {
            true => admin.read(move |source| estimated(source, table)).await?,
            false => None,
        };
        let rows = match estimated {
            Some(rows) => Some(rows),
            None => within_time(admin.read(move |source| count(source, table)).await)?,
        };
        let weighed = estimated.filter(|_| !is_measured);
        let bytes = match weighed {
            Some(rows) => Some(admin.read(move |source| estimated_bytes(source, table, rows)).await?),
            None => within_time(admin.read(move |source| source.bytes(table)).await)?,
        };
        tables.push(json!({
            "name": table.name,
            "prefix": table.prefix,
            "system": is_system(table),
            "rows": rows,
            "estimated": estimated.is_some(),
            "bytes": bytes,
            "weighed": weighed.is_some(),
        }));
    }
    success(&json!({ "tables": tables }))
}

/// Estimates the number of rows; `None` if there are few enough to count.
fn estimated(source: &dyn Reader, table: &'static TableDef) -> std::result::Result<Option<u64>, StoreError> {
    match source.estimated_rows(table)? {
        Some(rows) => Ok((rows > COUNTED_MAX).then_some(rows)),
        None => {
            let counted = source.count(&Plan { limit: Some(COUNTED_MAX + 1), ..everything(table) })?;
            Ok((counted > COUNTED_MAX).then_some(counted))
        }
    }
}

/// Estimates the bytes of `rows` rows and their index entries from the first and the last rows.
fn estimated_bytes(source: &dyn Reader, table: &'static TableDef, rows: u64) -> std::result::Result<u64, StoreError> {
    let (mut weighed, mut bytes) = (0, 0);
    for reverse in [false, true] {
        let plan = Plan { limit: Some(SAMPLED_ROWS), reverse, ..everything(table) };
        source.select(&plan, &mut |row| {
            let values = (0..table.fields.len()).map(|place| row.value(place).map(|value| value.to_value()));
            bytes += row_bytes(table, &values.collect::<std::result::Result<Vec<_>, _>>()?);
            weighed += 1;
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(rows.saturating_mul(bytes) / weighed.max(1))
}

/// `GET tables/{name}`: returns a page of rows. The query parameters:
///
/// - `index`: orders the rows by an index instead of by id; `order=desc` reverses the order.
/// - `cursor` and `limit`: return at most `limit` rows after `cursor`.
/// - `back=true`: returns the rows before `cursor`, or the last page without a cursor, in the same order.
/// - `id`: returns only this row.
/// - `where`: a condition `field=value`, also with `!=`, `<`, `<=`, `>`, `>=` or `~` (contains). May be repeated; all
///   conditions must hold. An index is used for conditions on its first keys.
/// - `system=true`: allows the runtime's own tables.
///
/// The response also has the columns and indexes of the table, `cursor` for the next page, `before` for the previous
/// page (both null if there is none), and the number of rows that were read.
///
/// # Errors
/// `NOT_FOUND`: no such table. `INVALID_ARGUMENT`: an invalid cursor, index, id or condition.
pub async fn rows(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let table = stored(admin, &request).await?;
    let conditions = Conditions::read(table, &request.query_all("where"))?;
    let index = request.query("index").map(|name| index(table, &name)).transpose()?;
    let index = index.or_else(|| conditions.index(table));
    let mut plan = Plan::new(table, index);
    let back = request.query_as("back")?.unwrap_or(false);
    let descending = request.query_as::<Direction>("order")?.is_some_and(|order| order == Direction::Descending);
    // Backward pages are read in the opposite order.
    plan.reverse = descending != back;
    conditions.narrow(&mut plan);
    plan.after = after(&plan, &request)?;
    let limit = request.query_as::<usize>("limit")?.unwrap_or(ROWS).clamp(1, ROWS_MAX);
    let wanted = PageRequest { plan, back, limit, id: bits(table, "id", request.query("id"))?, conditions };
    let page = admin.read(move |source| wanted.page(source)).await?;
    let columns = shown(table).map(ShownColumn::of).collect();
    let indexes = table.indexes.iter().map(|index| shape::Index::of(table, index)).collect();
    let Page { rows, cursor, before, looked_at } = page;
    success(&Rows { table: table.name, system: is_system(table), columns, indexes, rows, cursor, before, looked_at })
}

/// Returns the table that a request names, with the fields of the database.
async fn stored(admin: &Admin, request: &AdminRequest) -> Result<&'static TableDef> {
    let table = find(admin, request.part(), request.query_as("system")?.unwrap_or(false))?;
    let absent =
        || Error::not_found(format!("The database has no table {} yet: the schema has not been applied", table.name));
    as_kept::table(admin, table).await?.ok_or_else(absent)
}

/// Returns the position after which a page or a part of a count begins.
fn after(plan: &Plan, request: &AdminRequest) -> Result<Option<(Vec<Value>, u128)>> {
    match plan.index {
        None => Ok(bits(plan.table, "cursor", request.query("cursor"))?.map(|id| (Vec::new(), id))),
        Some(_) => Ok(request.cursor()?.map(|cursor| cursor.place_in(plan)).transpose()?),
    }
}

/// `GET tables/{name}/count?where=&cursor=&system=`: counts among at most 50,000 rows after `cursor`, in a snapshot of
/// its own. Returns `{"count", "lookedAt", "cursor"}`. If `cursor` is not null, the next request continues after it.
///
/// # Errors
/// `NOT_FOUND`: no such table. `INVALID_ARGUMENT`: an invalid cursor or condition.
pub async fn count_part(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let table = stored(admin, &request).await?;
    let conditions = Conditions::read(table, &request.query_all("where"))?;
    let mut plan = Plan::new(table, conditions.index(table));
    conditions.narrow(&mut plan);
    plan.after = after(&plan, &request)?;
    plan.keys_only = conditions.is_empty();
    let (count, looked_at, cursor) = admin
        .read(move |source| {
            let (mut count, mut looked_at, mut last, mut is_over) = (0_u64, 0_u64, None, true);
            source.select(&plan, &mut |stored| {
                if looked_at >= COUNT_PART {
                    is_over = false;
                    return Ok(ControlFlow::Break(()));
                }
                looked_at += 1;
                if looked_at == COUNT_PART {
                    last = Some(behind(&plan, stored)?);
                }
                count += u64::from(conditions.hold(table, stored)?);
                Ok(ControlFlow::Continue(()))
            })?;
            Ok((count, looked_at, last.filter(|_| !is_over)))
        })
        .await?;
    success(&json!({ "count": count, "lookedAt": looked_at, "cursor": cursor }))
}

/// A column with the meaning of its values.
#[derive(Serialize)]
struct ShownColumn {
    #[serde(flatten)]
    column: shape::Column,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    choices: &'static [&'static str],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    time: bool,
}

impl ShownColumn {
    fn of(field: &FieldDef) -> Self {
        let choices = match field.meaning {
            Meaning::Choice(choices) => choices,
            Meaning::Plain | Meaning::Time | Meaning::File(_) => &[],
        };
        Self { column: shape::Column::of(field), choices, time: field.meaning == Meaning::Time }
    }
}

#[derive(PartialEq, Eq)]
enum Direction {
    Ascending,
    Descending,
}

impl FromStr for Direction {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        match text {
            "asc" => Ok(Direction::Ascending),
            "desc" => Ok(Direction::Descending),
            _ => Err("must be asc or desc"),
        }
    }
}

fn index(table: &'static TableDef, name: &str) -> Result<&'static IndexDef> {
    table.indexes.iter().find(|index| index.name == name).ok_or_else(|| {
        let names: Vec<_> = table.indexes.iter().map(|index| index.name).collect();
        let message = format!("index: {} has no index {name}; it has {}", table.name, names.join(", "));
        Error::invalid_argument("index", message)
    })
}

pub(super) fn find(admin: &Admin, name: &str, with_system: bool) -> Result<&'static TableDef> {
    let tables = admin.runtime.store().tables();
    match tables.iter().find(|table| table.name == name) {
        Some(table) if is_system(table) && !with_system => Err(Error::not_found(format!(
            "{name} is one of the runtime's own tables; add system=true (--system) to read it"
        ))),
        Some(table) => Ok(table),
        None => {
            let near = tables
                .iter()
                .filter(|table| !is_system(table))
                .min_by_key(|table| strsim::osa_distance(&table.name.to_lowercase(), &name.to_lowercase()));
            let near = near.map_or_else(String::new, |table| format!("; the nearest is {}", table.name));
            Err(Error::not_found(format!("There is no table {name}{near}")))
        }
    }
}

pub(super) fn bits(table: &TableDef, name: &str, text: Option<String>) -> Result<Option<u128>> {
    let read = |text: String| {
        let refused =
            || Error::invalid_argument(name, format!("{name}: must be an id of {} ({}_…)", table.name, table.prefix));
        id::parse(table.prefix, &text).ok_or_else(refused)
    };
    text.map(read).transpose()
}

/// Returns the id of a row as text.
pub(super) fn id_text(table: &TableDef, id: u128) -> String {
    let mut text = Vec::new();
    write_id(table.prefix, id, &mut text);
    String::from_utf8_lossy(&text).trim_matches('"').to_owned()
}

struct PageRequest {
    plan: Plan,
    back: bool,
    limit: usize,
    id: Option<u128>,
    conditions: Conditions,
}

/// The response. The members of a row have the order of its columns.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rows {
    table: &'static str,
    system: bool,
    columns: Vec<ShownColumn>,
    indexes: Vec<shape::Index>,
    rows: Vec<Box<RawValue>>,
    cursor: Option<String>,
    before: Option<String>,
    looked_at: u64,
}

struct Page {
    rows: Vec<Box<RawValue>>,
    cursor: Option<String>,
    before: Option<String>,
    looked_at: u64,
}

impl PageRequest {
    fn page(&self, source: &dyn Reader) -> std::result::Result<Page, StoreError> {
        let table = self.plan.table;
        let opposite = Plan { reverse: !self.plan.reverse, after: None, ..self.plan.clone() };
        let (mut rows, mut bytes, mut looked_at, mut first, mut last, mut more) = (Vec::new(), 0, 0, None, None, false);
        let mut visit = |stored: &dyn Row| {
            if rows.len() >= self.limit || bytes >= BYTES_MAX || looked_at >= ROWS_READ_MAX {
                more = true;
                return Ok(ControlFlow::Break(()));
            }
            looked_at += 1;
            if first.is_none() {
                first = Some(behind(&opposite, stored)?);
            }
            last = Some(behind(&self.plan, stored)?);
            if !self.conditions.hold(table, stored)? {
                return Ok(ControlFlow::Continue(()));
            }
            let mut text = Vec::new();
            row::write(table, stored, &mut text)?;
            bytes += text.len();
            let text = String::from_utf8(text).map_err(|error| StoreError::Engine(error.to_string()))?;
            rows.push(RawValue::from_string(text).map_err(|error| StoreError::Engine(error.to_string()))?);
            Ok(ControlFlow::Continue(()))
        };
        match self.id {
            Some(id) => {
                source.get(table, id, &mut visit)?;
            }
            None => source.select(&self.plan, &mut visit)?,
        }
        // A page with a cursor has a previous page.
        let (further, former) = (last.filter(|_| more), first.filter(|_| self.plan.after.is_some()));
        let (cursor, before) = if self.back { (former, further) } else { (further, former) };
        if self.back {
            rows.reverse();
        }
        Ok(Page { rows, cursor, before, looked_at: source.rows_visited() })
    }
}

/// Returns the cursor after a row in a plan: the row's id, or its position in the index.
fn behind(plan: &Plan, stored: &dyn Row) -> std::result::Result<String, StoreError> {
    if plan.index.is_none() {
        return Ok(id_text(plan.table, stored.id()?));
    }
    match serde_json::to_value(Cursor::behind(plan, stored)?) {
        Ok(serde_json::Value::String(text)) => Ok(text),
        Ok(_) | Err(_) => Err(StoreError::BadCursor),
    }
}

/// Maps a timeout to `None`: the value is unknown, but the request succeeds.
fn within_time<R>(read: Result<R>) -> Result<Option<R>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(error.code(), convoke_core::error::Code::Timeout | convoke_core::error::Code::Unavailable) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
