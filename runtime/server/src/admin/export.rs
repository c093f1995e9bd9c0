//! The archive of all rows, as a stream. It is read from a copy of the database that is made first: as of one commit,
//! and no snapshot is held while it is sent, however slow its reader is.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;

use super::{Admin, AdminRequest};
use crate::archive::space;
use crate::archive::writer::{self, WriteError};
use convoke_calls::runtime::Runtime;
use convoke_core::error::{Error, Result};
use convoke_http::{Body, BodySender, Ending, Reply};

/// Bytes of a piece of the stream.
const PIECE: usize = 64 * 1024;

/// `GET export`: the archive.
///
/// # Errors
/// `FAILED_PRECONDITION`: no room for the copy. `CONFLICT`: another copy is being made.
pub async fn export(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let (copying, runtime) = (Copying::begin(&admin.runtime)?, admin.runtime.clone());
    let (sender, body) = Body::stream(Ending::Whole);
    let (copied, has_copied) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let store = runtime.store();
        let copy = match store.snapshot(|_| {}) {
            Ok(copy) => copy,
            Err(error) => return drop(copied.send(Err(error))),
        };
        drop(copied.send(Ok(())));
        // The copy has no name any more and takes no lock: the next one may be made while this one is sent.
        drop(copying);
        let mut out = BufWriter::with_capacity(PIECE, Pieces(sender));
        let written = writer::write(&*copy, store.tables(), &mut out, &mut |_| {});
        match written.and_then(|_| out.into_inner().map_err(|error| WriteError::Io(error.into_error()))) {
            Ok(Pieces(sender)) => sender.finish(),
            Err(WriteError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => tracing::error!(request_id = %request.request_id, "the export broke off: {error}"),
        }
    });
    // Whoever may export is told what the disk said.
    let failed = |error| Error::unavailable(format!("The database could not be copied: {error}"));
    has_copied.await.map_err(Error::internal)?.map_err(failed)?;
    Ok(Reply::of(200, "application/gzip", body))
}

/// The stream as something to write to.
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

/// The right to copy the database: one copy at a time, since each takes its share of the writer and of the disk.
pub(super) struct Copying(Arc<Taken>);

#[derive(Default)]
struct Taken(AtomicBool);

impl Copying {
    /// Takes it, if there is room for a copy.
    ///
    /// # Errors
    /// `CONFLICT`, `FAILED_PRECONDITION`.
    pub(super) fn begin(runtime: &Runtime) -> Result<Self> {
        let taken = runtime.memory::<Taken>();
        if taken.0.swap(true, Ordering::AcqRel) {
            return Err(Error::conflict("Another copy of the database is being made; try again when it is done"));
        }
        let copying = Self(taken);
        let store = runtime.store();
        space::require(store.folder(), store.files().bytes()).map_err(Error::failed_precondition)?;
        Ok(copying)
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Release);
    }
}
