//! The handlers that insert, change and delete rows. As in a function, values are validated, indexes are updated, and
//! live queries run again. The runtime's own tables are read-only.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::tables::{bits, find, id_text};
use super::{Admin, AdminRequest, success};
use crate::archive::{is_system, row, shown};
use convoke_core::error::{Error, Result};
use convoke_http::Reply;
use convoke_store::{Row, StoreError, TableDef, Value};

/// Largest number of rows that a request deletes.
const REMOVED_MAX: usize = 1_000;

/// The values of fields, as JSON.
type Fields = BTreeMap<String, Box<RawValue>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Insert {
    #[serde(default)]
    set: Fields,
}

/// `POST tables/{name}` with `{set: {field: value}}`: inserts a row. An omitted field has its default, or null.
///
/// # Errors
/// `INVALID_ARGUMENT`: a missing, unknown or invalid field; `CONFLICT`: a unique index has an equal row; a failure of
/// the store.
pub async fn insert(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let table = writable(admin, request.part())?;
    let Insert { set } = request.args()?;
    let set = read(table, &set)?;
    let values: Vec<Value> = table
        .fields
        .iter()
        .enumerate()
        .map(|(place, field)| match set.iter().find(|(own, _)| *own == place) {
            Some((_, value)) => Ok(value.clone()),
            None if field.nullable || field.retired => Ok(Value::Null),
            None => field.default.map(|default| default()).ok_or_else(|| {
                Error::invalid_argument(field.name, format!("{}: is missing, and the field is required", field.name))
            }),
        })
        .collect::<Result<_>>()?;
    let (database, now) = (admin.runtime.database(), admin.runtime.clock().now());
    let ids = database.ids().clone();
    let id = database
        .write_admin("add a row", move |db| {
            let id = ids.next(now);
            db.writer().insert(table, id, now.0, &values)?;
            Ok(id)
        })
        .await?;
    success(&json!({ "id": id_text(table, id) }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    set: Fields,
    /// The values that the caller saw, for optimistic concurrency control.
    #[serde(default)]
    was: Fields,
}

/// `PATCH tables/{name}/{id}` with `{set: {field: value}, was?: {field: value}}`: changes fields of a row if the fields
/// in `was` still have these values.
///
/// # Errors
/// `NOT_FOUND`; `INVALID_ARGUMENT`: an unknown or invalid field; `CONFLICT`: a unique index has an equal row, or a
/// field in `was` has changed; a failure of the store.
pub async fn change(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let table = writable(admin, request.part())?;
    let id = id(table, &request)?;
    let Change { set, was } = request.args()?;
    let (set, was) = (read(table, &set)?, read(table, &was)?);
    if set.is_empty() {
        return Err(Error::invalid_argument("set", "set: names no field"));
    }
    admin
        .runtime
        .database()
        .write_admin("change a row", move |db| {
            let mut before = Vec::new();
            let mut visit = |stored: &dyn Row| {
                before = (0..table.fields.len())
                    .map(|place| stored.value(place).map(|value| value.to_value()))
                    .collect::<std::result::Result<_, StoreError>>()?;
                Ok(ControlFlow::Break(()))
            };
            if !db.reader().get(table, id, &mut visit)? {
                return Err(gone(table, id));
            }
            if let Some((place, _)) = was.iter().find(|(place, value)| before[*place] != *value) {
                let field = table.fields[*place].name;
                let message = format!("Another request has changed {field}; reload the row");
                return Err(Error::conflict(message).with("field", field));
            }
            let changes: Vec<_> = set.iter().filter(|(place, value)| before[*place] != *value).cloned().collect();
            if !changes.is_empty() {
                db.writer().update(table, id, &before, &changes)?;
            }
            Ok(())
        })
        .await?;
    success(&json!({ "id": id_text(table, id) }))
}

/// `DELETE tables/{name}/{id}`: deletes a row. Rows that refer to it do not change.
///
/// # Errors
/// `NOT_FOUND`; a failure of the store.
pub async fn delete(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let table = writable(admin, request.part())?;
    let id = id(table, &request)?;
    let removed = admin.runtime.database().write_admin("remove a row", move |db| Ok(db.writer().delete(table, id)?));
    if removed.await? { success(&json!({ "id": id_text(table, id) })) } else { Err(gone(table, id)) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeleteMany {
    ids: Vec<String>,
}

/// `POST tables/{name}/delete` with `{ids: [id, …]}`: deletes at most 1,000 rows in one transaction. Returns the number
/// of deleted rows. Ids without a row are skipped.
///
/// # Errors
/// `INVALID_ARGUMENT`: an id of another table, or too many ids; a failure of the store.
pub async fn delete_many(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let table = writable(admin, request.part())?;
    let DeleteMany { ids } = request.args()?;
    if ids.len() > REMOVED_MAX {
        let message = format!("ids: must be at most {REMOVED_MAX} (got {})", ids.len());
        return Err(Error::invalid_argument("ids", message));
    }
    let ids: Vec<u128> =
        ids.into_iter().filter_map(|id| bits(table, "ids", Some(id)).transpose()).collect::<Result<_>>()?;
    let removed = admin.runtime.database().write_admin("remove rows", move |db| {
        ids.iter().try_fold(0_u64, |removed, id| Ok(removed + u64::from(db.writer().delete(table, *id)?)))
    });
    success(&json!({ "removed": removed.await? }))
}

fn writable(admin: &Admin, name: &str) -> Result<&'static TableDef> {
    let table = find(admin, name, true)?;
    if is_system(table) {
        let message = format!("{name} is one of the runtime's own tables, which only the runtime changes");
        return Err(Error::failed_precondition(message));
    }
    Ok(table)
}

fn id(table: &'static TableDef, request: &AdminRequest) -> Result<u128> {
    let id = bits(table, "id", Some(request.second_part().to_owned()))?;
    id.ok_or_else(|| Error::invalid_argument("id", "id: is missing"))
}

/// Validates the values. Returns each with the position of its field.
fn read(table: &'static TableDef, fields: &Fields) -> Result<Vec<(usize, Value)>> {
    let read = |name: &String, raw: &RawValue| {
        let field = shown(table).find(|field| field.name == name).ok_or_else(|| {
            let names: Vec<_> = shown(table).map(|field| field.name).collect();
            let message = format!("{name}: {} has no such field; it has {}", table.name, names.join(", "));
            Error::invalid_argument(name.as_str(), message)
        })?;
        let value = row::read_value(field, raw.get())
            .and_then(|value| if value == Value::Null { Ok(value) } else { (field.accept)(value.as_ref()) })
            .map_err(|reason| Error::invalid_argument(name.as_str(), format!("{name}: {reason}")))?;
        Ok((table.field(name).unwrap_or_default(), value))
    };
    fields.iter().map(|(name, raw)| read(name, raw)).collect()
}

fn gone(table: &TableDef, id: u128) -> Error {
    Error::not_found(format!("There is no row {} in {}", id_text(table, id), table.name))
}
