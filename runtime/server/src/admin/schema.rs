//! Whether the database fits the schema in code, what to do if not, and how far migrations are.

use serde_json::{Value, json};

use super::{Admin, AdminRequest, success};
use crate::archive::shape;
use convoke_calls::migration::{self, Migration};
use convoke_calls::registry::Registered;
use convoke_core::error::Result;
use convoke_http::Reply;

/// `GET schema`: `{state, difference?, migrations, tables}`; a migration is an admin mutation in a module `migrations`, with
/// how far it is; tables are those of the code, which the database has too unless there is a difference.
///
/// # Errors
/// A failure of the store.
pub async fn show(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    success(&shown(admin).await?)
}

/// `POST schema/apply`: has the database follow the schema where it can now, and opens the store if nothing is left;
/// then as `GET schema`.
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
    let tables = shape::Schema::of(admin.runtime.store().tables()).tables;
    Ok(json!({ "state": state, "difference": difference, "migrations": migrations, "tables": tables }))
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
