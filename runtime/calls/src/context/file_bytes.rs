//! Files in actions: the bytes of contents, as streams.

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};

use super::action::ActionCtx;
use crate::files::{StorageId, UploadTicket};
use crate::transfers::{FileReader, Receiving};
use convoke_core::error::{Error, Result};
use convoke_store::File;

/// The bytes of files. `ctx.files()` returns it in actions.
pub struct ActionFiles<'a> {
    ctx: &'a ActionCtx,
}

impl ActionCtx {
    /// Returns the files, to read and write their bytes.
    pub fn files(&self) -> ActionFiles<'_> {
        ActionFiles { ctx: self }
    }
}

impl ActionFiles<'_> {
    /// Opens a file as a stream. A query returns the file to the action.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION`: the file was removed. `UNAVAILABLE`: the storage does not answer.
    pub async fn open(&self, file: &File) -> Result<FileReader> {
        FileReader::open(&self.ctx.call.services, file).await
    }

    /// Writes a stream of bytes as a new content. A mutation that the action calls takes it with
    /// [`MutationFiles::take`](super::MutationFiles::take).
    ///
    /// # Errors
    /// Those of the stream. `PAYLOAD_TOO_LARGE`: more than 5 GiB. `RATE_LIMITED`: the limits of the caller.
    /// `UNAVAILABLE`: the storage does not answer, or has no room.
    pub async fn write<E: Into<Error>>(
        &self,
        stream: impl Stream<Item = Result<Bytes, E>> + Send,
    ) -> Result<StorageId> {
        let call = &self.ctx.call;
        let ticket = UploadTicket::new(&call.caller, None, call.services.clock().now());
        let mut receiving = Receiving::own(&call.services, ticket).await?;
        let mut stream = std::pin::pin!(stream);
        while let Some(piece) = stream.next().await {
            receiving.write(piece.map_err(Into::into)?).await?;
        }
        receiving.finish().await
    }
}
