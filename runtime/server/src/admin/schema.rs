//! The handlers of the schema: compare the database with the code, and apply changes.

use serde_json::{Value, json};

use super::{Admin, AdminRequest, success};
use crate::archive::shape;
use convoke_calls::migration::{self, Migration};
use convoke_calls::registry::Registered;
use convoke_core::error::Result;
use convoke_http::Reply;
use convoke_store::schema::TableShape;

/// `GET schema`: returns `{state, difference?, migrations, tables, database}`. `migrations` lists the admin mutations
/// in modules `migrations`, with their progress. `tables` are those of the code, `database` those of the database. A
/// column there is `retired` or not; an index has the engine's `text`, and `asInCode` if the code has the same.
///
/// # Errors
/// A failure of the store.
pub async fn show(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    success(&shown(admin).await?)
}

/// `POST schema/apply`: applies the changes of the schema that are possible now, and opens the store if no difference
/// remains. Returns the result of `GET schema`.
///
/// # Errors
/// A failure of the store.
pub async fn apply(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    admin.runtime.apply_schema().await?;
    success(&shown(admin).await?)
}

async fn shown(admin: &Admin) -> Result<Value> {
    let begun = admin.runtime.database().read_admin(migration::begun).await?;
    let migrations: Vec<Value> = admin
        .runtime
        .registry()
        .all()
        .filter(|function| function.is_migration())
        .map(|function| progress(function, begun.iter().map(|row| &**row).find(|row| row.name == *function.path)))
        .collect();
    let difference = admin.runtime.store().difference();
    let state = if difference.is_some() { "closed" } else { "open" };
    let in_code = admin.runtime.store().tables().to_vec();
    let tables = shape::Schema::of(&in_code).tables;
    let schemas = admin.read(move |source| source.schemas(&in_code)).await?;
    let database: Vec<Value> =
        schemas.stored.tables.iter().map(|(name, table)| stored(name, table, schemas.code.tables.get(name))).collect();
    Ok(json!({
        "state": state,
        "difference": difference,
        "migrations": migrations,
        "tables": tables,
        "database": database,
    }))
}

/// Describes a table of the database, similar to [`shape::Table`].
fn stored(name: &str, table: &TableShape, in_code: Option<&TableShape>) -> Value {
    let columns = table.fields.iter().map(|(name, field)| {
        let (holds, references) = match field.holds.split_once(" of ") {
            Some((holds, prefix)) => (holds, Some(prefix)),
            None => (&*field.holds, None),
        };
        json!({
            "name": name,
            "type": holds.to_lowercase(),
            "references": references,
            "nullable": field.nullable,
            "retired": field.retired,
        })
    });
    let is_same =
        |name: &str, text: &str| in_code.is_some_and(|table| table.indexes.get(name).map(|own| &**own) == Some(text));
    let indexes =
        table.indexes.iter().map(|(name, text)| json!({ "name": name, "text": text, "asInCode": is_same(name, text) }));
    json!({
        "name": name,
        "prefix": table.prefix,
        "columns": columns.collect::<Vec<_>>(),
        "indexes": indexes.collect::<Vec<_>>(),
    })
}

fn progress(function: &Registered, begun: Option<&Migration>) -> Value {
    let state = match begun {
        None => "not begun",
        Some(Migration { finished_at: None, .. }) => "begun",
        Some(_) => "finished",
    };
    json!({
        "name": &*function.path,
        "doc": function.summary(),
        "state": state,
        "done": begun.map_or(0, |row| row.done),
        "total": begun.map(|row| row.total),
        "batches": begun.map_or(0, |row| row.batches),
        "startedAt": begun.map(|row| row.started_at),
        "updatedAt": begun.map(|row| row.updated_at),
        "finishedAt": begun.and_then(|row| row.finished_at),
    })
}
