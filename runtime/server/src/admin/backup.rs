//! Backups of the running database: made in the folder `backups` of the data folder, fetched from there, removed.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc;

use super::export::Copying;
use super::{Admin, AdminRequest, success};
use crate::backup;
use convoke_calls::runtime::Runtime;
use convoke_core::error::{Error, Result};
use convoke_http::{Body, Ending, Reply};
use convoke_store::StoreError;

/// Between two lines of progress.
const BETWEEN_LINES: Duration = Duration::from_millis(100);
/// Lines of progress that wait to be sent; more are left out.
const LINES_WAITING_MAX: usize = 16;
/// Bytes of a piece of a backup on its way.
const PIECE: usize = 64 * 1024;

/// What `POST backup` takes.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Backup {
    /// How many backups stay in the folder; the oldest go once this one is whole.
    keep: Option<usize>,
}

/// `POST backup`: JSON lines, first `{"done", "total"}` in pages, last `{"name", "bytes", "sha256", "removed"}` of the
/// backup, which is whole, checked and on disk then; or `{"error"}`.
///
/// # Errors
/// `CONFLICT`: another copy is being made. `FAILED_PRECONDITION`: no room.
pub async fn create(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let Backup { keep } = request.args()?;
    let (copying, runtime) = (Copying::begin(&admin.runtime)?, admin.runtime.clone());
    let (sender, body) = Body::stream(Ending::Whole);
    let (told, mut heard) = mpsc::channel::<Json>(LINES_WAITING_MAX);
    let work = tokio::task::spawn_blocking(move || {
        let _copying = copying;
        make(&runtime, keep, &told)
    });
    tokio::spawn(async move {
        while let Some(line) = heard.recv().await {
            // A backup that was begun is made, whether somebody still looks on or not.
            let _ = sender.send(format!("{line}\n")).await;
        }
        let last = match work.await {
            Ok(Ok(made)) => made,
            Ok(Err(error)) => {
                tracing::error!(request_id = %request.request_id, "the backup failed: {error}");
                json!({ "error": error })
            }
            Err(error) => json!({ "error": error.to_string() }),
        };
        if sender.send(format!("{last}\n")).await.is_ok() {
            sender.finish();
        }
    });
    Ok(Reply::of(200, "application/x-ndjson", body))
}

/// `GET backup`: what there is, newest first: `{"items": [{name, bytes, madeAt, sha256?}]}`, `madeAt` in milliseconds. One
/// without `sha256` was put there by somebody else; `running` tells whether a copy is being made now.
///
/// # Errors
/// `INTERNAL`: the folder cannot be read.
pub async fn list(admin: &Admin, _: AdminRequest) -> Result<Reply> {
    let data = admin.runtime.store().folder().to_owned();
    let listed = tokio::task::spawn_blocking(move || {
        let folder = backup::folder(&data)?;
        let mut items = Vec::new();
        for path in backup::list(&folder)?.iter().rev() {
            // One that was removed this moment is none.
            let Ok(found) = fs::metadata(path) else { continue };
            let made_at = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            items.push(json!({
                "name": path.file_name().unwrap_or_default().to_string_lossy(),
                "bytes": found.len(),
                "madeAt": made_at.map(|time| time.as_millis() as u64),
                "sha256": backup::read_checksum(path)?,
            }));
        }
        Ok::<_, std::io::Error>(items)
    });
    let items = listed.await.map_err(Error::internal)?.map_err(Error::internal)?;
    success(&json!({ "items": items, "running": Copying::is_taken(&admin.runtime) }))
}

fn make(runtime: &Runtime, keep: Option<usize>, told: &mpsc::Sender<Json>) -> std::result::Result<Json, String> {
    let store = runtime.store();
    let folder = backup::folder(store.folder()).map_err(|error| error.to_string())?;
    let name = backup::name(&folder, runtime.clock().now());
    let to = folder.join(&name);
    let (clock, told, mut last) = (runtime.clock().clone(), told.clone(), None::<Duration>);
    let progress = move |at: convoke_store::Progress| {
        let now = clock.monotonic();
        if last.is_none_or(|last| now.saturating_sub(last) >= BETWEEN_LINES) {
            last = Some(now);
            let _ = told.try_send(json!({ "done": at.done, "total": at.total }));
        }
    };
    // The checksum comes before the name: a file with the name of a backup is one that can be checked.
    let seal = |whole: &Path| {
        let (sha256, bytes) = backup::measure(whole, &mut |_| {})?;
        backup::write_checksum(&to, &sha256)?;
        Ok((sha256, bytes))
    };
    let made = store.backup(&to, progress, seal).map_err(|error| match crate::archive::space::free_bytes(&folder) {
        Ok(_) if matches!(error, StoreError::BackedUpBy(_)) => error.to_string(),
        Ok(free) => format!("{error} ({} free in {})", crate::archive::space::human(free), folder.display()),
        Err(_) => error.to_string(),
    });
    let done = made.and_then(|(sha256, bytes)| {
        let removed = keep.map_or_else(|| Ok(Vec::new()), |keep| backup::rotate(&folder, keep));
        Ok((sha256, bytes, removed.map_err(|error| error.to_string())?))
    });
    if done.is_err() {
        // The error that is reported is the first one.
        let _ = backup::remove(&to);
    }
    let (sha256, bytes, removed) = done?;
    let file_name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let removed: Vec<String> = removed.iter().map(file_name).collect();
    Ok(json!({ "name": name, "bytes": bytes, "sha256": sha256, "removed": removed }))
}

/// `GET backup/{name}`: the file.
///
/// # Errors
/// `NOT_FOUND`.
pub async fn fetch(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let path = find(admin, request.part())?;
    let mut file = fs::File::open(path).map_err(Error::internal)?;
    let bytes = file.metadata().map_err(Error::internal)?.len();
    let (sender, body) = Body::stream(Ending::Whole);
    tokio::task::spawn_blocking(move || {
        let mut buffer = vec![0; PIECE];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return sender.finish(),
                Ok(read) if sender.send_blocking(buffer[..read].to_vec()).is_ok() => {}
                // Its reader is gone, or will see that the stream broke off.
                Ok(_) | Err(_) => return,
            }
        }
    });
    Ok(Reply::of(200, "application/octet-stream", body.with_length(bytes)))
}

/// `DELETE backup/{name}`: removes it, when the caller who asked for it has it elsewhere.
///
/// # Errors
/// `NOT_FOUND`.
pub async fn remove(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    backup::remove(&find(admin, request.part())?).map_err(Error::internal)?;
    success(&Json::Null)
}

/// A name leads to a file of the folder of backups and nowhere else.
fn find(admin: &Admin, name: &str) -> Result<PathBuf> {
    let path = admin.runtime.store().folder().join(backup::FOLDER).join(name);
    match backup::is_backup(name) && path.is_file() {
        true => Ok(path),
        false => Err(Error::not_found("There is no backup of this name")),
    }
}
