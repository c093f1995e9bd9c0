//! The removal of contents without references, of expired tickets, and of what a crash has left.
//!
//! A content is removed in three steps: a transaction marks its row, the bytes are removed, and a transaction marks the
//! row as removed. A crash between two steps leaves a marked row, with which the next sweep continues. An upload of an
//! equal content notices each step by the row.

use std::time::{Duration, SystemTime};

use crate::files::depot::{FileCounters, failed};
use crate::files::folder::{Folder, StoredBytes};
use crate::files::ticket::UploadTicket;
use crate::files::usage;
use crate::services::Services;
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_store::database::SWEEP_ROWS;
use convoke_store::{ContentState, Db, DbMut, Doc, StoredFile};

/// Life of a content after its last reference or its upload.
const UNREFERENCED_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// Life of the row of a removed content, which is longer than the end of any upload takes.
const REMOVED_LIFE: Duration = Duration::from_secs(60 * 60);
/// Time after which another sweep continues the removal of a content.
const REMOVAL_PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Removed contents.
    pub contents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Removed incomplete uploads.
    pub uploads: u64,
}

/// Removes what no row needs any more.
///
/// # Errors
/// A failure of the store or of the storage. The next run continues.
pub async fn sweep(services: &Services) -> Result<Swept> {
    let now = services.clock().now();
    remove_tickets(services, now).await?;
    date_unreferenced(services, now).await?;
    adopt_orphans(services).await?;
    let mut swept = Swept::default();
    let depot = services.files().clone();
    let Some(_removal) = depot.begin_removal() else { return Ok(swept) };
    for content in mark(services, now).await? {
        remove(services, &content).await?;
        swept.contents += 1;
        swept.bytes += u64::try_from(content.bytes).unwrap_or(0);
    }
    forget_removed(services, now).await?;
    swept.uploads = remove_incoming(services).await?;
    FileCounters::count(&services.files().counters().removed, swept.contents);
    Ok(swept)
}

/// Removes tickets a day after they have expired. Until then a function can take a content that arrived late.
async fn remove_tickets(services: &Services, now: Millis) -> Result<()> {
    let expired = move |db: &Db| {
        let old = db.query(UploadTicket::by_expiry).range(..now - UNREFERENCED_LIFE).take(SWEEP_ROWS)?;
        Ok(old.iter().map(Doc::id).collect())
    };
    services.database().sweep("remove upload tickets", expired).await
}

/// Sets the time of contents that have lost their last reference since the last sweep.
async fn date_unreferenced(services: &Services, now: Millis) -> Result<()> {
    let date = move |db: &mut DbMut| {
        let rows = db.query(StoredFile::unreferenced).eq(None::<Millis>).take(SWEEP_ROWS)?;
        let found = rows.len();
        for row in rows {
            db.patch_doc(row, |row| row.unreferenced_at = Some(now))?;
        }
        Ok(found)
    };
    while services.database().write("date unreferenced files", date).await? == SWEEP_ROWS {}
    Ok(())
}

/// Gives rows to bytes without a row, so that they are removed like any content.
async fn adopt_orphans(services: &Services) -> Result<()> {
    let file_time = file_time();
    let is_old = move |content: &StoredBytes| {
        file_time.duration_since(content.placed_at).is_ok_and(|age| age > UNREFERENCED_LIFE)
    };
    let old = services.files().storage().contents(is_old).await.map_err(failed)?;
    let now = services.clock().now();
    for part in old.chunks(SWEEP_ROWS) {
        let part = part.to_vec();
        let adopt = move |db: &mut DbMut| {
            for StoredBytes { hash, bytes, .. } in &part {
                if db.query(StoredFile::by_hash).eq(hash).unique()?.is_none() {
                    db.insert(StoredFile {
                        hash: hash.clone(),
                        bytes: i64::try_from(*bytes).unwrap_or(i64::MAX),
                        content_type: "application/octet-stream".to_owned(),
                        state: ContentState::Stored,
                        references: 0,
                        unreferenced_at: Some(Millis(0)),
                        owner: None,
                        changed_at: now,
                    })?;
                }
            }
            Ok(())
        };
        services.database().write("adopt files without rows", adopt).await?;
    }
    Ok(())
}

/// Marks the contents that are to be removed, and returns them with those of an earlier sweep that did not end.
async fn mark(services: &Services, now: Millis) -> Result<Vec<Doc<StoredFile>>> {
    let mut marked = Vec::new();
    loop {
        let mark = move |db: &mut DbMut| {
            let mut found = Vec::new();
            let old = db.query(StoredFile::by_state).eq(ContentState::Removing).range(..now - REMOVAL_PATIENCE);
            for row in old.take(SWEEP_ROWS)? {
                found.push(db.patch_doc(row, |row| row.changed_at = now)?);
            }
            let free = Millis(0)..now - UNREFERENCED_LIFE;
            for row in db.query(StoredFile::unreferenced).range(free.start..free.end).take(SWEEP_ROWS)? {
                if row.state != ContentState::Stored {
                    continue;
                }
                if let Some(owner) = &row.owner {
                    usage::subtract(db, owner, row.bytes)?;
                }
                found.push(db.patch_doc(row, |row| {
                    row.state = ContentState::Removing;
                    row.changed_at = now;
                    // It leaves the index of contents that wait for their removal.
                    row.unreferenced_at = None;
                    row.references = -1;
                })?);
            }
            Ok(found)
        };
        let found = services.database().write("mark files for removal", mark).await?;
        let is_last = found.len() < SWEEP_ROWS;
        marked.extend(found);
        if is_last {
            return Ok(marked);
        }
    }
}

async fn remove(services: &Services, content: &Doc<StoredFile>) -> Result<()> {
    services.files().storage().remove(content.hash.clone()).await.map_err(failed)?;
    let (id, now): (Id<StoredFile>, _) = (content.id(), services.clock().now());
    let removed = move |db: &mut DbMut| {
        let Some(row) = Db::get(db, id)? else { return Ok(()) };
        let row: Doc<StoredFile> = row;
        if row.state == ContentState::Removing {
            db.patch_doc(row, |row| {
                row.state = ContentState::Removed;
                row.changed_at = now;
            })?;
        }
        Ok(())
    };
    services.database().write("remove a file", removed).await
}

/// Deletes the rows of contents that were removed some time ago.
async fn forget_removed(services: &Services, now: Millis) -> Result<()> {
    let old = move |db: &Db| {
        let rows = db.query(StoredFile::by_state).eq(ContentState::Removed).range(..now - REMOVED_LIFE);
        Ok(rows.take(SWEEP_ROWS)?.iter().map(Doc::id).collect())
    };
    services.database().sweep("forget removed files", old).await
}

/// Removes the files of uploads that nothing continues.
async fn remove_incoming(services: &Services) -> Result<u64> {
    let services = services.clone();
    let removed = tokio::task::spawn_blocking(move || {
        let (depot, now) = (services.files(), file_time());
        let is_left = |name: &str, written_at: SystemTime| {
            let id = name.trim_end_matches(Folder::PART).parse::<Id<UploadTicket>>();
            let is_arriving = id.is_ok_and(|id| depot.is_arriving(id.bits()));
            let age = now.duration_since(written_at).unwrap_or_default();
            !is_arriving && age > UNREFERENCED_LIFE
        };
        depot.storage().folder().remove_incoming(&is_left)
    });
    removed.await.map_err(Error::internal)?.map_err(failed)
}

/// Returns the time by the clock that sets the times of files.
#[expect(clippy::disallowed_methods, reason = "the file system does not use the clock of the runtime")]
fn file_time() -> SystemTime {
    SystemTime::now()
}
