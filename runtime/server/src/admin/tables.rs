//! The rows of tables as they are stored, for the operator to look at: a page at a time, each in a snapshot of its own.

use std::ops::ControlFlow;
use std::rc::Rc;

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::{Admin, AdminRequest, success};
use crate::archive::{is_hidden, is_system, row, shape};
use convoke_core::error::{Error, Result};
use convoke_core::id;
use convoke_http::Reply;
use convoke_store::offline::{count, everything};
use convoke_store::table::write_id;
use convoke_store::{Access, FieldDef, Flow, LatencyClass, Plan, Reader, Row, StoreError, TableDef, Value};

/// Rows of a page by default.
const ROWS: usize = 50;
/// Rows of a page at most.
const ROWS_MAX: usize = 1_000;
/// Bytes of a page after which no row is added.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Rows that a page with a condition looks at; then it ends, with what it found so far.
const LOOKED_AT_MAX: usize = 20_000;

/// `GET tables`: name, prefix, rows and bytes of each. A table that takes too long to count or to measure has null.
///
/// # Errors
/// A failure of the store.
pub async fn list(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let mut tables = Vec::new();
    for table in admin.runtime.store().tables().iter().copied() {
        let rows = within_time(read(admin, move |source| count(source, table)).await)?;
        let bytes = within_time(read(admin, move |source| source.bytes(table)).await)?;
        tables.push(json!({
            "name": table.name,
            "prefix": table.prefix,
            "system": is_system(table),
            "rows": rows,
            "bytes": bytes,
        }));
    }
    success(&json!({ "tables": tables }))
}

/// `GET tables/{name}`: rows by id, at most `limit` behind `cursor`; with `id` that one; with `where` (`field=value`)
/// those that have it. The runtime's own tables need `system=true`.
///
/// # Errors
/// `NOT_FOUND`: no such table. `INVALID_ARGUMENT`: a cursor, id or condition that does not fit the table.
pub async fn rows(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let table = find(admin, request.part(), request.query_as("system")?.unwrap_or(false))?;
    let wanted = Wanted {
        table,
        limit: request.query_as::<usize>("limit")?.unwrap_or(ROWS).clamp(1, ROWS_MAX),
        after: bits(table, "cursor", request.query("cursor"))?,
        id: bits(table, "id", request.query("id"))?,
        having: request.query("where").map(|text| Having::read(table, &text)).transpose()?,
    };
    let page = read(admin, move |source| wanted.page(source)).await?;
    let column = |field: &FieldDef| Column { name: field.name, r#type: shape::type_name(field.column) };
    let columns = shown(table).map(column).collect();
    success(&Rows { table: table.name, columns, rows: page.rows, cursor: page.cursor })
}

fn find(admin: &Admin, name: &str, with_system: bool) -> Result<&'static TableDef> {
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

fn bits(table: &TableDef, name: &str, text: Option<String>) -> Result<Option<u128>> {
    let read = |text: String| {
        let refused =
            || Error::invalid_argument(name, format!("{name}: must be an id of {} ({}_…)", table.name, table.prefix));
        id::parse(table.prefix, &text).ok_or_else(refused)
    };
    text.map(read).transpose()
}

fn shown(table: &'static TableDef) -> impl Iterator<Item = &'static FieldDef> {
    table.fields.iter().filter(|field| !field.retired && !is_hidden(table, field))
}

/// A field and the value it is to have.
struct Having {
    place: usize,
    value: Value,
}

impl Having {
    /// Reads `field=value`: the value as JSON or, where that does not fit, as a text.
    fn read(table: &'static TableDef, text: &str) -> Result<Self> {
        let refused = |what: String| Error::invalid_argument("where", format!("where: {what}"));
        let (name, value) = text.split_once('=').ok_or_else(|| refused("must be field=value".to_owned()))?;
        let field = shown(table).find(|field| field.name == name).ok_or_else(|| {
            let names: Vec<_> = shown(table).map(|field| field.name).collect();
            refused(format!("{} has no field {name}; it has {}", table.name, names.join(", ")))
        })?;
        let quoted = || serde_json::Value::from(value).to_string();
        let value = row::read_value(field, value).or_else(|_| row::read_value(field, &quoted()));
        let value = value.map_err(|reason| refused(format!("{name} {reason}")))?;
        Ok(Self { place: table.field(name).unwrap_or_default(), value })
    }
}

struct Wanted {
    table: &'static TableDef,
    limit: usize,
    after: Option<u128>,
    id: Option<u128>,
    having: Option<Having>,
}

/// The answer; a row's members stay in the order of its columns.
#[derive(Serialize)]
struct Rows {
    table: &'static str,
    columns: Vec<Column>,
    rows: Vec<Box<RawValue>>,
    cursor: Option<String>,
}

#[derive(Serialize)]
struct Column {
    name: &'static str,
    r#type: &'static str,
}

struct Page {
    rows: Vec<Box<RawValue>>,
    cursor: Option<String>,
}

impl Wanted {
    fn page(&self, source: &dyn Reader) -> std::result::Result<Page, StoreError> {
        let (mut rows, mut bytes, mut looked_at, mut last, mut more) = (Vec::new(), 0, 0, None, false);
        let mut visit = |stored: &dyn Row| {
            if rows.len() >= self.limit || bytes >= BYTES_MAX || looked_at >= LOOKED_AT_MAX {
                more = true;
                return Ok(ControlFlow::Break(()));
            }
            looked_at += 1;
            last = Some(stored.id()?);
            if let Some(having) = &self.having
                && stored.value(having.place)? != having.value.as_ref()
            {
                return Ok(ControlFlow::Continue(()));
            }
            let mut text = Vec::new();
            row::write(self.table, stored, &mut text)?;
            bytes += text.len();
            let text = String::from_utf8(text).map_err(|error| StoreError::Engine(error.to_string()))?;
            rows.push(RawValue::from_string(text).map_err(|error| StoreError::Engine(error.to_string()))?);
            Ok(ControlFlow::Continue(()))
        };
        match self.id {
            Some(id) => {
                source.get(self.table, id, &mut visit)?;
            }
            None => {
                let after = self.after.map(|id| (Vec::new(), id));
                source.select(&Plan { after, ..everything(self.table) }, &mut visit)?;
            }
        }
        let cursor = last.filter(|_| more).map(|last| {
            let mut text = Vec::new();
            write_id(self.table.prefix, last, &mut text);
            String::from_utf8_lossy(&text).trim_matches('"').to_owned()
        });
        Ok(Page { rows, cursor })
    }
}

/// Reads in one snapshot, also while the store is closed to others.
pub(super) async fn read<R: Send + 'static>(
    admin: &Admin,
    work: impl FnOnce(&dyn Reader) -> std::result::Result<R, StoreError> + Send + 'static,
) -> Result<R> {
    let store = admin.runtime.store();
    let work = move |source: Rc<dyn Reader>| work(&*source);
    Ok(store.read(Access::Admin, Flow::SYSTEM, &LatencyClass::unknown(), work).await??)
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
