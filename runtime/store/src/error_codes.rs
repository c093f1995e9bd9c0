//! The error code and message for clients of each error of the store.

use crate::error::StoreError;
use crate::schema::table::SubmittedTable;
use convoke_core::error::{Code, Error, IntoError};

impl IntoError for StoreError {
    fn into_error(self) -> Error {
        let error = self;
        match &error {
            StoreError::UniqueViolation { table, index } => unique_conflict(table, index).caused_by(error),
            StoreError::Deadline { limit_ms } => Error::timeout(format!("The call ran longer than {limit_ms} ms")),
            StoreError::Interrupted => Error::unavailable("The read was interrupted; try again"),
            StoreError::Disk(_) => {
                Error::unavailable("The server's disk does not answer now; try again").caused_by(error)
            }
            StoreError::NoRoom(_) => Error::not_ready("The store has no room now; try again later").caused_by(error),
            StoreError::Contended(_) => {
                Error::overloaded("Too many calls change the same rows; try again in a second").caused_by(error)
            }
            StoreError::Unreachable(_) => {
                Error::unavailable("The database does not answer now; try again").caused_by(error)
            }
            StoreError::NotWritable(reason) => {
                Error::unavailable(format!("The database accepts no writes now: {reason}")).caused_by(error)
            }
            StoreError::QueueFull(_) => {
                Error::overloaded("Too many calls are waiting; try again in a second").caused_by(error)
            }
            StoreError::ShareFull(_) => {
                let message = "Too many of your calls are waiting while others wait too; send fewer at once";
                Error::overloaded(message).caused_by(error)
            }
            StoreError::BadCursor => {
                Error::invalid_argument("cursor", "cursor: must be one that a page of this list returned")
            }
            // Clients recognize the first word and start again at the first page.
            StoreError::InvalidCursor(field) => Error::invalid_argument(
                *field,
                format!("InvalidCursor: {field} must be one that a page of this list returned"),
            ),
            StoreError::Unstorable { field, reason, .. } => {
                Error::invalid_argument(*field, format!("{field}: {reason}"))
            }
            StoreError::NoFile { field, .. } => {
                Error::failed_precondition(format!("{field}: the file does not exist any more; upload it again"))
            }
            StoreError::UnfitFile { field, reason, .. } => {
                Error::invalid_argument(*field, format!("{field}: {reason}"))
            }
            StoreError::BackedUpBy(_) => Error::failed_precondition(error.to_string()),
            StoreError::CommitUnknown(_) => {
                Error::new(Code::CommitUnknown, "It is unknown whether the change was stored").caused_by(error)
            }
            StoreError::Closed(_) => {
                let message = "The server does not serve this call now; `GET /readyz` has the reason. If the schema \
                               differs from the code, `migrate --dry-run` shows the difference";
                Error::not_ready(message).caused_by(error)
            }
            StoreError::Missing { .. }
            | StoreError::TransactionLost(_)
            | StoreError::Corrupt { .. }
            | StoreError::TooLarge { .. }
            | StoreError::Panicked(_)
            | StoreError::Engine(_) => Error::internal(error),
        }
    }
}

/// `CONFLICT` with `table`, `index` and `fields` in `errorData`, so that a form can mark the field.
fn unique_conflict(table: &'static str, index: &'static str) -> Error {
    let fields = index_fields(table, index);
    let names = fields.join(", ");
    Error::conflict(format!("A row of {table} with the same {names} already exists (unique index {index})"))
        .with("table", table)
        .with("index", index)
        .with("fields", fields)
}

/// Returns the fields of an index by its name; the name itself for an index of the engine (`_id`).
fn index_fields(table: &str, index: &'static str) -> Vec<&'static str> {
    let table = inventory::iter::<SubmittedTable>().map(|table| table.0).find(|def| def.name == table);
    let found = table.and_then(|def| Some((def, def.indexes.iter().find(|def| def.name == index)?)));
    match found {
        Some((table, index)) => index.keys.iter().map(|key| table.fields[key.field].name).collect(),
        None => vec![index],
    }
}
