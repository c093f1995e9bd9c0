//! Files in mutations: uploads begin here, and rows take their contents.

use std::time::Duration;

use super::files::{FileInfo, Files};
use super::mutation::MutationCtx;
use super::shared::{Context as _, Read};
use crate::files::{Link, StorageId, Upload, UploadTicket, ticket};
use crate::transfers::address;
use convoke_core::error::{Error, Result};
use convoke_store::{File, Table, TableDef, file_fields};

/// Uploads. `ctx.files()` returns it in mutations.
pub struct MutationFiles<'a> {
    ctx: &'a mut MutationCtx,
}

impl MutationFiles<'_> {
    /// Returns an address to which the client sends one content, for the only field of `T` with a file. It is valid for
    /// an hour. The function must have checked that the caller may add the file.
    ///
    /// # Errors
    /// `INTERNAL`: the key of the installation cannot be read.
    pub fn upload<T: Table>(&mut self) -> Result<Upload> {
        const { assert!(has_one_file(T::DEF), "`upload` is for a table with one `File`; name it with `upload_to`") };
        let place = file_fields::file_places(T::DEF).next().map_or(0, |(place, _)| place);
        self.ticket(T::DEF, place)
    }

    /// As [`MutationFiles::upload`], for the field of this name on the wire.
    ///
    /// # Errors
    /// `INTERNAL`: the table has no such field with a file.
    pub fn upload_to<T: Table>(&mut self, field: &str) -> Result<Upload> {
        let place = T::DEF.field(field).filter(|place| file_fields::file_places(T::DEF).any(|(own, _)| own == *place));
        let place =
            place.ok_or_else(|| Error::internal(format!("{} has no field {field} with a file", T::DEF.name)))?;
        self.ticket(T::DEF, place)
    }

    fn ticket(&mut self, table: &'static TableDef, place: usize) -> Result<Upload> {
        let call = self.ctx.call().clone();
        let ticket = UploadTicket::new(&call.caller, Some((table, place)), call.now);
        let id = self.ctx.db_mut().insert(ticket.clone())?;
        address(call.services.files(), id, &ticket)
    }

    /// Takes the content of an upload of this caller, to store it in a row. Each upload is taken once. The store checks
    /// that the content fits the field.
    ///
    /// # Errors
    /// `NOT_FOUND`: there is no such upload, it was taken, or it is of another caller. `FAILED_PRECONDITION`: its bytes
    /// have not arrived.
    pub fn take(&mut self, upload: StorageId) -> Result<File> {
        let caller = self.ctx.call().caller.clone();
        ticket::take(self.ctx.db_mut(), &caller, upload)
    }

    /// As [`Files::link`].
    pub fn link(&self, file: &File, life: Duration) -> Link<'_> {
        self.read().link(file, life)
    }

    /// As [`Files::info`].
    ///
    /// # Errors
    /// A failure of the store.
    pub fn info(&self, file: &File) -> Result<FileInfo> {
        self.read().info(file)
    }

    fn read(&self) -> Files<'_> {
        Read::files(&*self.ctx)
    }
}

const fn has_one_file(table: &TableDef) -> bool {
    let (mut place, mut files) = (0, 0);
    while place < table.fields.len() {
        if matches!(table.fields[place].meaning, convoke_store::table::Meaning::File(_)) {
            files += 1;
        }
        place += 1;
    }
    files == 1
}

impl MutationCtx {
    /// Returns the files, to begin uploads, take their contents, and make links.
    pub fn files(&mut self) -> MutationFiles<'_> {
        MutationFiles { ctx: self }
    }
}
