//! The rows of tables as they are stored, for the operator to look at: a page at a time, each in a snapshot of its own.

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
use convoke_store::changes::row_bytes;
use convoke_store::offline::{count, everything};
use convoke_store::table::write_id;
use convoke_store::{Cursor, FieldDef, IndexDef, Meaning, Plan, Reader, Row, StoreError, TableDef, Value};

/// Rows of a page by default.
const ROWS: usize = 50;
/// Rows of a page at most.
const ROWS_MAX: usize = 1_000;
/// Bytes of a page after which no row is added.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Rows that a page with a condition looks at; then it ends, with what it found so far.
const LOOKED_AT_MAX: usize = 20_000;

/// Rows that one part of a count looks at.
const COUNT_PART: u64 = 50_000;

/// Rows that are counted where an estimate would do.
const COUNTED_MAX: u64 = 20_000;
/// Bytes of a database whose tables are measured where an estimate would do: each page is read for it.
const MEASURED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Rows from each end of a large table by which its bytes are estimated.
const WEIGHED: u64 = 100;

/// `GET tables?estimate=`: name, prefix, rows and bytes of each. A table that takes too long to count or to measure has
/// null. With `estimate=true` large tables are not walked: their rows are about as many (`"estimated": true`), and in a
/// large database their bytes are those of some of their rows times so many (`"weighed": true`).
///
/// # Errors
/// A failure of the store.
pub async fn list(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let estimate = request.query_as("estimate")?.unwrap_or(false);
    let is_measured = admin.runtime.store().files().bytes() <= MEASURED_BYTES_MAX;
    let mut tables = Vec::new();
    for table in admin.runtime.store().tables().iter().copied() {
        // One that only the code has is added when the schema fits.
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
            Some(rows) => Some(admin.read(move |source| weigh(source, table, rows)).await?),
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

/// About how many rows there are; none if they are few enough to be counted.
fn estimated(source: &dyn Reader, table: &'static TableDef) -> std::result::Result<Option<u64>, StoreError> {
    match source.estimated_rows(table)? {
        Some(rows) => Ok((rows > COUNTED_MAX).then_some(rows)),
        None => {
            let counted = source.count(&Plan { limit: Some(COUNTED_MAX + 1), ..everything(table) })?;
            Ok((counted > COUNTED_MAX).then_some(counted))
        }
    }
}

/// About how many bytes so many rows take with their index entries: as many as the first ones and the last ones.
fn weigh(source: &dyn Reader, table: &'static TableDef, rows: u64) -> std::result::Result<u64, StoreError> {
    let (mut weighed, mut bytes) = (0, 0);
    for reverse in [false, true] {
        let plan = Plan { limit: Some(WEIGHED), reverse, ..everything(table) };
        source.select(&plan, &mut |row| {
            let values = (0..table.fields.len()).map(|place| row.value(place).map(|value| value.to_value()));
            bytes += row_bytes(table, &values.collect::<std::result::Result<Vec<_>, _>>()?);
            weighed += 1;
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(rows.saturating_mul(bytes) / weighed.max(1))
}

/// `GET tables/{name}`: rows by id, or in the order of `index`, at most `limit` behind `cursor`, the last ones first with
/// `order=desc`; with `back=true` those in front of `cursor`, without one the last page, in the same order; with `id` that
/// one. `where` may be given several times: `field=value`, or with `!=`, `<`, `<=`, `>`, `>=` or `~` (contains) in place of
/// `=`; all conditions hold for a row that is returned. An index answers those on its first keys. The runtime's own tables
/// need `system=true`. The answer also has the columns and indexes of the table, `cursor` for the page behind and `before`
/// for the one in front (none where there is none), and the number of rows that were read for it.
///
/// # Errors
/// `NOT_FOUND`: no such table. `INVALID_ARGUMENT`: a cursor, index, id or condition that does not fit the table.
pub async fn rows(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let table = stored(admin, &request).await?;
    let conditions = Conditions::read(table, &request.query_all("where"))?;
    let index = request.query("index").map(|name| index(table, &name)).transpose()?;
    let index = index.or_else(|| conditions.index(table));
    let mut plan = Plan::new(table, index);
    let back = request.query_as("back")?.unwrap_or(false);
    let descending = request.query_as::<Direction>("order")?.is_some_and(|order| order == Direction::Descending);
    // Backward, the rows are found in the opposite order.
    plan.reverse = descending != back;
    conditions.narrow(&mut plan);
    plan.after = after(&plan, &request)?;
    let limit = request.query_as::<usize>("limit")?.unwrap_or(ROWS).clamp(1, ROWS_MAX);
    let wanted = Wanted { plan, back, limit, id: bits(table, "id", request.query("id"))?, conditions };
    let page = admin.read(move |source| wanted.page(source)).await?;
    let columns = shown(table).map(ShownColumn::of).collect();
    let indexes = table.indexes.iter().map(|index| shape::Index::of(table, index)).collect();
    let Page { rows, cursor, before, looked_at } = page;
    success(&Rows { table: table.name, system: is_system(table), columns, indexes, rows, cursor, before, looked_at })
}

/// The table that a request names, with the fields that the database has.
async fn stored(admin: &Admin, request: &AdminRequest) -> Result<&'static TableDef> {
    let table = find(admin, request.part(), request.query_as("system")?.unwrap_or(false))?;
    let absent = || Error::not_found(format!("The database has no table {} yet: its schema does not fit", table.name));
    as_kept::table(admin, table).await?.ok_or_else(absent)
}

/// The place behind which a page or a part of a count begins.
fn after(plan: &Plan, request: &AdminRequest) -> Result<Option<(Vec<Value>, u128)>> {
    match plan.index {
        None => Ok(bits(plan.table, "cursor", request.query("cursor"))?.map(|id| (Vec::new(), id))),
        Some(_) => Ok(request.cursor()?.map(|cursor| cursor.place_in(plan)).transpose()?),
    }
}

/// `GET tables/{name}/count?where=&cursor=&system=`: `{"count", "lookedAt", "cursor"}` of at most 50,000 rows behind
/// `cursor`, in a snapshot of its own. With a `cursor` in the answer, the count goes on behind it.
///
/// # Errors
/// `NOT_FOUND`: no such table. `INVALID_ARGUMENT`: a cursor or condition that does not fit the table.
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

/// A column with what its values mean.
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
            Meaning::Plain | Meaning::Time => &[],
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
            "{name} is one of the runtime's own tables; ask for those with system=true (--system)"
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

struct Wanted {
    plan: Plan,
    back: bool,
    limit: usize,
    id: Option<u128>,
    conditions: Conditions,
}

/// The answer; a row's members stay in the order of its columns.
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

impl Wanted {
    fn page(&self, source: &dyn Reader) -> std::result::Result<Page, StoreError> {
        let table = self.plan.table;
        let opposite = Plan { reverse: !self.plan.reverse, after: None, ..self.plan.clone() };
        let (mut rows, mut bytes, mut looked_at, mut first, mut last, mut more) = (Vec::new(), 0, 0, None, None, false);
        let mut visit = |stored: &dyn Row| {
            if rows.len() >= self.limit || bytes >= BYTES_MAX || looked_at >= LOOKED_AT_MAX {
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
        // A page that began behind another one has that one in front of it.
        let (further, former) = (last.filter(|_| more), first.filter(|_| self.plan.after.is_some()));
        let (cursor, before) = if self.back { (former, further) } else { (further, former) };
        if self.back {
            rows.reverse();
        }
        Ok(Page { rows, cursor, before, looked_at: source.rows_visited() })
    }
}

/// The cursor of what follows a row in a plan: its id, or its place in the index.
fn behind(plan: &Plan, stored: &dyn Row) -> std::result::Result<String, StoreError> {
    if plan.index.is_none() {
        let mut text = Vec::new();
        write_id(plan.table.prefix, stored.id()?, &mut text);
        return Ok(String::from_utf8_lossy(&text).trim_matches('"').to_owned());
    }
    match serde_json::to_value(Cursor::behind(plan, stored)?) {
        Ok(serde_json::Value::String(text)) => Ok(text),
        Ok(_) | Err(_) => Err(StoreError::BadCursor),
    }
}

/// What there was no time for is unknown, and no failure.
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
