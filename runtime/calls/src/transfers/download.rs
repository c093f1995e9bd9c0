//! Reads of contents: by a link, and as a stream in an action.

use bytes::Bytes;

use crate::files::depot::{FileCounters, failed};
use crate::files::key::Purpose;
use crate::files::link::Target;
use crate::files::storage::Opened;
use crate::services::Services;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::{self, Id};
use convoke_store::{ContentState, Doc, File, StoredFile, TableDef, ValueRef, file_fields};

/// Bytes of one piece of a stream.
const PIECE_BYTES: u64 = 64 * 1024;

/// A content that a link allows to read.
pub struct Download {
    /// SHA-256 in hexadecimal.
    pub hash: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Type of the content.
    pub content_type: String,
    /// True if the link is for saving the file.
    pub is_download: bool,
    /// The name under which browsers save the file.
    pub name: Option<String>,
    /// True if every cache may store the content.
    pub is_public: bool,
    opened: Opened,
    services: Services,
}

/// A row of a table with files.
struct Row {
    table: &'static TableDef,
    id: u128,
    place: usize,
}

impl Row {
    fn of(tables: &[&'static TableDef], target: &Target) -> Option<Self> {
        let (prefix, _) = target.row.rsplit_once('_')?;
        let table = tables.iter().find(|table| table.prefix == prefix)?;
        let id = id::parse(table.prefix, &target.row)?;
        let place = table.field(&target.field)?;
        file_fields::file_places(table).any(|(own, _)| own == place).then_some(Self { table, id, place })
    }
}

/// Opens the file of a link.
///
/// # Errors
/// `NOT_FOUND`: the link is not valid, has expired, or its row no longer has the file.
pub async fn download(services: &Services, token: &str) -> Result<Download> {
    let ended = || Error::not_found("This link is not valid, has expired, or its file was removed");
    let content = services.files().key()?.open(Purpose::Link, token).ok_or_else(ended)?;
    let target: Target = serde_json::from_slice(&content).map_err(|_| ended())?;
    if target.expires_at.is_some_and(|at: Millis| at <= services.clock().now()) {
        return Err(ended());
    }
    let file: Id<StoredFile> = target.content.parse().map_err(|_| ended())?;
    let row = Row::of(services.store().tables(), &target).ok_or_else(ended)?;
    let found = services.database().read(move |db| {
        let mut has_file = false;
        db.reader().get(row.table, row.id, &mut |read| {
            has_file = read.value(row.place)? == ValueRef::Id(file.bits());
            Ok(std::ops::ControlFlow::Break(()))
        })?;
        Ok(if has_file { db.get(file)? } else { None })
    });
    let stored = found.await?.filter(|row| row.state == ContentState::Stored).ok_or_else(ended)?;
    let opened = services.files().storage().open(stored.hash.clone()).await.map_err(failed)?;
    Ok(Download {
        hash: stored.hash.clone(),
        bytes: length(&stored),
        content_type: stored.content_type.clone(),
        is_download: target.is_download,
        name: target.name,
        is_public: target.expires_at.is_none(),
        opened,
        services: services.clone(),
    })
}

fn length(stored: &StoredFile) -> u64 {
    u64::try_from(stored.bytes).unwrap_or(0)
}

impl Download {
    /// Returns the bytes from `offset` to the end of the next piece, or to `end`.
    ///
    /// # Errors
    /// `UNAVAILABLE`.
    pub async fn piece(&self, offset: u64, end: u64) -> Result<Bytes> {
        let length = end.saturating_sub(offset).min(PIECE_BYTES);
        let bytes = self.opened.read(offset, length).await.map_err(failed)?;
        FileCounters::count(&self.services.files().counters().bytes_sent, length);
        Ok(bytes)
    }

    /// Largest length of a piece.
    pub const PIECE_BYTES: u64 = PIECE_BYTES;
}

/// A content as a stream, for actions.
pub struct FileReader {
    stored: Doc<StoredFile>,
    opened: Opened,
    offset: u64,
}

impl FileReader {
    /// Opens a file.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION`: the file was removed. `UNAVAILABLE`.
    pub async fn open(services: &Services, file: &File) -> Result<Self> {
        let content = file.content();
        let stored = services.database().read(move |db| Ok(db.get(content)?)).await?;
        let stored = stored.filter(|row| row.state == ContentState::Stored);
        let stored = stored.ok_or_else(|| Error::failed_precondition("The file does not exist any more"))?;
        let opened = services.files().storage().open(stored.hash.clone()).await.map_err(failed)?;
        Ok(Self { stored, opened, offset: 0 })
    }

    /// Returns the type of the content.
    pub fn content_type(&self) -> &str {
        &self.stored.content_type
    }

    /// Returns the length of the content in bytes.
    pub fn bytes(&self) -> u64 {
        length(&self.stored)
    }

    /// Returns the next piece, at most 64 KiB; none at the end.
    ///
    /// # Errors
    /// `UNAVAILABLE`.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        let piece = self.bytes().saturating_sub(self.offset).min(PIECE_BYTES);
        if piece == 0 {
            return Ok(None);
        }
        let bytes = self.opened.read(self.offset, piece).await.map_err(failed)?;
        self.offset += piece;
        Ok(Some(bytes))
    }

    /// Returns a stream of the remaining pieces.
    pub fn into_stream(self) -> impl futures_util::Stream<Item = Result<Bytes>> + Send {
        futures_util::stream::try_unfold(self, |mut reader| async move {
            Ok(reader.next().await?.map(|piece| (piece, reader)))
        })
    }
}
