//! Streams of all rows as an archive, or of the rows of one table. The handlers first copy the database. So the rows
//! are as of one commit, and a slow client holds no snapshot.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::str::FromStr;

use hyper::header::{CONTENT_DISPOSITION, HeaderValue};
use tokio::sync::oneshot;

use super::tables::find;
use super::{Admin, AdminRequest};
use crate::archive::writer::{self, WriteError};
use crate::archive::{csv, row};
use crate::backup::copying::Copying;
use convoke_core::error::{Error, Result};
use convoke_http::{Body, BodySender, Ending, Reply};
use convoke_store::offline::everything;
use convoke_store::{OfflineDatabase, Row};

/// Bytes per chunk of the stream.
const PIECE: usize = 64 * 1024;

/// `GET export`: streams the archive.
///
/// # Errors
/// `FAILED_PRECONDITION`: not enough disk space for the copy. `CONFLICT`: another copy is being made.
pub async fn export(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let tables = admin.runtime.store().tables().to_vec();
    let files = admin.runtime.files().clone();
    of_copy(admin, request, "application/gzip", move |copy, out| {
        let _kept = files.hold_removal();
        writer::write(copy, &tables, files.storage().local(), out, &mut |_| {}).map(drop)
    })
    .await
}

/// The format of a table's rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Comma-separated values.
    Csv,
    /// One JSON object per line.
    JsonLines,
}

impl FromStr for Format {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        match text {
            "csv" => Ok(Format::Csv),
            "jsonl" => Ok(Format::JsonLines),
            _ => Err("must be csv or jsonl"),
        }
    }
}

/// `GET tables/{name}/export?format=`: streams all rows of a table by id, as `csv` or as `jsonl` (one JSON object per
/// line). In CSV, values that a spreadsheet would read as formulas are marked as text.
///
/// # Errors
/// `NOT_FOUND`; `INVALID_ARGUMENT`: an unknown format; those of [`export`].
pub async fn table(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let table = find(admin, request.part(), request.query_as("system")?.unwrap_or(false))?;
    let format = request.query_as::<Format>("format")?.unwrap_or(Format::JsonLines);
    let (content_type, ending) = match format {
        Format::Csv => ("text/csv; charset=utf-8", "csv"),
        Format::JsonLines => ("application/x-ndjson", "jsonl"),
    };
    let mut reply = of_copy(admin, request, content_type, move |copy, out| {
        if format == Format::Csv {
            out.write_all(&csv::head(table))?;
        }
        let mut line = Vec::new();
        let mut broken = None;
        copy.reader().select(&everything(table), &mut |stored: &dyn Row| {
            line.clear();
            match format {
                Format::Csv => csv::write(table, stored, &mut line)?,
                Format::JsonLines => {
                    row::write(table, stored, &mut line)?;
                    line.push(b'\n');
                }
            }
            broken = out.write_all(&line).err();
            Ok(if broken.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        broken.map_or(Ok(()), |error| Err(error.into()))
    })
    .await?;
    let name = format!("attachment; filename=\"{}.{ending}\"", table.name);
    reply.fields.extend(HeaderValue::try_from(name).map(|name| (CONTENT_DISPOSITION, name)));
    Ok(reply)
}

/// Copies the database and streams what `write` writes of the copy.
async fn of_copy(
    admin: &Admin,
    request: AdminRequest,
    content_type: &'static str,
    write: impl FnOnce(&dyn OfflineDatabase, &mut dyn Write) -> std::result::Result<(), WriteError> + Send + 'static,
) -> Result<Reply> {
    let (copying, runtime) = (Copying::begin(&admin.runtime)?, admin.runtime.clone());
    let (sender, body) = Body::stream(Ending::Whole);
    let (copied, has_copied) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let copy = match runtime.store().snapshot(|_| {}) {
            Ok(copy) => copy,
            Err(error) => return drop(copied.send(Err(error))),
        };
        drop(copied.send(Ok(())));
        // The copy is unlinked and holds no lock, so the next copy may be made while this one is sent.
        drop(copying);
        let mut out = BufWriter::with_capacity(PIECE, Pieces(sender));
        let written = write(&*copy, &mut out);
        match written.and_then(|()| out.into_inner().map_err(|error| WriteError::Io(error.into_error()))) {
            Ok(Pieces(sender)) => sender.finish(),
            Err(WriteError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => tracing::error!(request_id = %request.request_id, "the export failed: {error}"),
        }
    });
    // A caller with the right to export may see the error of the disk.
    let failed = |error| Error::unavailable(format!("The database could not be copied: {error}"));
    has_copied.await.map_err(Error::internal)?.map_err(failed)?;
    Ok(Reply::of(200, content_type, body))
}

/// A writer to the stream.
struct Pieces(BodySender);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        self.0.send_blocking(piece.to_vec()).map_err(|gone| io::Error::new(io::ErrorKind::BrokenPipe, gone))?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
