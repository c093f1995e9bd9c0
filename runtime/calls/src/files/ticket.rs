//! Upload tickets: the right to upload one content, and afterwards the claim to put it into a row.

use std::sync::Arc;
use std::time::Duration;

use convoke_macros::{table, value};

use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_core::identity::{Caller, Identity};
use convoke_store::{Db, DbMut, Doc, File, FileRule, StoredFile, TableDef, file_fields};

/// Life of a ticket: an upload must begin in this time.
pub(crate) const TICKET_LIFE: Duration = Duration::from_secs(60 * 60);

/// The right to upload one content. The row is deleted when a row takes the content.
#[table(name = "_fileUploads", prefix = "fileupload")]
#[index(by_expiry(expires_at))]
pub struct UploadTicket {
    /// The caller who may take the content.
    pub caller: String,
    /// Issuer and subject of the caller, if it is a user. The bytes count toward the limits of this identity.
    pub issuer: Option<String>,
    /// See `issuer`.
    pub subject: Option<String>,
    /// The table and the field for which the content is meant; none for a content that an action writes.
    pub table: Option<String>,
    /// See `table`.
    pub field: Option<String>,
    /// Time after which no upload begins.
    pub expires_at: Millis,
    /// Declared length in bytes, if the client uploads in parts.
    pub length: Option<i64>,
    /// The content, after the upload is complete.
    pub file: Option<Id<StoredFile>>,
}

/// The id of an upload, which clients receive as `storageId` and pass to a function that takes the content.
pub type StorageId = Id<UploadTicket>;

/// An address for an upload.
///
/// ```json
/// {"url": "https://api.example.com/files/uploads/AZtQ…", "expiresAt": 1767229200000}
/// ```
#[value(output, name = "Upload")]
#[derive(Clone, PartialEq)]
pub struct Upload {
    /// The client sends the bytes to this address with `POST`, or in parts with tus. It is valid for one upload.
    pub url: String,
    /// Time after which no upload begins.
    pub expires_at: Millis,
}

impl UploadTicket {
    /// Creates the ticket of a caller, for a content that a field accepts.
    pub(crate) fn new(caller: &Caller, field: Option<(&TableDef, usize)>, now: Millis) -> Self {
        let identity = caller.identity();
        Self {
            caller: name_of(caller),
            issuer: identity.map(|identity| identity.issuer.clone()),
            subject: identity.map(|identity| identity.subject.clone()),
            table: field.map(|(table, _)| table.name.to_owned()),
            field: field.map(|(table, place)| table.fields[place].name.to_owned()),
            expires_at: now + TICKET_LIFE,
            length: None,
            file: None,
        }
    }

    /// Returns the rule of the field; none if the program no longer has the field.
    pub(crate) fn rule(&self, tables: &[&'static TableDef]) -> Option<FileRule> {
        let (Some(table), Some(field)) = (&self.table, &self.field) else {
            return Some(FileRule { bytes_max: FileRule::BYTES_MAX, ..FileRule::DEFAULT });
        };
        let table = tables.iter().find(|known| known.name == table)?;
        let place = table.field(field)?;
        file_fields::file_places(table).find(|(own, _)| *own == place).map(|(_, rule)| rule)
    }

    /// Returns the identity to whose limits the bytes count.
    pub(crate) fn owner(&self) -> Caller {
        match (&self.issuer, &self.subject) {
            (Some(issuer), Some(subject)) => Caller::User(Arc::new(Identity {
                issuer: issuer.clone(),
                subject: subject.clone(),
                ..Identity::default()
            })),
            _ => Caller::System,
        }
    }
}

/// Returns the name of a caller in tickets.
fn name_of(caller: &Caller) -> String {
    match (caller.identity(), caller) {
        (Some(identity), _) => format!("user {}", identity.token_identifier()),
        (None, Caller::DeployKey(key)) => format!("key {}", key.name),
        (None, Caller::System) => "system".to_owned(),
        (None, Caller::Nobody | Caller::User(_)) => "anonymous".to_owned(),
    }
}

/// Takes the content of an upload of this caller, and ends the ticket.
///
/// # Errors
/// `NOT_FOUND`: there is no such upload, it was taken, or it is of another caller. `FAILED_PRECONDITION`: no bytes have
/// arrived yet.
pub(crate) fn take(db: &mut DbMut, caller: &Caller, id: StorageId) -> Result<File> {
    let ticket: Option<Doc<UploadTicket>> = Db::get(db, id)?;
    let ticket = ticket.filter(|ticket| ticket.caller == name_of(caller)).ok_or_else(|| {
        Error::not_found("There is no such upload of yours, or its file was taken already; upload the file again")
    })?;
    let file = ticket
        .file
        .ok_or_else(|| Error::failed_precondition("The upload is not complete; send the bytes to its url first"))?;
    db.delete(id)?;
    Ok(File::of(file))
}
